//! What a coordinated task tells of itself: its start and its end, once each, and what a failing listener costs.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::time::sleep;

use convoke_core::{ErrorCode, ResumeToken, TaskError, TaskOutcome, TaskReport, TaskRequest, TaskStatus};
use convoke_observability::{Event, EventId, MemorySink, ObserverError};
use convoke_registry::{
    CancellationToken, CoordinatedContext, Coordination, CoordinationError, CoordinationEvents,
    CoordinationMoment, CoordinationStage, RunOptions, TeamError,
};
use convoke_session::IfCompleted;
use convoke_team::{TeamEventKind, TelemetryFailures};
use convoke_testkit::{FailingSink, Gate, ScriptedExecutor};

use crate::house::{House, agent, assert_end, ms, registry, settle, task};

use CoordinationStage::{Ended, Started};

/// A moment, kept.
#[derive(Clone, Debug, PartialEq)]
struct Told {
    stage: CoordinationStage,
    session: String,
    task: String,
    attempt: u32,
    trace_id: Option<String>,
    status: TaskStatus,
    code: Option<ErrorCode>,
    elapsed: Duration,
}

/// How the words of a task are taken.
#[derive(Clone, Copy, Debug)]
enum Mood {
    Well,
    Refuses,
    Panics,
    /// Takes them, and cannot make an event.
    NoEvent,
    /// Takes the start and not the end.
    RefusesTheEnd,
}

/// Keeps each moment. Cloning shares the record.
#[derive(Clone)]
struct Record {
    mood: Mood,
    told: Arc<Mutex<Vec<Told>>>,
    events: Arc<AtomicUsize>,
}

impl Record {
    fn new() -> Self {
        Self::of(Mood::Well)
    }

    fn of(mood: Mood) -> Self {
        Self { mood, told: Arc::default(), events: Arc::default() }
    }

    fn told(&self) -> Vec<Told> {
        self.told.lock().clone()
    }

    /// Stage, attempt, status and code of each.
    fn ends(&self) -> Vec<(CoordinationStage, u32, TaskStatus, Option<ErrorCode>)> {
        self.told().into_iter().map(|told| (told.stage, told.attempt, told.status, told.code)).collect()
    }
}

impl CoordinationEvents for Record {
    fn observe(&self, moment: &CoordinationMoment<'_>) -> Result<(), ObserverError> {
        self.told.lock().push(Told {
            stage: moment.stage,
            session: moment.session.to_string(),
            task: moment.task.to_string(),
            attempt: moment.attempt,
            trace_id: moment.trace_id.map(ToString::to_string),
            status: moment.status,
            code: moment.error.map(TaskError::code),
            elapsed: moment.elapsed,
        });
        match self.mood {
            Mood::Well | Mood::NoEvent => Ok(()),
            Mood::Panics => panic!("unwell"),
            Mood::RefusesTheEnd if moment.stage == Started => Ok(()),
            Mood::Refuses | Mood::RefusesTheEnd => Err(ObserverError::new("unwell")),
        }
    }

    fn to_event(&self, moment: &CoordinationMoment<'_>, id: EventId, unix_millis: u64) -> Event {
        self.events.fetch_add(1, Ordering::Relaxed);
        assert!(!matches!(self.mood, Mood::NoEvent), "unwell");
        let name = if moment.stage == Started { "started" } else { "ended" };
        Event::new(id, unix_millis, "vote", name, moment.task.as_str())
            .with_attempt(moment.attempt)
            .with_status(moment.status.as_str())
            .with_elapsed(moment.elapsed)
    }
}

fn house() -> House {
    House::of(2, ScriptedExecutor::echo())
}

type Answer = Result<TaskReport, TeamError>;

async fn coordinate<B, F>(house: &House, record: &Record, request: TaskRequest, body: B) -> Answer
where
    B: FnOnce(CoordinatedContext) -> F + Send + 'static,
    F: Future<Output = Result<TaskOutcome, CoordinationError>> + Send + 'static,
{
    let coordination = Coordination::new(body).with_events(record.clone());
    house.team.coordinate(request, RunOptions::new(), coordination).await
}

async fn done(_: CoordinatedContext) -> Result<TaskOutcome, CoordinationError> {
    Ok(TaskOutcome::completed("done"))
}

async fn never(_: CoordinatedContext) -> Result<TaskOutcome, CoordinationError> {
    std::future::pending().await
}

async fn obeys(ctx: CoordinatedContext) -> Result<TaskOutcome, CoordinationError> {
    ctx.scope().cancellation().cancelled().await;
    Ok(TaskOutcome::cancelled())
}

#[tokio::test(start_paused = true)]
async fn each_end_of_what_began_has_a_start_and_one_end() {
    let (house, record) = (house(), Record::new());
    let asks = || TaskOutcome::InputRequired {
        prompt: "which?".into(),
        request: None,
        resume: Some(ResumeToken::new(1, "here")),
        output: "so far".into(),
    };
    let fails = |_| async { Err(TaskError::new(ErrorCode::BudgetExhausted, "no more").into()) };
    let panics = |_| async { panic!("broken") };
    coordinate(&house, &record, task("fails"), fails).await.unwrap();
    coordinate(&house, &record, task("panics"), panics).await.unwrap();
    coordinate(&house, &record, task("obeys").with_timeout(ms(20)), obeys).await.unwrap();
    coordinate(&house, &record, task("pauses"), move |_| async move { Ok(asks()) }).await.unwrap();
    coordinate(&house, &record, task("blocks"), |_| async { Ok(TaskOutcome::blocked("no")) }).await.unwrap();
    coordinate(&house, &record, task("stops"), |_| async { Ok(TaskOutcome::cancelled()) }).await.unwrap();
    coordinate(&house, &record, task("done"), done).await.unwrap();
    let detached = coordinate(&house, &record, task("never").with_timeout(ms(20)), never).await.unwrap();
    assert!(detached.detached);

    let ends = [
        ("fails", TaskStatus::Failed, Some(ErrorCode::BudgetExhausted)),
        ("panics", TaskStatus::Failed, Some(ErrorCode::ExecutorPanicked)),
        ("obeys", TaskStatus::TimedOut, Some(ErrorCode::TimedOut)),
        ("pauses", TaskStatus::InputRequired, None),
        ("blocks", TaskStatus::Blocked, Some(ErrorCode::AgentBlocked)),
        ("stops", TaskStatus::Cancelled, Some(ErrorCode::Cancelled)),
        ("done", TaskStatus::Completed, None),
        ("never", TaskStatus::TimedOut, Some(ErrorCode::TimedOut)),
    ];
    let told = record.told();
    for (pair, (id, status, code)) in told.chunks(2).zip(ends) {
        let [start, end] = pair else { panic!("{id}: {pair:?}") };
        assert_eq!((&*start.task, &*end.task), (id, id));
        assert_eq!(
            (start.stage, start.attempt, start.status, start.code),
            (Started, 1, TaskStatus::Working, None)
        );
        assert_eq!((end.stage, end.attempt, end.status, end.code), (Ended, 1, status, code), "{id}");
    }
    assert_eq!(told.len(), 2 * ends.len());
    assert_eq!(house.events.names(), [""; 0], "it has words of its own only");
    assert_eq!(record.events.load(Ordering::Relaxed), 0, "there is no sink to make them for");
}

#[tokio::test(start_paused = true)]
async fn a_moment_says_whose_it_is_and_when() {
    let (house, record) = (house(), Record::new());
    let request = || task("t").with_trace_id("trace-1");
    for outcome in [Err(ErrorCode::ExecutionFailed), Ok(())] {
        let body = move |_| async move {
            sleep(ms(30)).await;
            outcome.map_err(|code| TaskError::new(code, "no"))?;
            Ok(TaskOutcome::completed("done"))
        };
        coordinate(&house, &record, request(), body).await.unwrap();
    }
    let told = |stage, attempt, status, code, elapsed| Told {
        stage,
        session: "s".into(),
        task: "t".into(),
        attempt,
        trace_id: Some("trace-1".into()),
        status,
        code,
        elapsed: ms(elapsed),
    };
    let expected = [
        told(Started, 1, TaskStatus::Working, None, 0),
        told(Ended, 1, TaskStatus::Failed, Some(ErrorCode::ExecutionFailed), 30),
        told(Started, 2, TaskStatus::Working, None, 0),
        told(Ended, 2, TaskStatus::Completed, None, 30),
    ];
    assert_eq!(record.told(), expected);

    coordinate(&house, &record, TaskRequest::new("x"), done).await.unwrap();
    let last = record.told().pop().unwrap();
    assert_eq!((last.trace_id, last.attempt), (None, 1));
    assert_ne!(last.session, "s");
}

#[tokio::test(start_paused = true)]
async fn the_start_is_told_before_the_body_is_called_and_the_end_after_it() {
    let (house, record) = (house(), Record::new());
    let seen = record.clone();
    let body = move |_| {
        assert_eq!(seen.ends(), [(Started, 1, TaskStatus::Working, None)]);
        async { Ok(TaskOutcome::completed("done")) }
    };
    assert!(coordinate(&house, &record, task("t"), body).await.unwrap().is_success());
    assert_eq!(record.told().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_or_stopped_before_it_begins_has_an_end_alone() {
    let (house, gate) = (
        House::built(registry([(agent("a"), ScriptedExecutor::echo())]), |builder| {
            builder.max_parallel_tasks(1)
        }),
        Gate::closed(),
    );
    let unasked = |_| async { panic!("not to be called") };

    let record = Record::new();
    let check = || Err(TaskError::new(ErrorCode::BudgetExhausted, "no"));
    let refused = Coordination::new(unasked).with_events(record.clone()).with_check(check);
    house.team.coordinate(task("t"), RunOptions::new(), refused).await.unwrap();
    assert_eq!(record.ends(), [(Ended, 0, TaskStatus::Blocked, Some(ErrorCode::BudgetExhausted))]);

    let record = Record::new();
    coordinate(&house, &record, TaskRequest::new("").in_session("s"), unasked).await.unwrap();
    assert_eq!(record.ends(), [(Ended, 0, TaskStatus::Blocked, Some(ErrorCode::InvalidRequest))]);

    let passing = gate.clone();
    let running = Coordination::new(move |_| async move {
        passing.pass().await;
        Ok(TaskOutcome::completed("done"))
    });
    let running = tokio::spawn(house.team.coordinate(task("t"), RunOptions::new(), running));
    gate.arrived(1).await;
    let record = Record::new();
    coordinate(&house, &record, task("t"), unasked).await.unwrap();
    assert_eq!(
        record.ends(),
        [(Ended, 0, TaskStatus::Blocked, Some(ErrorCode::InvalidRequest))],
        "it is active"
    );

    let record = Record::new();
    coordinate(&house, &record, task("in line").with_timeout(ms(20)), unasked).await.unwrap();
    assert_eq!(record.ends(), [(Ended, 1, TaskStatus::TimedOut, Some(ErrorCode::TimedOut))]);
    assert_eq!(record.told()[0].elapsed, ms(20));
    gate.open();
    assert!(running.await.unwrap().unwrap().is_success());

    let (record, token) = (Record::new(), CancellationToken::new());
    token.cancel();
    let stopped = Coordination::new(unasked).with_events(record.clone());
    let options = RunOptions::new().with_cancellation(token);
    house.team.coordinate(task("stopped"), options, stopped).await.unwrap();
    assert_eq!(record.ends(), [(Ended, 1, TaskStatus::Cancelled, Some(ErrorCode::Cancelled))]);

    let record = Record::new();
    let recorded = Coordination::new(unasked).with_events(record.clone());
    let options = RunOptions::new().with_if_completed(IfCompleted::Return);
    assert!(house.team.coordinate(task("t"), options, recorded).await.unwrap().is_success());
    assert_eq!(record.told(), [], "a recorded answer is nobody's end");
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn the_sink_gets_its_words_among_all_others() {
    let (memory, record) = (MemorySink::new(), Record::new());
    let house = House::built(registry([(agent("a"), ScriptedExecutor::echo())]), |builder| {
        builder.event_sink(memory.clone())
    });
    let body = |ctx: CoordinatedContext| async move {
        ctx.team().run(task("u")).await?;
        sleep(ms(30)).await;
        Ok(TaskOutcome::completed("done"))
    };
    assert!(coordinate(&house, &record, task("t"), body).await.unwrap().is_success());
    house.run(task("v")).await;
    let events = memory.events();
    let names: Vec<_> = events.iter().map(|event| (event.module, &*event.subject, event.name)).collect();
    let of_task = |id| ["submitted", "selected", "started", "completed"].map(|name| ("team", id, name));
    let expected: Vec<_> = [("vote", "t", "started")]
        .into_iter()
        .chain(of_task("u"))
        .chain([("vote", "t", "ended")])
        .chain(of_task("v"))
        .collect();
    assert_eq!(names, expected);
    let ids: HashSet<_> = events.iter().map(|event| &event.id).collect();
    assert_eq!(ids.len(), events.len());
    assert!(events.iter().all(|event| event.id.runtime() == events[0].id.runtime()));
    let (start, end) = (&events[0], &events[5]);
    assert_eq!((start.attempt, start.status, start.elapsed), (Some(1), Some("working"), Some(ms(0))));
    assert_eq!((end.attempt, end.status, end.elapsed), (Some(1), Some("completed"), Some(ms(30))));
    assert_eq!(end.unix_millis - start.unix_millis, 30);
    assert_eq!(record.events.load(Ordering::Relaxed), 2);
}

#[tokio::test(start_paused = true)]
async fn a_sink_gets_nothing_of_one_that_tells_nothing() {
    let memory = MemorySink::new();
    let house = House::built(registry([(agent("a"), ScriptedExecutor::echo())]), |builder| {
        builder.event_sink(memory.clone())
    });
    house.team.coordinate(task("t"), RunOptions::new(), Coordination::new(done)).await.unwrap();
    assert!(memory.is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_is_not_taken_is_counted_and_costs_the_work_nothing() {
    let quiet = || house();
    let with_sink = || {
        House::built(registry([(agent("a"), ScriptedExecutor::echo())]), |builder| {
            builder.event_sink(MemorySink::new())
        })
    };
    let with_failing_sink = |sink: FailingSink| {
        House::built(registry([(agent("a"), ScriptedExecutor::echo())]), |builder| builder.event_sink(sink))
    };
    let cases = [
        (quiet(), Mood::Well, 0),
        (quiet(), Mood::Refuses, 2),
        (quiet(), Mood::Panics, 2),
        (quiet(), Mood::RefusesTheEnd, 1),
        (quiet(), Mood::NoEvent, 0),
        (with_sink(), Mood::Refuses, 2),
        (with_sink(), Mood::NoEvent, 2),
        (with_failing_sink(FailingSink::always()), Mood::Well, 2),
        (with_failing_sink(FailingSink::always().panicking()), Mood::Refuses, 4),
        (with_failing_sink(FailingSink::after(1)), Mood::RefusesTheEnd, 2),
    ];
    for (house, mood, failures) in cases {
        let record = Record::of(mood);
        let report = coordinate(&house, &record, task("t"), done).await.unwrap();
        assert_end(&report, TaskStatus::Completed, None);
        assert_eq!((report.telemetry_errors, record.told().len()), (failures, 2), "{mood:?}");
        assert_eq!(house.team.stats().telemetry_errors, u64::from(failures), "{mood:?}");
    }
}

fn propagating() -> House {
    House::built(registry([(agent("a"), ScriptedExecutor::echo())]), |builder| {
        builder.telemetry_failures(TelemetryFailures::Propagate)
    })
}

#[track_caller]
fn kept_report(answer: Answer) -> TaskReport {
    let Err(TeamError::Telemetry { report }) = answer else { panic!("{answer:?}") };
    *report
}

#[tokio::test(start_paused = true)]
async fn where_failures_are_propagated_nothing_begins_whose_start_was_not_taken() {
    for mood in [Mood::Refuses, Mood::Panics] {
        let (house, record, called) = (propagating(), Record::of(mood), Arc::new(AtomicUsize::new(0)));
        for attempt in 1..3 {
            let calls = Arc::clone(&called);
            let body = move |_| {
                calls.fetch_add(1, Ordering::Relaxed);
                async { Ok(TaskOutcome::completed("done")) }
            };
            let report = kept_report(coordinate(&house, &record, task("t"), body).await);
            assert_end(&report, TaskStatus::Failed, ErrorCode::ExecutionFailed);
            assert!(report.error.unwrap().message().contains("telemetry"));
            assert_eq!((report.attempt, report.telemetry_errors), (attempt, 2));
            house.assert_rest();
        }
        assert_eq!(called.load(Ordering::Relaxed), 0);
        let failed = |attempt| (Ended, attempt, TaskStatus::Failed, Some(ErrorCode::ExecutionFailed));
        let working = |attempt| (Started, attempt, TaskStatus::Working, None);
        assert_eq!(record.ends(), [working(1), failed(1), working(2), failed(2)]);
        assert_eq!(house.record("s", "t").status, TaskStatus::Failed);
    }
}

#[tokio::test(start_paused = true)]
async fn an_end_that_is_not_taken_is_propagated_with_what_was_committed() {
    let (house, record) = (propagating(), Record::of(Mood::RefusesTheEnd));
    let report = kept_report(coordinate(&house, &record, task("t"), done).await);
    assert_end(&report, TaskStatus::Completed, None);
    assert_eq!((report.text(), report.telemetry_errors), ("done", 1));
    assert_eq!(house.record("s", "t").status, TaskStatus::Completed);

    let refused = Coordination::new(done)
        .with_check(|| Err(TaskError::new(ErrorCode::InvalidRequest, "no")))
        .with_events(record.clone());
    let report = kept_report(house.team.coordinate(task("u"), RunOptions::new(), refused).await);
    assert_end(&report, TaskStatus::Blocked, ErrorCode::InvalidRequest);
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn one_whose_caller_is_gone_tells_its_end_once() {
    let (house, record) = (house(), Record::new());
    for (id, body) in [("obeys", true), ("never", false)] {
        let coordination = if body { Coordination::new(obeys) } else { Coordination::new(never) };
        let run =
            house.team.coordinate(task(id), RunOptions::new(), coordination.with_events(record.clone()));
        let run = tokio::spawn(run);
        settle().await;
        run.abort();
        sleep(ms(200)).await;
        let cancelled = (Ended, 1, TaskStatus::Cancelled, Some(ErrorCode::Cancelled));
        assert_eq!(record.ends(), [(Started, 1, TaskStatus::Working, None), cancelled], "{id}");
        record.told.lock().clear();
    }
    assert_eq!(house.team.stats().detached, 1);
}

#[tokio::test(start_paused = true)]
async fn detached_work_tells_its_end_when_its_caller_has_it_and_the_observer_hears_of_the_rest() {
    let (house, record, gate) = (house(), Record::new(), Gate::closed());
    let passing = gate.clone();
    let body = move |_| async move {
        passing.pass().await;
        Ok(TaskOutcome::completed("late"))
    };
    let report = coordinate(&house, &record, task("t").with_timeout(ms(20)), body).await.unwrap();
    assert!(report.detached);
    let told = record.told();
    assert_eq!((told.len(), told[1].elapsed), (2, ms(70)));
    gate.open();
    house.events.seen(TeamEventKind::DetachedEnded, 1).await;
    assert_eq!((record.told().len(), house.events.names()), (2, vec!["detached_ended"]));
    house.assert_rest();
}

#[test]
fn where_the_tokio_runtime_ends_midway_the_end_is_told_once() {
    let record = Record::new();
    let house = House::built(registry([(agent("a"), ScriptedExecutor::echo())]), |builder| {
        builder.max_parallel_tasks(1)
    });
    let tokio =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    tokio.block_on(async {
        for id in ["running", "in line"] {
            let coordination = Coordination::new(never).with_events(record.clone());
            drop(tokio::spawn(house.team.coordinate(task(id), RunOptions::new(), coordination)));
            settle().await;
        }
    });
    drop(tokio);
    let told = |id: &str| -> Vec<_> {
        let told = record.told().into_iter().filter(|told| told.task == id);
        told.map(|told| (told.stage, told.attempt, told.status, told.code)).collect()
    };
    let failed = (Ended, 1, TaskStatus::Failed, Some(ErrorCode::ExecutionFailed));
    assert_eq!(told("running"), [(Started, 1, TaskStatus::Working, None), failed]);
    assert_eq!(told("in line"), [failed]);
    house.assert_rest();
}
