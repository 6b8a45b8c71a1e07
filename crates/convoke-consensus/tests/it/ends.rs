//! Ends that come from outside: tokens, deadlines, pauses, slow resolvers.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use convoke_consensus::{
    Agreement, ConsensusRequest, Decide, Merge, ReachConsensus as _, Resolver, ResolverContext, Results,
    Verdict,
};
use convoke_core::{ErrorCode, ExecutorError, TaskOutcome, TaskRequest, TaskStatus};
use convoke_registry::{CancellationToken, RunOptions};
use convoke_session::Reconcile;
use convoke_testkit::{Gate, ScriptedExecutor, Step};

use crate::house::{House, agent, assert_end, consensus, ms, question, registry, settle, summary};

/// The consensus with so long to decide.
fn within(millis: u64) -> ConsensusRequest {
    ConsensusRequest::new(question().with_timeout(ms(millis)))
}

fn ships() -> Step {
    Step::reply("ship")
}

fn waits() -> Step {
    Step::reply("wait")
}

/// Stops when it is asked to.
fn obeys() -> Step {
    Step::cancelled()
}

#[tokio::test(start_paused = true)]
async fn what_is_certain_at_the_deadline_is_decided() {
    let house = House::of([ships, ships, obeys]);
    let start = Instant::now();
    let report = house.reach(within(400)).await;
    assert_eq!((report.is_success(), report.text()), (true, "ship"));
    assert_eq!(
        start.elapsed(),
        ms(350),
        "when the participants are stopped: a grace before its own deadline"
    );
    assert_eq!(summary(&report).signalled, [agent("c")].into());
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn what_is_not_certain_at_the_deadline_has_timed_out() {
    let house = House::of([ships, obeys, obeys, obeys, obeys]);
    let start = Instant::now();
    let report = house.reach(within(400)).await;
    assert_end(&report, TaskStatus::TimedOut, ErrorCode::TimedOut);
    assert_eq!(start.elapsed(), ms(350));
    assert_eq!(
        report.report.error.as_ref().unwrap().message(),
        "deadline passed before there was a verdict; allow more time: 5 eligible, 5 asked, 1 succeeded, 0 failed, 4 \
         signalled (`b`, `c`, `d`, `e`); 3 votes required; votes 1 (`a`)"
    );
    assert!(!report.report.detached);
    assert_eq!(house.told(), ["started", "timed_out"]);
    house.assert_rest();

    // As any task that timed out it runs again only by an explicit word.
    assert_end(&house.reach(within(400)).await, TaskStatus::Blocked, ErrorCode::InvalidRequest);
    let report = house.reach_with(within(400), RunOptions::new().with_late(Reconcile::Retry)).await;
    assert_eq!((report.report.status, report.report.attempt), (TaskStatus::TimedOut, 2));
}

#[tokio::test(start_paused = true)]
async fn two_of_three_are_not_enough_at_the_deadline_where_the_third_could_draw_level() {
    // Level with one each, and one to come.
    let house = House::of([ships, waits, obeys]);
    assert_end(&house.reach(within(400)).await, TaskStatus::TimedOut, ErrorCode::TimedOut);
    // Two to one, of four, and at least two: the fourth could draw level.
    let house = House::of([ships, waits, ships, obeys]);
    let report = house.reach(within(400).with_agreement(Agreement::AtLeast(2))).await;
    assert_end(&report, TaskStatus::TimedOut, ErrorCode::TimedOut);
    // Certain by the votes, but too few have succeeded.
    let house = House::of([ships, ships, obeys]);
    let report = house.reach(within(400).with_minimum_successful_agents(3)).await;
    assert_end(&report, TaskStatus::TimedOut, ErrorCode::TimedOut);
}

#[tokio::test(start_paused = true)]
async fn an_answer_within_the_grace_still_counts() {
    let late: fn() -> Step = || Step::reply("ship").once_cancelled();
    let house = House::of([ships, late, obeys]);
    let report = house.reach(within(400)).await;
    assert_eq!((report.is_success(), report.text()), (true, "ship"), "{report}");
    assert_eq!(summary(&report).succeeded, 2);
    let house = House::of([ships, late, waits]);
    assert!(house.reach(within(400)).await.is_success());
}

#[tokio::test(start_paused = true)]
async fn a_participant_that_runs_out_of_time_by_its_own_clock_has_failed() {
    let tired: fn() -> Step = || Step::reply(TaskOutcome::TimedOut { output: "half".into() });
    let house = House::of([ships, tired, tired]);
    let report = house.reach(within(400)).await;
    assert_eq!((report.is_success(), report.text()), (true, "ship"), "one of one success");
    let summary = summary(&report);
    assert_eq!((summary.failed.len(), summary.signalled.len()), (2, 0));
    assert_eq!(summary.failed[0].code, Some(ErrorCode::TimedOut));
}

#[tokio::test(start_paused = true)]
async fn who_will_not_stop_does_not_hold_the_answer_up() {
    let house = House::of([ships, ships, || Step::reply("late").after_delay(ms(5000))]);
    let start = Instant::now();
    assert!(house.reach(within(400)).await.is_success());
    assert_eq!(start.elapsed(), ms(350));
    sleep(ms(50)).await;
    settle().await;
    assert_eq!(house.team.detached().len(), 1);
    assert_eq!(house.team.detached()[0].task.as_str(), "c/1/c");
    sleep(ms(5000)).await;
    settle().await;
    house.assert_rest();

    // Without a verdict it is waited for as long as the consensus has, its own grace included.
    let house = House::of([ships, || Step::never()]);
    let start = Instant::now();
    let report = house.reach(within(400)).await;
    assert_end(&report, TaskStatus::TimedOut, ErrorCode::TimedOut);
    assert_eq!(start.elapsed(), ms(400));
    assert_eq!(summary(&report).signalled, [agent("b")].into());
    assert!(!report.report.detached, "the consensus itself has ended");
}

#[tokio::test(start_paused = true)]
async fn a_short_deadline_leaves_a_share_for_the_consensus() {
    let house = House::of([ships, ships, obeys]);
    let start = Instant::now();
    assert!(house.reach(within(80)).await.is_success());
    assert_eq!(start.elapsed(), ms(70), "an eighth before");
    let house = House::of([ships, ships, obeys]);
    let start = Instant::now();
    assert!(house.reach(within(4000)).await.is_success());
    assert_eq!(start.elapsed(), ms(3950), "no more than a grace");
}

#[tokio::test(start_paused = true)]
async fn what_decides_by_its_own_rule_has_timed_out_where_one_is_missing() {
    let house = House::of([ships, ships, obeys]);
    let report = house.reach(within(400).with_resolver(Merge::new(|_| Ok("all".into())))).await;
    assert_end(&report, TaskStatus::TimedOut, ErrorCode::TimedOut);
    assert_eq!((summary(&report).succeeded, summary(&report).required), (2, None));
    house.assert_rest();
}

async fn cancelled_after(
    house: &House,
    request: ConsensusRequest,
    after: Duration,
) -> convoke_consensus::ConsensusReport {
    let token = CancellationToken::new();
    let options = RunOptions::new().with_cancellation(token.clone());
    let (report, ()) = tokio::join!(house.reach_with(request, options), async {
        sleep(after).await;
        token.cancel();
    });
    report
}

#[tokio::test(start_paused = true)]
async fn cancelled_with_too_little_it_is_cancelled_and_says_what_there_is() {
    let house = House::of([ships, obeys, obeys]);
    let start = Instant::now();
    let report = cancelled_after(&house, consensus(), ms(10)).await;
    assert_end(&report, TaskStatus::Cancelled, ErrorCode::Cancelled);
    assert_eq!(start.elapsed(), ms(10));
    assert_eq!(summary(&report).succeeded, 1);
    assert!(
        report.to_string().contains("3 eligible, 3 asked, 1 succeeded, 0 failed, 2 signalled"),
        "{report}"
    );
    assert_eq!(house.told(), ["started", "cancelled"]);
    settle().await;
    house.assert_rest();
    let again = cancelled_after(&house, consensus(), ms(10)).await;
    assert_eq!(again.report.attempt, 2, "its id is free");
}

#[tokio::test(start_paused = true)]
async fn cancelled_while_all_wait_in_line_it_is_cancelled() {
    // What is in line ends at once, before the consensus looks again.
    let steps: [fn() -> Step; 3] = [obeys, obeys, obeys];
    let house = House::of(steps);
    let busy = ["a", "b", "c"].map(|name| house.team.spawn(TaskRequest::new("x").preferring(name)));
    settle().await;
    let report = cancelled_after(&house, consensus(), ms(20)).await;
    assert_end(&report, TaskStatus::Cancelled, ErrorCode::Cancelled);
    assert_eq!((summary(&report).asked, summary(&report).signalled.len()), (0, 3));
    for handle in busy {
        handle.cancel();
        assert_eq!(handle.await.unwrap().status, TaskStatus::Cancelled);
    }
    house.assert_rest();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn cancelled_it_never_says_that_a_deadline_has_passed() {
    for round in 0..200 {
        let steps: [fn() -> Step; 3] = [ships, obeys, obeys];
        let house = House::of(steps);
        let token = CancellationToken::new();
        let options = RunOptions::new().with_cancellation(token.clone());
        let handle = house.team.handle();
        let call = tokio::spawn(handle.reach_consensus_with(consensus(), options));
        for _ in 0..round % 7 {
            tokio::task::yield_now().await;
        }
        token.cancel();
        let report = call.await.unwrap().unwrap();
        assert_end(&report, TaskStatus::Cancelled, ErrorCode::Cancelled);
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_grace_what_is_certain_at_the_deadline_is_decided_too() {
    let voters = [ships, ships, obeys].map(|step: fn() -> Step| ScriptedExecutor::answering(move |_| step()));
    let house = House::built(registry(voters), |builder| builder.grace(Duration::ZERO));
    let start = Instant::now();
    let report = house.reach(within(400)).await;
    assert_eq!((report.text(), start.elapsed()), ("ship", ms(350)), "{report}");
    let voters = [ships, ships, obeys].map(|step: fn() -> Step| ScriptedExecutor::answering(move |_| step()));
    let house = House::built(registry(voters), |builder| builder.grace(ms(200)));
    let start = Instant::now();
    assert_eq!(house.reach(within(4000)).await.text(), "ship");
    assert_eq!(start.elapsed(), ms(3800), "the runtime's own grace");
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_reached_is_not_reached_although_others_were_stopped() {
    let fails_late: fn() -> Step = || Step::fail(ExecutorError::new("x")).after_delay(ms(360));
    let house = House::of([obeys, fails_late, fails_late, fails_late]);
    let request = within(400).with_decide(Decide::Early).with_minimum_successful_agents(2);
    let report = house.reach(request).await;
    assert_end(&report, TaskStatus::Failed, ErrorCode::ConsensusNotReached);
    assert_eq!(summary(&report).signalled, [agent("a")].into());
}

#[tokio::test(start_paused = true)]
async fn cancelled_with_enough_it_is_reached() {
    let house = House::of([ships, ships, obeys]);
    let report = cancelled_after(&house, consensus(), ms(10)).await;
    assert_eq!((report.is_success(), report.text()), (true, "ship"), "{report}");
    assert_eq!(summary(&report).signalled, [agent("c")].into());
    settle().await;
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn cancelled_while_it_waits_for_a_slot_nobody_is_asked() {
    let (gate, voter) = (Gate::closed(), ScriptedExecutor::answering(|_| ships()));
    let busy = ScriptedExecutor::new([Step::reply("x").after(&gate)]);
    let house = House::built(registry([voter.clone()]), |builder| builder.max_parallel_tasks(1));
    house.registry.add(convoke_core::AgentDescriptor::new("busy"), busy).unwrap();
    let work = house.team.spawn(TaskRequest::new("x").preferring("busy"));
    gate.arrived(1).await;
    let report = cancelled_after(&house, consensus(), ms(10)).await;
    assert_end(&report, TaskStatus::Cancelled, ErrorCode::Cancelled);
    assert_eq!((report.summary, voter.calls()), (None, 0));
    assert_eq!(house.told(), ["cancelled"]);
    gate.open();
    assert!(work.await.unwrap().is_success());
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn a_participant_that_asks_for_input_is_no_success() {
    let asks: fn() -> Step = || Step::pause("which release?");
    let house = House::of([ships, asks, ships]);
    let report = house.reach(consensus()).await;
    assert!(report.is_success(), "{report}");
    assert_eq!((summary(&report).paused.clone(), summary(&report).failed.len()), ([agent("b")].into(), 0));
    assert!(report.to_string().contains("1 paused (`b`)"), "{report}");
    let house = House::of([ships, asks]);
    let report = house.reach(consensus().with_minimum_successful_agents(2)).await;
    assert_end(&report, TaskStatus::Failed, ErrorCode::ConsensusNotReached);
}

/// Takes so long to decide, whether it is asked to stop or not.
struct Slow(Duration);

impl Resolver for Slow {
    async fn resolve(&self, _results: Results, ctx: ResolverContext) -> Result<Verdict, ExecutorError> {
        assert!(ctx.snapshot().messages().len() >= 2);
        sleep(self.0).await;
        Ok(Verdict::agreed("slowly"))
    }
}

#[tokio::test(start_paused = true)]
async fn a_resolver_that_overruns_ends_as_any_task_does() {
    let house = House::of([ships, waits]);
    let report = house.reach(within(400).with_resolver(Slow(ms(399)))).await;
    assert_eq!(report.text(), "slowly");
    let house = House::of([ships, waits]);
    let start = Instant::now();
    let report = house.reach(within(400).with_resolver(Slow(ms(500)))).await;
    assert_end(&report, TaskStatus::TimedOut, ErrorCode::TimedOut);
    assert_eq!((start.elapsed(), report.report.detached), (ms(400), false), "its future is dropped");
    assert_eq!(summary(&report).succeeded, 2);
    let house = House::of([ships, waits]);
    let report = cancelled_after(&house, consensus().with_resolver(Slow(ms(500))), ms(10)).await;
    assert_end(&report, TaskStatus::Cancelled, ErrorCode::Cancelled);
    house.assert_rest();
}
