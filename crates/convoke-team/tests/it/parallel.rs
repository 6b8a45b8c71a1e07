//! Many tasks in one call.

use tokio::time::{Instant, sleep};

use convoke_core::{AgentId, CapacityPolicy, ErrorCode, ExecutorError, TaskRequest, TaskStatus};
use convoke_registry::{CancellationToken, LeaseRequest, RunOptions};
use convoke_testkit::{Gate, ScriptedExecutor, Step};

use crate::house::{House, agent, assert_end, ms, registry, reports, settle, task, texts};

#[tokio::test(start_paused = true)]
async fn forty_results_come_in_the_order_of_the_requests() {
    // Later ones are faster.
    let executor = ScriptedExecutor::answering(|request| {
        let number: u64 = request.input.parse().unwrap();
        Step::reply(request.input.clone()).after_delay(ms(1 + (40 - number) % 7))
    });
    let registry = registry([(agent("a").with_max_concurrency(8), executor.clone())]);
    let house = House::built(registry, |builder| builder.max_parallel_tasks(3));
    let numbers: Vec<_> = (0..40).map(|number| number.to_string()).collect();
    let answers = house.team.run_parallel(numbers.iter().map(TaskRequest::new)).await;
    assert_eq!(texts(&answers), numbers);
    assert_eq!(executor.peak(), 3);
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn one_that_goes_wrong_loses_no_other() {
    use TaskStatus::{Blocked, Completed, Failed, TimedOut};

    let executor = ScriptedExecutor::answering(|request| match request.input.as_str() {
        "fails" => Step::fail(ExecutorError::new("broken")),
        "panics" => Step::panic("broken"),
        "never ends" => Step::never(),
        other => Step::reply(other.to_owned()),
    });
    let house = House::of(8, executor);
    let requests = [
        TaskRequest::new("one"),
        TaskRequest::new("fails"),
        TaskRequest::new("panics"),
        TaskRequest::new("never ends").with_timeout(ms(20)),
        TaskRequest::new("refused").requiring("sing"),
        TaskRequest::new(""),
        TaskRequest::new("two"),
    ];
    let reports = reports(house.team.run_parallel(requests).await);
    let statuses: Vec<_> = reports.iter().map(|report| report.status).collect();
    assert_eq!(statuses, [Completed, Failed, Failed, TimedOut, Blocked, Blocked, Completed]);
    assert_eq!((reports[0].text(), reports[6].text()), ("one", "two"));
}

#[tokio::test(start_paused = true)]
async fn four_on_one_place_run_in_the_order_of_the_requests() {
    let executor =
        ScriptedExecutor::answering(|request| Step::reply(request.input.clone()).after_delay(ms(10)));
    let house = House::of(1, executor.clone());
    let requests = ["0", "1", "2", "3"].map(TaskRequest::new);
    let start = Instant::now();
    let answers = house.team.run_parallel(requests).await;
    assert_eq!(texts(&answers), ["0", "1", "2", "3"]);
    assert_eq!(executor.inputs(), ["0", "1", "2", "3"]);
    assert_eq!((start.elapsed(), executor.peak()), (ms(40), 1));
}

#[tokio::test(start_paused = true)]
async fn the_tail_of_too_many_runs_out_of_time_and_is_not_refused() {
    let executor = ScriptedExecutor::answering(|_| Step::reply("done").after_delay(ms(10)));
    let house = House::of(1, executor.clone());
    let requests = ["0", "1", "2", "3"].map(|id| task(id).with_timeout(ms(25)));
    let reports = reports(house.team.run_parallel(requests).await);
    for report in &reports[..2] {
        assert_end(report, TaskStatus::Completed, None);
    }
    // It was working when its time was up, and had its word within the grace.
    assert_end(&reports[2], TaskStatus::Completed, None);
    assert_end(&reports[3], TaskStatus::TimedOut, ErrorCode::TimedOut);
    assert_eq!((reports[3].attempt, reports[3].agent.as_ref()), (0, None));
    assert_eq!(executor.calls(), 3);
    let snapshot = house.team.session("s").unwrap().snapshot();
    assert_eq!(snapshot.tasks().len(), 3, "what ends before admission leaves no record");
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn those_that_wait_are_not_admitted_yet() {
    let gate = Gate::closed();
    let gated = gate.clone();
    let executor = ScriptedExecutor::answering(move |_| Step::reply("done").after(&gated));
    let house = House::of(2, executor);
    let parallel = tokio::spawn(house.team.run_parallel(["0", "1", "2", "3"].map(task)));
    gate.arrived(2).await;
    let session = house.team.session("s").unwrap();
    assert_eq!(session.snapshot().tasks().len(), 2);
    assert_eq!((house.slots().taken, house.slots().waiting), (2, 2));
    gate.open();
    assert_eq!(texts(&parallel.await.unwrap()), ["done"; 4]);
    assert_eq!(session.snapshot().tasks().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_token_stops_those_that_run_and_those_that_wait() {
    let house = House::of(2, ScriptedExecutor::answering(|_| Step::cancelled()));
    let token = CancellationToken::new();
    let options = RunOptions::new().with_cancellation(token.clone());
    let parallel = tokio::spawn(house.team.run_parallel_with(["0", "1", "2", "3"].map(task), options));
    settle().await;
    token.cancel();
    let reports = reports(parallel.await.unwrap());
    for (report, attempt) in reports.iter().zip([1, 1, 0, 0]) {
        assert_end(report, TaskStatus::Cancelled, ErrorCode::Cancelled);
        assert_eq!(report.attempt, attempt);
    }
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn a_deadline_stops_those_that_run_and_those_that_wait() {
    let house = House::of(2, ScriptedExecutor::answering(|_| Step::cancelled()));
    let start = Instant::now();
    let options = RunOptions::new().with_deadline(start + ms(20));
    let reports = reports(house.team.run_parallel_with(["0", "1", "2", "3"].map(task), options).await);
    for (report, attempt) in reports.iter().zip([1, 1, 0, 0]) {
        assert_end(report, TaskStatus::TimedOut, ErrorCode::TimedOut);
        assert_eq!(report.attempt, attempt);
    }
    assert_eq!(start.elapsed(), ms(20));
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn an_id_that_comes_twice_is_refused_the_second_time() {
    let house = House::of(4, ScriptedExecutor::answering(|request| Step::reply(request.input.clone())));
    let request = |input: &str| TaskRequest::new(input).with_id("t").in_session("s");
    let reports = reports(house.team.run_parallel([request("first"), request("second")]).await);
    assert_end(&reports[0], TaskStatus::Completed, None);
    assert_eq!(reports[0].text(), "first");
    assert_end(&reports[1], TaskStatus::Blocked, ErrorCode::InvalidRequest);
    assert_eq!(reports[1].attempt, 0);
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn one_that_runs_out_of_time_leaves_the_line_at_once_although_others_run() {
    let executor = ScriptedExecutor::answering(|_| Step::reply("done").after_delay(ms(500)));
    let house = House::of(1, executor);
    let parallel = tokio::spawn(house.team.run_parallel([task("t"), task("u").with_timeout(ms(20))]));
    sleep(ms(30)).await;
    assert_eq!((house.slots().taken, house.slots().waiting), (1, 0));
    let reports = reports(parallel.await.unwrap());
    assert_end(&reports[1], TaskStatus::TimedOut, ErrorCode::TimedOut);
}

#[tokio::test(start_paused = true)]
async fn a_grant_that_crosses_a_deadline_goes_back_at_once_although_others_run() {
    let executor = ScriptedExecutor::answering(|_| Step::reply("done").after_delay(ms(500)));
    let house = House::new(registry([(agent("a"), executor.clone()), (agent("b"), executor)]));
    let b = AgentId::new("b").unwrap();
    let busy = house.registry.acquire(LeaseRequest::new(&[]).preferring(&b)).await.unwrap();
    let requests = [task("t").preferring("a"), task("u").preferring("b").with_timeout(ms(20))];
    let parallel = tokio::spawn(house.team.run_parallel(requests));
    // Granted at the very moment at which its time is up.
    sleep(ms(20)).await;
    drop(busy);
    settle().await;
    assert_eq!((house.load("b").0, house.slots().taken), (0, 1));
    let reports = reports(parallel.await.unwrap());
    assert_end(&reports[0], TaskStatus::Completed, None);
    assert_end(&reports[1], TaskStatus::TimedOut, ErrorCode::TimedOut);
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn dropping_the_call_stops_and_settles_all() {
    let gate = Gate::closed();
    let gated = gate.clone();
    let executor = ScriptedExecutor::answering(move |request| match request.input.as_str() {
        "obeys" => Step::cancelled(),
        _ => Step::reply("late").after(&gated),
    });
    let house = House::of(2, executor.clone());
    let requests =
        ["obeys", "goes on", "waits"].map(|input| TaskRequest::new(input).with_id(input).in_session("s"));
    let parallel = tokio::spawn(house.team.run_parallel(requests));
    gate.arrived(1).await;
    parallel.abort();
    assert!(parallel.await.unwrap_err().is_cancelled());
    sleep(ms(1_000)).await;
    assert_eq!(house.record("s", "obeys").status, TaskStatus::Cancelled);
    let record = house.record("s", "goes on");
    assert_eq!((record.status, record.detached), (TaskStatus::Cancelled, true));
    assert_eq!((executor.calls(), house.slots().waiting), (2, 0));
    gate.open();
    settle().await;
    house.assert_rest();
    let activity = house.team.session("s").unwrap().activity();
    assert_eq!((activity.active, activity.detached, activity.late), (0, 0, 1));
    assert_eq!(house.events.names_of("waits"), ["cancelled"]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_never_polled_does_nothing() {
    let executor = ScriptedExecutor::new([]);
    let house = House::of(1, executor.clone());
    drop(house.team.run_parallel([task("t")]));
    drop(house.team.run(task("t")));
    settle().await;
    executor.assert_done();
    assert!(house.events.events().is_empty());
    assert_eq!(house.team.stats().sessions, 0);
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn no_requests_have_no_results() {
    let house = House::of(1, ScriptedExecutor::new([]));
    assert!(house.team.run_parallel([]).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn requests_made_from_borrowed_values_outlive_them() {
    let house = House::of(2, ScriptedExecutor::echo());
    let inputs = vec!["one".to_owned(), "two".to_owned()];
    let parallel = tokio::spawn(house.team.run_parallel(inputs.iter().map(TaskRequest::new)));
    drop(inputs);
    assert_eq!(texts(&parallel.await.unwrap()), ["one", "two"]);
}

#[tokio::test(start_paused = true)]
async fn one_that_does_not_wait_is_refused_where_its_agent_is_full() {
    let gate = Gate::closed();
    let house = House::of(1, ScriptedExecutor::new([Step::reply("done").after(&gate)]));
    let reject = |id| task(id).with_capacity(CapacityPolicy::Reject);
    let parallel = tokio::spawn(house.team.run_parallel([reject("t"), reject("u")]));
    gate.arrived(1).await;
    gate.open();
    let reports = reports(parallel.await.unwrap());
    assert_end(&reports[0], TaskStatus::Completed, None);
    assert_end(&reports[1], TaskStatus::Blocked, ErrorCode::CapacityExhausted);
    assert_eq!(reports[1].attempt, 0);
}

#[tokio::test(start_paused = true)]
async fn many_stand_in_the_same_line_as_everybody_else() {
    let executor =
        ScriptedExecutor::answering(|request| Step::reply(request.input.clone()).after_delay(ms(10)));
    let house = House::of(1, executor.clone());
    let busy = house.registry.acquire(LeaseRequest::new(&[])).await.unwrap();
    let before = house.team.spawn(TaskRequest::new("before"));
    settle().await;
    let parallel = tokio::spawn(house.team.run_parallel(["0", "1"].map(TaskRequest::new)));
    settle().await;
    let after = house.team.spawn(TaskRequest::new("after"));
    settle().await;
    drop(busy);
    for answer in [before.await, after.await] {
        assert!(answer.unwrap().is_success());
    }
    parallel.await.unwrap();
    assert_eq!(executor.inputs(), ["before", "0", "1", "after"]);
}

#[tokio::test(start_paused = true)]
async fn a_stop_reaches_those_that_are_not_in_line_yet() {
    let executor = ScriptedExecutor::answering(|_| Step::cancelled());
    let house = House::of(2, executor.clone());
    for turns in 0..8 {
        let token = CancellationToken::new();
        let options = RunOptions::new().with_cancellation(token.clone());
        let requests = (0..500).map(|_| TaskRequest::new("x"));
        let parallel = tokio::spawn(house.team.run_parallel_with(requests, options));
        for _ in 0..turns {
            tokio::task::yield_now().await;
        }
        token.cancel();
        let reports = reports(parallel.await.unwrap());
        assert_eq!(reports.len(), 500);
        assert!(reports.iter().all(|report| report.status == TaskStatus::Cancelled));
        house.assert_rest();
    }
    assert!(executor.peak() <= 2);
}

#[tokio::test(start_paused = true)]
async fn putting_many_in_line_holds_up_nobody() {
    let executor = ScriptedExecutor::echo();
    let house = House::new(registry([(agent("a"), executor.clone()), (agent("b"), executor)]));
    let a = AgentId::new("a").unwrap();
    let busy = house.registry.acquire(LeaseRequest::new(&[]).preferring(&a)).await.unwrap();
    let requests = (0..5_000).map(|_| TaskRequest::new("x").preferring("a"));
    let parallel = tokio::spawn(house.team.run_parallel(requests));
    let mut longest = 0;
    let mut before = 0;
    while before < 5_000 {
        tokio::task::yield_now().await;
        let waiting = house.slots().waiting;
        longest = longest.max(waiting - before);
        before = waiting;
    }
    assert!(longest < 500, "{longest} were put in line before anybody else had a turn");
    assert!(house.run(TaskRequest::new("y").preferring("b")).await.is_success());
    drop(busy);
    assert_eq!(parallel.await.unwrap().len(), 5_000);
    house.assert_rest();
}
