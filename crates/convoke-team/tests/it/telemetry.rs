//! What is told of each outcome, and what a failing observer costs: nothing, unless the host wants it to.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use convoke_core::{ErrorCode, ExecutorError, ResumeToken, TaskOutcome, TaskReport, TaskRequest, TaskStatus};
use convoke_observability::{BoundedAsyncSink, MemorySink};
use convoke_registry::{AgentRegistry, TeamError};
use convoke_session::SessionLimits;
use convoke_team::{ObserverError, TeamEvent, TeamObserver, TeamRuntime, TelemetryFailures};
use convoke_testkit::{FailingObserver, FailingSink, RecordingObserver, ScriptedExecutor, Step};

use crate::house::{House, agent, assert_end, ms, registry, task};

fn echo() -> AgentRegistry {
    registry([(agent("a"), ScriptedExecutor::echo())])
}

#[tokio::test(start_paused = true)]
async fn each_outcome_has_its_events_and_no_others() {
    let events = async |step: Step| {
        let house = House::of(1, ScriptedExecutor::new([step]));
        let report = house.run(task("t").with_timeout(ms(20))).await;
        tokio::time::sleep(ms(1_000)).await;
        let names = house.events.names();
        assert_eq!(names[..3], ["submitted", "selected", "started"]);
        assert_eq!(names[3], report.status.as_str());
        (names[3..].to_vec(), report.detached)
    };
    assert_eq!(events(Step::reply("done")).await, (vec!["completed"], false));
    assert_eq!(events(Step::pause("which?")).await, (vec!["input_required"], false));
    assert_eq!(events(Step::fail(ExecutorError::new("broken"))).await, (vec!["failed"], false));
    assert_eq!(events(Step::reply(TaskOutcome::blocked("no key"))).await, (vec!["blocked"], false));
    assert_eq!(events(Step::reply(TaskOutcome::cancelled())).await, (vec!["cancelled"], false));
    assert_eq!(events(Step::cancelled()).await, (vec!["timed_out"], false));
    let detached = Step::reply("late").after_delay(ms(500));
    assert_eq!(events(detached).await, (vec!["timed_out", "detached_ended"], true));
}

#[tokio::test(start_paused = true)]
async fn a_refusal_has_two_events_after_admission_and_one_before() {
    let house = House::new(echo());
    house.run(task("t").requiring("sing")).await;
    assert_eq!(house.events.names_of("t"), ["submitted", "blocked"]);
    house.run(task("u").with_timeout(ms(0))).await;
    assert_eq!(house.events.names_of("u"), ["blocked"]);
    house.run(task("v")).await;
    house.run(task("v")).await;
    assert_eq!(house.events.names_of("v"), ["submitted", "selected", "started", "completed", "blocked"]);
    // One among many is admitted when it has its agent.
    house.team.run_parallel([task("w").requiring("sing")]).await;
    assert_eq!(house.events.names_of("w"), ["blocked"]);
}

#[tokio::test(start_paused = true)]
async fn an_event_says_who_what_and_when() {
    let memory = MemorySink::new();
    let step = Step::fail(ExecutorError::new("private").with_public("public")).after_delay(ms(30));
    let registry = registry([(agent("a"), ScriptedExecutor::new([step]))]);
    let house = House::built(registry, |builder| builder.event_sink(memory.clone()));
    house.run(task("t").with_trace_id("trace-1")).await;

    let typed = house.events.events();
    let elapsed: Vec<_> = typed.iter().map(|event| event.elapsed).collect();
    assert_eq!(elapsed, [ms(0), ms(0), ms(0), ms(30)]);
    let statuses: Vec<_> = typed.iter().map(|event| event.status).collect();
    let expected = [TaskStatus::Submitted, TaskStatus::Submitted, TaskStatus::Working, TaskStatus::Failed];
    assert_eq!(statuses, expected);
    assert!(typed[0].agent.is_none() && typed[0].code.is_none() && typed[0].text.is_none());
    let failed = &typed[3];
    assert_eq!((failed.code, failed.text.as_deref()), (Some(ErrorCode::ExecutionFailed), Some("public")));

    let common = memory.events();
    assert_eq!(common.len(), typed.len());
    for (common, typed) in common.iter().zip(&typed) {
        assert_eq!((common.module, common.name), ("team", typed.kind.as_str()));
        assert_eq!((&*common.subject, common.attempt), ("t", Some(1)));
        assert_eq!(
            (common.task.as_ref(), common.session.as_ref()),
            (Some(&typed.task), Some(&typed.session))
        );
        assert_eq!(common.agent, typed.agent);
        assert_eq!((common.status, common.elapsed), (Some(typed.status.as_str()), Some(typed.elapsed)));
        assert_eq!(common.trace_id.as_deref(), Some("trace-1"));
    }
    let attribute = |name| common[3].attributes.get(name).map(ToString::to_string);
    assert_eq!(attribute("code").as_deref(), Some("execution_failed"));
    assert_eq!(attribute("text").as_deref(), Some("public"));
    assert_eq!(common[3].unix_millis - common[0].unix_millis, 30);
    let numbers: Vec<_> = common.iter().map(|event| event.id.number()).collect();
    assert_eq!(numbers, [0, 1, 2, 3]);
}

async fn telemetry_errors(team: &TeamRuntime) -> u32 {
    let report = team.run(TaskRequest::new("x")).await.unwrap();
    assert!(report.is_success());
    report.telemetry_errors
}

#[tokio::test(start_paused = true)]
async fn observers_and_sinks_that_fail_are_counted_and_cost_the_work_nothing() {
    let builder = || TeamRuntime::builder(echo());
    let observer = FailingObserver::always();
    let team = builder().observer(observer.clone()).build().unwrap();
    assert_eq!(telemetry_errors(&team).await, 4);
    assert_eq!((observer.calls(), team.stats().telemetry_errors), (4, 4));
    assert_eq!(telemetry_errors(&team).await, 4);
    assert_eq!(team.stats().telemetry_errors, 8);

    let team = builder().observer(FailingObserver::always().panicking()).build().unwrap();
    assert_eq!(telemetry_errors(&team).await, 4);
    let team = builder().event_sink(FailingSink::always()).build().unwrap();
    assert_eq!(telemetry_errors(&team).await, 4);
    let team = builder().event_sink(FailingSink::always().panicking()).build().unwrap();
    assert_eq!(telemetry_errors(&team).await, 4);
    let team =
        builder().event_sink(FailingSink::after(1)).observer(FailingObserver::after(2)).build().unwrap();
    assert_eq!(telemetry_errors(&team).await, 3 + 2);
}

#[tokio::test(start_paused = true)]
async fn one_that_fails_takes_nothing_from_the_other() {
    let (memory, observer) = (MemorySink::new(), RecordingObserver::new());
    let builder = || TeamRuntime::builder(echo());
    let team = builder().observer(FailingObserver::always().panicking()).event_sink(memory.clone()).build();
    telemetry_errors(&team.unwrap()).await;
    assert_eq!(memory.len(), 4);
    let team = builder().observer(observer.clone()).event_sink(FailingSink::always().panicking()).build();
    telemetry_errors(&team.unwrap()).await;
    assert_eq!(observer.events().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn failures_after_the_answer_are_only_counted() {
    let registry =
        registry([(agent("a"), ScriptedExecutor::new([Step::reply("late").after_delay(ms(500))]))]);
    let team = TeamRuntime::builder(registry)
        .observer(FailingObserver::after(4))
        .telemetry_failures(TelemetryFailures::Propagate)
        .build()
        .unwrap();
    let report = team.run(task("t").with_timeout(ms(20))).await.unwrap();
    assert_eq!((report.status, report.telemetry_errors), (TaskStatus::TimedOut, 0));
    tokio::time::sleep(ms(1_000)).await;
    assert_eq!((team.stats().telemetry_errors, team.stats().detached), (1, 0));
}

fn propagating(executor: &ScriptedExecutor, observer: FailingObserver) -> TeamRuntime {
    TeamRuntime::builder(registry([(agent("a"), executor.clone())]))
        .observer(observer)
        .telemetry_failures(TelemetryFailures::Propagate)
        .build()
        .unwrap()
}

#[track_caller]
fn kept_report(answer: Result<TaskReport, TeamError>) -> TaskReport {
    assert!(matches!(answer, Err(TeamError::Telemetry { .. })), "{answer:?}");
    answer.unwrap_err().into_report().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_is_propagated_loses_no_committed_result() {
    let executor = ScriptedExecutor::new([Step::reply("done")]);
    // The terminal event is the one that fails.
    let team = propagating(&executor, FailingObserver::after(3));
    let report = kept_report(team.run(task("t")).await);
    assert_end(&report, TaskStatus::Completed, None);
    assert_eq!((report.text(), report.telemetry_errors), ("done", 1));
    let snapshot = team.session("s").unwrap().snapshot();
    assert_eq!(snapshot.messages().len(), 2);
    assert_eq!(snapshot.task(&report.task).unwrap().status, TaskStatus::Completed);
    executor.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_failure_before_the_work_is_propagated_without_it_and_the_id_is_free() {
    for taken in 0..3 {
        let executor = ScriptedExecutor::new([]);
        let team = propagating(&executor, FailingObserver::after(taken));
        let report = kept_report(team.run(task("t")).await);
        assert_end(&report, TaskStatus::Failed, ErrorCode::ExecutionFailed);
        assert!(report.error.as_ref().unwrap().message().contains("telemetry"));
        executor.assert_done();
        let session = team.session("s").unwrap();
        assert_eq!(session.snapshot().task(&report.task).unwrap().status, TaskStatus::Failed);
        let stats = team.stats();
        assert_eq!((stats.slots.taken, team.registry().get("a").unwrap().active), (0, 0));
        let again = kept_report(team.run(task("t")).await);
        assert_eq!(again.attempt, 2, "the id can be tried again");
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_propagated_to_handles_and_to_each_of_many() {
    let executor = ScriptedExecutor::echo();
    let team = propagating(&executor, FailingObserver::after(3));
    let handle = team.spawn(TaskRequest::new("x"));
    let report = kept_report(handle.await);
    assert!(report.is_success());
    let answers = team.run_parallel([TaskRequest::new("x"), TaskRequest::new("y")]).await;
    for answer in answers {
        assert_end(&kept_report(answer), TaskStatus::Failed, ErrorCode::ExecutionFailed);
    }
}

#[tokio::test(start_paused = true)]
async fn a_handle_whose_telemetry_failed_shows_how_the_task_ended() {
    let gate = convoke_testkit::Gate::closed();
    let executor = ScriptedExecutor::new([Step::reply("done").after(&gate)]);
    let team = propagating(&executor, FailingObserver::after(3));
    let mut handle = team.spawn(TaskRequest::new("x"));
    gate.arrived(1).await;
    gate.open();
    assert!((&mut handle).await.is_err());
    assert_eq!(handle.status(), TaskStatus::Completed);
}

/// Takes events as long as it is well.
struct Moody(Arc<AtomicBool>);

impl TeamObserver for Moody {
    fn observe(&self, _: &TeamEvent) -> Result<(), ObserverError> {
        if self.0.load(Ordering::Relaxed) { Ok(()) } else { Err(ObserverError::new("unwell")) }
    }
}

#[tokio::test(start_paused = true)]
async fn a_pause_is_not_used_up_by_an_attempt_that_telemetry_kept_from_its_executor() {
    let token = ResumeToken::new(1, "here");
    let executor = ScriptedExecutor::new([Step::pause_with("which?", token.clone()), Step::reply("done")]);
    let is_well = Arc::new(AtomicBool::new(true));
    let team = TeamRuntime::builder(registry([(agent("a"), executor.clone())]))
        .observer(Moody(Arc::clone(&is_well)))
        .telemetry_failures(TelemetryFailures::Propagate)
        .build()
        .unwrap();
    let paused = team.run(task("t")).await.unwrap();
    assert_eq!(paused.status, TaskStatus::InputRequired);
    is_well.store(false, Ordering::Relaxed);
    kept_report(team.run(paused.answering("this one").unwrap()).await);
    is_well.store(true, Ordering::Relaxed);
    let report = team.run(paused.answering("this one").unwrap()).await.unwrap();
    assert_end(&report, TaskStatus::Completed, None);
    executor.assert_done();
}

/// Takes an event when the test lets it.
struct BlockingSink(std::sync::Mutex<std::sync::mpsc::Receiver<()>>);

impl convoke_observability::EventSink for BlockingSink {
    fn publish(&self, _: convoke_observability::Event) -> Result<(), convoke_observability::SinkError> {
        self.0.lock().unwrap().recv().map_err(|_| convoke_observability::SinkError::new("the test is over"))
    }
}

#[tokio::test]
async fn a_sink_that_blocks_behind_the_bounded_one_holds_no_task_up() {
    let (let_go, waits) = std::sync::mpsc::channel();
    let blocking = BlockingSink(std::sync::Mutex::new(waits));
    let sink = Arc::new(BoundedAsyncSink::builder(blocking).with_capacity(6).start().unwrap());
    let team = TeamRuntime::builder(echo()).event_sink(Arc::clone(&sink)).build().unwrap();
    for _ in 0..5 {
        let report = team.run(TaskRequest::new("do it")).await.unwrap();
        assert_eq!((report.status, report.telemetry_errors), (TaskStatus::Completed, 0));
    }
    // Twenty events: what the sink holds, what the queue holds, and the rest is counted.
    let counters = sink.counters();
    assert_eq!((counters.published, counters.delivered), (20, 0));
    assert!(counters.dropped >= 20 - 7, "{counters:?}");
    for _ in 0..20 {
        let_go.send(()).unwrap();
    }
    sink.close().await.unwrap();
    let counters = sink.counters();
    assert_eq!(counters.published, counters.delivered + counters.dropped + counters.failed);
}

#[tokio::test(start_paused = true)]
async fn the_limits_of_sessions_are_the_runtimes_to_set() {
    let limits = SessionLimits::default().with_messages(1);
    let team = TeamRuntime::builder(echo()).session_limits(limits).build().unwrap();
    for request in [task("t"), task("t").in_session("named")] {
        let report = team.run(request).await.unwrap();
        assert_eq!(report.code(), Some(ErrorCode::SessionFull));
        assert_eq!(report.status, TaskStatus::Failed, "its input fits, its output does not");
    }
    assert_eq!(team.create_session("made").unwrap().limits(), limits);
}

/// An error whose destructor panics: the observer's own code, run when the runtime lets go of it.
#[derive(Debug)]
struct Sticky;

impl std::fmt::Display for Sticky {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("sticky")
    }
}

impl std::error::Error for Sticky {}

impl Drop for Sticky {
    fn drop(&mut self) {
        panic!("does not let go");
    }
}

struct StickyObserver;

impl TeamObserver for StickyObserver {
    fn observe(&self, _: &TeamEvent) -> Result<(), ObserverError> {
        Err(Sticky.into())
    }
}

#[tokio::test(start_paused = true)]
async fn an_observer_whose_errors_panic_when_they_are_dropped_costs_the_work_nothing() {
    let team = TeamRuntime::builder(echo()).observer(StickyObserver).build().unwrap();
    let report = team.run(task("t")).await.unwrap();
    assert_eq!((report.status, report.telemetry_errors), (TaskStatus::Completed, 4));
}
