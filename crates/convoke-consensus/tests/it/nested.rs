//! A consensus inside an agent, and participants that ask for one themselves: each ends or is refused.

use tokio::time::{Instant, timeout};

use convoke_consensus::{ConsensusRequest, ConsensusSummary, Decide, ReachConsensus as _};
use convoke_core::{AgentDescriptor, TaskRequest, TaskStatus};
use convoke_registry::{AgentRegistry, ExecutionContext, FunctionExecutor};
use convoke_testkit::{ScriptedExecutor, Step};

use crate::house::{House, agent, ms};

fn one_slot(registry: AgentRegistry) -> House {
    House::built(registry, |builder| builder.max_parallel_tasks(1))
}

/// Three that vote.
fn voters() -> AgentRegistry {
    let registry = AgentRegistry::new();
    for (id, answer) in [("a", "ship"), ("b", "wait"), ("c", "ship")] {
        let voter = ScriptedExecutor::answering(move |_| Step::reply(answer).after_delay(ms(10)));
        registry.add(AgentDescriptor::new(id).with_skill("vote"), voter).unwrap();
    }
    registry
}

fn vote() -> ConsensusRequest {
    ConsensusRequest::new(TaskRequest::new("ship?").requiring("vote"))
}

/// An agent that lets the others vote, and says what came of it.
fn chair(
    request: impl Fn() -> ConsensusRequest + Send + Sync + 'static,
) -> impl convoke_registry::AgentExecutor {
    FunctionExecutor::new(move |_request, ctx: ExecutionContext| {
        let request = request();
        async move {
            let report = ctx.team().reach_consensus(request).await?;
            Ok(report.code().map_or_else(|| report.text().to_owned(), |code| format!("{code}: {report}")))
        }
    })
}

#[tokio::test(start_paused = true)]
async fn one_slot_is_enough_for_a_consensus_inside_an_agent() {
    let registry = voters();
    registry.add(AgentDescriptor::new("chair"), chair(vote)).unwrap();
    let house = one_slot(registry);
    let start = Instant::now();
    let report =
        house.team.run(TaskRequest::new("decide").in_session("s").preferring("chair")).await.unwrap();
    assert_eq!((report.text(), start.elapsed()), ("ship", ms(30)), "one after the other");
    assert_eq!(
        house.snapshot().tasks().len(),
        5,
        "the chair's, the consensus and three voters, in one session"
    );
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn who_asks_for_the_verdict_cannot_vote_on_it() {
    let registry = voters();
    registry.add(AgentDescriptor::new("chair").with_skill("vote"), chair(vote)).unwrap();
    let house = one_slot(registry);
    let report = timeout(ms(60_000), house.team.run(TaskRequest::new("decide").preferring("chair"))).await;
    let report = report.expect("it ends").unwrap();
    assert_eq!(report.text(), "ship", "three of four succeeded, two of three agree");
}

#[tokio::test(start_paused = true)]
async fn the_refusal_of_a_participant_names_it() {
    let registry = AgentRegistry::new();
    registry.add(AgentDescriptor::new("chair").with_skill("vote"), chair(vote)).unwrap();
    let house = one_slot(registry);
    let report = house.team.run(TaskRequest::new("decide").in_session("s")).await.unwrap();
    assert!(report.text().starts_with("consensus_not_reached: "), "{}", report.text());
    assert!(report.text().contains("1 failed (`chair` wait_cycle)"), "{}", report.text());
    let snapshot = house.snapshot();
    let consensus = snapshot.tasks().find_map(|(_, record)| ConsensusSummary::of(record.report.as_deref()?));
    let text = consensus.unwrap().failed[0].text.clone().unwrap();
    assert!(text.contains("`chair`") && text.contains(" awaits task "), "with the path: {text}");
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn participants_may_ask_for_a_consensus_themselves() {
    let registry = voters();
    let panel = || vote().with_participants(["a", "b", "c"]);
    registry.add(AgentDescriptor::new("panel").with_skill("judge"), chair(panel)).unwrap();
    registry.add(AgentDescriptor::new("other").with_skill("judge"), chair(panel)).unwrap();
    let house = one_slot(registry);
    let question = TaskRequest::new("ship?").in_session("s").requiring("judge");
    let report = timeout(ms(60_000), house.reach(ConsensusRequest::new(question))).await.expect("it ends");
    assert_eq!(report.text(), "ship", "{report}");
    assert_eq!(report.summary.unwrap().voters, [agent("other"), agent("panel")].into());
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn two_that_ask_each_other_for_a_vote_are_refused_and_end() {
    let registry = AgentRegistry::new();
    for (one, other) in [("x", "y"), ("y", "x")] {
        let asks = chair(move || ConsensusRequest::new(TaskRequest::new("?")).with_participants([other]));
        registry.add(AgentDescriptor::new(one).with_skill("both"), asks).unwrap();
    }
    let house = House::built(registry, |builder| builder.max_parallel_tasks(8));
    let question = TaskRequest::new("?").in_session("s").requiring("both");
    let report = timeout(ms(60_000), house.reach(ConsensusRequest::new(question))).await.expect("it ends");
    // Each has asked the other in vain, and says so.
    let votes = &report.summary.as_ref().unwrap().votes;
    assert!(votes.iter().all(|votes| votes.text.contains("wait_cycle")), "{votes:?}");
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn it_ends_with_the_task_that_asks_for_it() {
    let registry = AgentRegistry::new();
    let never = ScriptedExecutor::answering(|_| Step::cancelled());
    registry.add(AgentDescriptor::new("a").with_skill("vote"), never.clone()).unwrap();
    registry.add(AgentDescriptor::new("chair"), chair(|| vote().with_decide(Decide::Early))).unwrap();
    let house = one_slot(registry);
    let start = Instant::now();
    let request = TaskRequest::new("decide").in_session("s").preferring("chair").with_timeout(ms(400));
    let report = house.team.run(request).await.unwrap();
    assert!(start.elapsed() <= ms(400), "{:?}", start.elapsed());
    assert_eq!(report.status, TaskStatus::Completed, "it hears of it in time: {report}");
    assert!(report.text().starts_with("timed_out: "), "{}", report.text());
    house.assert_rest();
}
