//! Many tasks in one call, each answer as it comes.

mod nested;

use std::pin::pin;

use futures_util::{FutureExt as _, StreamExt as _};
use tokio::{
    runtime::{Handle, Runtime},
    time::{Instant, sleep},
};

use convoke_core::{CapacityPolicy, ErrorCode, TaskReport, TaskRequest, TaskStatus};
use convoke_registry::{Answers, CancellationToken, RunOptions, TeamAnswer, TeamError};
use convoke_testkit::{Gate, ScriptedExecutor, Step, dropped_after};

use crate::house::{House, agent, assert_end, ms, registry, settle, task};

/// Answers with its input after as many milliseconds as that says.
fn timed() -> ScriptedExecutor {
    ScriptedExecutor::answering(|request| {
        let millis = request.input.parse().unwrap();
        Step::reply(request.input.clone()).after_delay(ms(millis))
    })
}

/// Obeys a stop, answers at once, or goes on until the gate opens.
fn mixed(gate: &Gate) -> ScriptedExecutor {
    let gate = gate.clone();
    ScriptedExecutor::answering(move |request| match request.input.as_str() {
        "obeys" => Step::cancelled(),
        "quick" => Step::reply("done"),
        _ => Step::reply("late").after(&gate),
    })
}

/// Requests in session `s` whose id is their input.
fn named<const N: usize>(inputs: [&str; N]) -> [TaskRequest; N] {
    inputs.map(|input| TaskRequest::new(input).with_id(input).in_session("s"))
}

async fn all(mut answers: Answers) -> Vec<(usize, TeamAnswer)> {
    let mut all = Vec::new();
    while let Some(answer) = answers.next().await {
        all.push(answer);
    }
    assert!(answers.next().await.is_none(), "the end stays the end");
    all
}

/// The reports in the order of their requests.
async fn in_order(answers: Answers) -> Vec<TaskReport> {
    let mut all = all(answers).await;
    all.sort_by_key(|(index, _)| *index);
    assert!(all.iter().map(|(index, _)| *index).eq(0..all.len()), "{all:?}");
    all.into_iter().map(|(_, answer)| answer.unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn answers_come_as_the_tasks_end_with_the_indices_of_their_requests() {
    let house = House::of(4, timed());
    let start = Instant::now();
    let mut answers = house.team.run_each(["30", "10", "40", "20"].map(TaskRequest::new), RunOptions::new());
    for (index, text, at) in [(1, "10", 10), (3, "20", 20), (0, "30", 30), (2, "40", 40)] {
        let (answered, answer) = answers.next().await.unwrap();
        let report = answer.unwrap();
        assert_eq!((answered, report.text(), start.elapsed()), (index, text, ms(at)));
        assert_eq!(report.timing.executed, ms(at));
    }
    assert!(answers.next().await.is_none());
    assert!(answers.next().await.is_none());
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn one_that_goes_wrong_loses_no_other() {
    let house = House::of(
        4,
        ScriptedExecutor::answering(|request| match request.input.as_str() {
            "panics" => Step::panic("broken"),
            "never ends" => Step::never(),
            other => Step::reply(other.to_owned()),
        }),
    );
    let requests = [
        TaskRequest::new("one"),
        TaskRequest::new("never ends").with_timeout(ms(20)),
        TaskRequest::new("panics"),
        TaskRequest::new("refused").requiring("sing"),
        TaskRequest::new(""),
        TaskRequest::new("full").with_capacity(CapacityPolicy::Reject),
        TaskRequest::new("two"),
    ];
    let reports = in_order(house.team.run_each(requests, RunOptions::new())).await;
    assert_end(&reports[0], TaskStatus::Completed, None);
    assert_end(&reports[1], TaskStatus::TimedOut, ErrorCode::TimedOut);
    assert_end(&reports[2], TaskStatus::Failed, ErrorCode::ExecutorPanicked);
    assert_end(&reports[3], TaskStatus::Blocked, ErrorCode::CapabilityNotFound);
    assert_end(&reports[4], TaskStatus::Blocked, ErrorCode::InvalidRequest);
    assert_end(&reports[5], TaskStatus::Completed, None);
    assert_eq!(reports[6].text(), "two");
}

#[tokio::test(start_paused = true)]
async fn nothing_happens_before_the_first_poll() {
    let executor = timed();
    let house = House::of(1, executor.clone());
    let mut answers = house.team.run_each([task("t")], RunOptions::new());
    drop(answers.next());
    settle().await;
    drop(answers);
    settle().await;
    assert_eq!((executor.calls(), house.team.stats().sessions), (0, 0));
    assert!(house.events.events().is_empty());
    house.assert_rest();

    let before = Instant::now();
    let mut answers = house.team.run_each([TaskRequest::new("10").with_timeout(ms(20))], RunOptions::new());
    sleep(ms(50)).await;
    let report = answers.next().await.unwrap().1.unwrap();
    assert_end(&report, TaskStatus::Completed, None);
    assert_eq!(before.elapsed(), ms(60), "its time runs from the first poll on");
}

#[tokio::test(start_paused = true)]
async fn no_requests_have_no_answers() {
    let house = House::of(1, ScriptedExecutor::new([]));
    assert!(all(house.team.run_each([], RunOptions::new())).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn limit_and_order_of_the_starts_are_those_of_a_parallel_run() {
    let numbers: Vec<_> = (0..40).map(|number: u64| ((40 - number) % 7 + 1).to_string()).collect();
    let requests = || numbers.iter().map(TaskRequest::new);
    let (each, parallel) = (timed(), timed());
    let house = |executor: &ScriptedExecutor| {
        let registry = registry([(agent("a").with_max_concurrency(8), executor.clone())]);
        House::built(registry, |builder| builder.max_parallel_tasks(3))
    };
    house(&parallel).team.run_parallel(requests()).await;
    let house = house(&each);
    let reports = in_order(house.team.run_each(requests(), RunOptions::new())).await;
    assert!(reports.iter().map(TaskReport::text).eq(&numbers));
    assert_eq!((each.inputs(), each.peak()), (parallel.inputs(), 3));
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn dropping_the_answers_stops_what_runs_and_what_waits_and_waits_for_nobody() {
    let (gate, start) = (Gate::closed(), Instant::now());
    let executor = mixed(&gate);
    let house = House::of(3, executor.clone());
    let requests = named(["obeys", "goes on", "quick", "goes on too", "in line"]);
    let mut answers = house.team.run_each(requests, RunOptions::new());
    let (index, answer) = answers.next().await.unwrap();
    assert_eq!((index, answer.unwrap().text()), (2, "done"));
    gate.arrived(2).await;
    assert_eq!((house.load("a"), house.slots().waiting), ((3, 0), 1));
    drop(answers);
    settle().await;
    assert_eq!(start.elapsed(), ms(0), "the grace of what goes on is nobody's");
    assert_eq!(house.record("s", "obeys").status, TaskStatus::Cancelled);
    assert_eq!(house.events.names_of("in line"), ["cancelled"]);
    assert_eq!((house.load("a"), house.slots().taken, house.slots().waiting), ((2, 0), 2, 0));
    house.assert_sound();

    sleep(ms(60)).await;
    for id in ["goes on", "goes on too"] {
        let record = house.record("s", id);
        assert_eq!((record.status, record.detached), (TaskStatus::Cancelled, true), "{id}");
    }
    assert_eq!((house.load("a"), house.registry.get("a").unwrap().free()), ((2, 2), 1));
    gate.open();
    settle().await;
    assert_eq!(executor.calls(), 4);
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn answers_that_nobody_takes_hold_up_nothing() {
    let executor = timed();
    let house = House::of(2, executor.clone());
    let mut answers = house.team.run_each(["10"; 20].map(TaskRequest::new), RunOptions::new());
    assert!(dropped_after(1, answers.next()).await.is_none());
    sleep(ms(1_000)).await;
    assert_eq!(executor.calls(), 20);
    house.assert_rest();
    assert!(house.run(TaskRequest::new("1")).await.is_success());
    let start = Instant::now();
    assert_eq!(in_order(answers).await.len(), 20);
    assert_eq!(start.elapsed(), ms(0), "they were kept");
}

#[tokio::test(start_paused = true)]
async fn next_loses_no_answer_where_it_is_dropped() {
    let house = House::of(3, timed());
    let mut answers =
        house.team.run_each((0..20).map(|number| TaskRequest::new(number.to_string())), RunOptions::new());
    let mut indices = Vec::new();
    for _ in 0..200 {
        match dropped_after(1, answers.next()).await {
            Some(answer) => indices.extend(answer.map(|(index, _)| index)),
            None => sleep(ms(1)).await,
        }
    }
    indices.sort_unstable();
    assert!(indices.into_iter().eq(0..20));
    assert!(answers.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_token_and_a_deadline_stop_those_that_run_and_those_that_wait() {
    let house = House::of(2, ScriptedExecutor::answering(|_| Step::cancelled()));
    let (start, token) = (Instant::now(), CancellationToken::new());
    let options = RunOptions::new().with_cancellation(token.clone());
    let cases = [
        (options, ["0", "1", "2", "3"], TaskStatus::Cancelled, ErrorCode::Cancelled, ms(10)),
        (
            RunOptions::new().with_deadline(start + ms(30)),
            ["4", "5", "6", "7"],
            TaskStatus::TimedOut,
            ErrorCode::TimedOut,
            ms(30),
        ),
    ];
    tokio::spawn(async move {
        sleep(ms(10)).await;
        token.cancel();
    });
    for (options, ids, status, code, at) in cases {
        let reports = in_order(house.team.run_each(ids.map(task), options)).await;
        for (report, attempt) in reports.iter().zip([1, 1, 0, 0]) {
            assert_end(report, status, code);
            assert_eq!(report.attempt, attempt);
        }
        assert_eq!((reports.len(), start.elapsed()), (4, at));
        house.assert_rest();
    }
}

#[tokio::test(start_paused = true)]
async fn a_runtime_that_is_gone_refuses_each() {
    let House { team, registry, events } = House::of(1, ScriptedExecutor::new([]));
    let (handle, asked_before) = (team.handle(), team.run_each(named(["t", "u"]), RunOptions::new()));
    drop(team);
    let reports = in_order(asked_before).await;
    assert_eq!(events.names(), ["blocked", "blocked"]);
    let later = in_order(handle.run_each(named(["t", "u"]), RunOptions::new())).await;
    assert_eq!(events.names().len(), 2, "nobody is left to tell");
    for reports in [reports, later] {
        for (report, id) in reports.iter().zip(["t", "u"]) {
            assert_end(report, TaskStatus::Blocked, ErrorCode::ShuttingDown);
            assert_eq!((report.task.as_str(), report.session.as_str(), report.attempt), (id, "s", 0));
        }
        assert_eq!(reports.len(), 2);
    }
    assert_eq!(registry.get("a").unwrap().active, 0);
}

#[test]
fn outside_a_tokio_runtime_each_says_so() {
    let house = House::of(1, ScriptedExecutor::new([]));
    let answers = house.team.run_each(named(["t", "u"]), RunOptions::new());
    let answers = all(answers).now_or_never().unwrap();
    assert!(
        matches!(&answers[..], [(0, Err(TeamError::NoTokio)), (1, Err(TeamError::NoTokio))]),
        "{answers:?}"
    );
    assert!(house.events.events().is_empty());
    house.assert_rest();
}

fn paused_runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap()
}

#[test]
fn what_has_no_answer_when_the_tokio_runtime_ends_is_lost_and_the_rest_is_kept() {
    let gate = Gate::closed();
    let house = House::of(2, mixed(&gate));
    let first = paused_runtime();
    let answers = first.block_on(async {
        let requests = named(["obeys", "quick", "goes on", "in line too", "in line"]);
        let mut answers = house.team.run_each(requests, RunOptions::new());
        assert_eq!(answers.next().await.unwrap().0, 1);
        gate.arrived(1).await;
        answers
    });
    drop(first);
    house.assert_rest();
    let answers = paused_runtime().block_on(all(answers));
    let lost: Vec<_> = answers
        .iter()
        .map(|(index, answer)| match answer {
            Err(TeamError::Lost { task }) => (*index, task.as_str()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(lost, [(0, "obeys"), (2, "goes on"), (3, "in line too"), (4, "in line")]);
    for id in ["obeys", "goes on"] {
        assert_eq!(house.record("s", id).status, TaskStatus::Failed);
        assert_eq!(house.events.names_of(id), ["submitted", "selected", "started", "failed"]);
    }
    assert_eq!(house.events.names_of("in line"), [""; 0]);
}

#[test]
fn the_lost_come_in_the_order_of_their_requests() {
    let gate = Gate::closed();
    let gated = gate.clone();
    let executor = ScriptedExecutor::answering(move |_| Step::reply("done").after(&gated));
    let registry = registry([(agent("a").with_max_concurrency(20), executor)]);
    let house = House::built(registry, |builder| builder.max_parallel_tasks(20));
    let first = paused_runtime();
    let answers = first.block_on(async {
        let mut answers = house.team.run_each(["x"; 30].map(TaskRequest::new), RunOptions::new());
        assert!(dropped_after(1, answers.next()).await.is_none());
        gate.arrived(20).await;
        answers
    });
    drop(first);
    let answers = paused_runtime().block_on(all(answers));
    assert!(answers.iter().map(|(index, _)| *index).eq(0..30), "{answers:?}");
    assert!(answers.iter().all(|(_, answer)| matches!(answer, Err(TeamError::Lost { .. }))), "{answers:?}");
    house.assert_rest();
}

#[test]
fn an_answer_that_came_before_the_tokio_runtime_ended_is_not_lost() {
    let house = House::of(2, mixed(&Gate::closed()));
    let first = paused_runtime();
    let answers = first.block_on(async {
        let mut answers = house.team.run_each(named(["obeys", "quick"]), RunOptions::new());
        assert!(dropped_after(1, answers.next()).await.is_none());
        settle().await;
        answers
    });
    drop(first);
    let answers = paused_runtime().block_on(all(answers));
    assert!(matches!(&answers[..], [(1, Ok(_)), (0, Err(TeamError::Lost { .. }))]), "{answers:?}");
}

#[tokio::test(start_paused = true)]
async fn of_ten_thousand_only_those_that_run_have_a_task_or_a_session() {
    let gate = Gate::closed();
    let gated = gate.clone();
    let house = House::of(4, ScriptedExecutor::answering(move |_| Step::reply("done").after(&gated)));
    let requests = (0..10_000).map(|_| TaskRequest::new("x"));
    let mut answers = house.team.run_each(requests, RunOptions::new());
    assert!(dropped_after(1, answers.next()).await.is_none());
    while house.slots().waiting < 9_996 {
        tokio::task::yield_now().await;
    }
    let alive = Handle::current().metrics().num_alive_tasks();
    assert!(alive <= 5, "{alive} tasks: more than those that run and their owner");
    assert_eq!(house.team.stats().sessions, 4);
    gate.open();
    assert_eq!(in_order(answers).await.len(), 10_000);
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn it_is_a_stream_and_can_be_sent() {
    let house = House::of(2, timed());
    let answers = house.team.run_each(["30", "20", "10"].map(TaskRequest::new), RunOptions::new());
    assert_eq!(format!("{answers:?}"), "Answers { .. }");
    let texts = tokio::spawn(async {
        let texts = answers.map(|(index, answer)| format!("{index} {}", answer.unwrap().text()));
        pin!(texts).collect::<Vec<_>>().await
    });
    assert_eq!(texts.await.unwrap(), ["1 20", "0 30", "2 10"]);
}
