//! Sessions in a journal: what a report says where that fails, and what the next process finds.

mod processes;
mod stalled;

use std::time::Duration;

use convoke_core::{ErrorCode, Journal, TaskOutcome, TaskRequest, TaskStatus};
use convoke_journal::{FileJournal, MemoryJournal};
use convoke_registry::{Coordination, FunctionExecutor, RunOptions};
use convoke_session::{IfCompleted, SessionSnapshot, StoreErrorKind};
use convoke_team::{BuildError, SessionAdminError, TeamEventKind, TeamRuntime};
use convoke_testkit::{FaultyJournal, Gate, JournalFault, ScriptedExecutor, Step};
use stalled::Stall;
use tokio::time::Instant;

use crate::house::{House, agent, assert_end, assert_events, ms, registry, settle, task};

type Faulty = FaultyJournal<MemoryJournal>;

fn house(journal: impl Journal, executor: ScriptedExecutor) -> House {
    let agents = registry([(agent("a").with_max_concurrency(4), executor)]);
    House::built(agents, |builder| builder.journal(journal))
}

/// The runtime has ended, and so has what it had of the journal.
async fn end(house: House) {
    drop(house);
    settle().await;
}

/// What another runtime finds in the session.
async fn found(journal: impl Journal) -> SessionSnapshot {
    let house = house(journal, ScriptedExecutor::echo());
    let snapshot = house.team.open_session("s").await.unwrap().snapshot();
    end(house).await;
    snapshot
}

fn status(snapshot: &SessionSnapshot, id: &str) -> (TaskStatus, u32, Option<ErrorCode>) {
    let record = snapshot.task(&id.parse().unwrap()).unwrap();
    (record.status, record.attempt, record.report.as_ref().and_then(|report| report.code()))
}

fn texts(snapshot: &SessionSnapshot) -> Vec<&str> {
    snapshot.messages().map(|message| message.message.text.as_str()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_named_session_outlives_its_runtime_and_an_unnamed_one_is_in_no_journal() {
    let journal = MemoryJournal::new();
    let first = house(journal.clone(), ScriptedExecutor::echo());
    let report = first.run(task("t")).await;
    assert_end(&report, TaskStatus::Completed, None);
    first.run(TaskRequest::new("unnamed")).await;
    assert_events(&first);
    let logs: Vec<_> = journal.list("").await.unwrap();
    assert_eq!(logs.iter().map(AsRef::as_ref).collect::<Vec<&str>>(), ["session/s"]);
    assert_eq!(first.team.stats().sessions, 1);
    end(first).await;

    let second = house(journal, ScriptedExecutor::new([]));
    let options = RunOptions::new().with_if_completed(IfCompleted::Return);
    assert_eq!(second.run_with(task("t"), options).await, report);
    assert_end(&second.run(task("t")).await, TaskStatus::Blocked, ErrorCode::InvalidRequest);
}

#[tokio::test(start_paused = true)]
async fn while_its_owner_lives_nobody_else_gets_a_session() {
    let journal = MemoryJournal::new();
    let (first, second) =
        (house(journal.clone(), ScriptedExecutor::echo()), house(journal, ScriptedExecutor::echo()));
    first.run(task("t")).await;
    tokio::time::sleep(Duration::from_mins(5)).await;
    let refused = second.run(task("u")).await;
    assert_end(&refused, TaskStatus::Blocked, ErrorCode::StoreFailed);
    assert_eq!(refused.attempt, 0);
    let text = refused.error.unwrap().message().to_owned();
    assert_eq!(text, "session `s` is owned by another; use it there, or try again when that has ended");
    let refused = second.team.open_session("s").await.unwrap_err();
    assert!(matches!(refused, SessionAdminError::Store(error) if error.kind() == StoreErrorKind::Claimed));

    first.team.remove_session("s").unwrap();
    settle().await;
    assert_end(&second.run(task("u")).await, TaskStatus::Completed, None);
    assert_end(&first.run(task("v")).await, TaskStatus::Blocked, ErrorCode::StoreFailed);
}

#[test]
fn a_process_that_is_gone_leaves_its_work_interrupted() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let open = |executor| async { house(FileJournal::open(folder.path()).await.unwrap(), executor) };
    let (gone, gate) = (runtime(), Gate::closed());
    let first = gone.block_on(async {
        let first = open(ScriptedExecutor::new([Step::reply("never").after(&gate)])).await;
        drop(first.team.spawn(task("t")));
        gate.arrived(1).await;
        let second = open(ScriptedExecutor::echo()).await;
        assert_end(&second.run(task("t")).await, TaskStatus::Blocked, ErrorCode::StoreFailed);
        first
    });
    // Nothing of it runs any more, and nothing of it was told.
    drop(gone);
    drop(first);

    runtime().block_on(async {
        let second = open(ScriptedExecutor::new([Step::reply("done")])).await;
        let loaded = second.team.open_session("s").await.unwrap().snapshot();
        assert_eq!(status(&loaded, "t"), (TaskStatus::Failed, 1, Some(ErrorCode::Interrupted)));
        let report = second.run(task("t")).await;
        assert_eq!((report.status, report.attempt, report.text()), (TaskStatus::Completed, 2, "done"));
    });
}

/// The writes of a run in a session that is there: 0 is the admission, 1 the start, 2 the settlement.
async fn run_with(write: u64, fault: JournalFault) -> (Faulty, House, convoke_core::TaskReport) {
    let journal = Faulty::new(MemoryJournal::new()).failing(write, fault);
    let house = house(journal.clone(), ScriptedExecutor::new([Step::reply("one"), Step::reply("two")]));
    let report = house.run(task("t")).await;
    house.assert_rest();
    (journal, house, report)
}

#[tokio::test(start_paused = true)]
async fn an_admission_that_is_not_recorded_is_refused() {
    let (_, house, report) = run_with(0, JournalFault::Before).await;
    assert_end(&report, TaskStatus::Blocked, ErrorCode::StoreFailed);
    assert_eq!((report.attempt, report.output.clone()), (0, None));
    let next = house.run(task("t")).await;
    assert_eq!((next.status, next.attempt, next.text()), (TaskStatus::Completed, 1, "one"));
}

#[tokio::test(start_paused = true)]
async fn a_start_that_is_not_recorded_begins_nothing() {
    for fault in [JournalFault::Before, JournalFault::After, JournalFault::Poison] {
        let (_, house, report) = run_with(1, fault).await;
        let names: Vec<_> = house.events.events().iter().map(|event| event.kind.as_str()).collect();
        assert_eq!(names, ["submitted", "selected", "failed"]);
        assert_end(&report, TaskStatus::Failed, ErrorCode::StoreFailed);
        assert_eq!((report.attempt, report.output.clone()), (1, None));
        let next = house.run(task("t")).await;
        assert_eq!((next.status, next.attempt, next.text()), (TaskStatus::Completed, 2, "one"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_settlement_that_is_not_recorded_is_a_failure_with_its_output() {
    for fault in [JournalFault::Before, JournalFault::Poison] {
        let (journal, house, report) = run_with(2, fault).await;
        assert_events(&house);
        assert_end(&report, TaskStatus::Failed, ErrorCode::StoreFailed);
        assert_eq!(report.text(), "one");
        let next = house.run(task("t")).await;
        assert_eq!((next.status, next.attempt, next.text()), (TaskStatus::Completed, 2, "two"));
        end(house).await;
        assert_eq!(texts(&found(journal).await), ["do it", "do it", "two"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_settlement_that_was_recorded_although_it_failed_stays_in_the_record_alone() {
    let (journal, house, report) = run_with(2, JournalFault::After).await;
    assert_end(&report, TaskStatus::Failed, ErrorCode::StoreFailed);
    assert_eq!(report.text(), "one");
    assert_end(&house.run(task("t")).await, TaskStatus::Blocked, ErrorCode::InvalidRequest);
    let options = RunOptions::new().with_if_completed(IfCompleted::Return);
    assert_eq!(house.run_with(task("t"), options).await.text(), "one");
    end(house).await;
    let found = found(journal).await;
    assert_eq!(status(&found, "t"), (TaskStatus::Completed, 1, None));
    assert_eq!(texts(&found), ["do it", "one"]);
}

#[tokio::test(start_paused = true)]
async fn whichever_append_fails_report_and_record_agree_or_the_report_says_so() {
    for fault in [JournalFault::Before, JournalFault::After, JournalFault::Poison] {
        for write in 0..16 {
            let journal = Faulty::new(MemoryJournal::new()).failing(write, fault);
            let steps =
                [Step::pause("which?"), Step::reply("done"), Step::reply("again"), Step::reply("and")];
            let house = house(journal.clone(), ScriptedExecutor::new(steps));
            let mut failures = 0;
            for round in 0..2 {
                let mut report = house.run(task("t")).await;
                if let Some(answer) = report.answering("this") {
                    report = house.run(answer).await;
                }
                let seen = house.team.session("s").unwrap();
                _ = seen.set("round", round.into()).await;
                let seen = seen.snapshot();
                if report.code() == Some(ErrorCode::StoreFailed) {
                    failures += 1;
                } else if report.attempt > 0 {
                    assert_eq!(status(&seen, "t").0, report.status, "{write} {fault:?}");
                }
                let outputs = texts(&seen);
                for text in ["done", "again", "and"] {
                    assert!(outputs.iter().filter(|output| **output == text).count() <= 1, "{outputs:?}");
                }
            }
            assert!(failures <= 1, "{write} {fault:?}");
            let before = house.team.session("s").unwrap().snapshot();
            end(house).await;
            let after = found(journal).await;
            assert_eq!(texts(&after), texts(&before), "{write} {fault:?}");
            assert_eq!(status(&after, "t"), status(&before, "t"), "{write} {fault:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_journal_that_does_not_answer_holds_a_report_up_no_longer_than_it_may() {
    let stall = Stall::default();
    let gate = Gate::closed();
    let steps = [Step::reply("one").after(&gate), Step::reply("two")];
    let agents = registry([(agent("a"), ScriptedExecutor::new(steps))]);
    let house = House::built(agents, |builder| {
        builder.journal(stall.journal()).settle_timeout(Duration::from_secs(2))
    });
    let run = house.team.spawn(task("t"));
    gate.arrived(1).await;
    stall.set(true);
    gate.open();
    let began = Instant::now();
    let report = run.await.unwrap();
    assert_end(&report, TaskStatus::Failed, ErrorCode::StoreFailed);
    assert_eq!((report.text(), began.elapsed()), ("one", Duration::from_secs(2)));
    house.assert_rest();
    let began = Instant::now();
    assert_end(&house.run(task("t")).await, TaskStatus::Blocked, ErrorCode::StoreFailed);
    assert_eq!(began.elapsed(), Duration::from_secs(2), "it waits for what is under way, and no longer");

    // It had been written.
    stall.set(false);
    assert_end(&house.run(task("t")).await, TaskStatus::Blocked, ErrorCode::InvalidRequest);
    assert_eq!(house.record("s", "t").report.unwrap().text(), "one");
}

#[tokio::test(start_paused = true)]
async fn a_session_that_another_took_is_loaded_anew() {
    let journal = MemoryJournal::new();
    let first = house(journal.clone(), ScriptedExecutor::echo());
    first.run(task("t")).await;
    // Its claim was taken while it could not renew it.
    let log = "session/s".parse().unwrap();
    let contents = journal.read(&log, convoke_core::ReadFrom::Latest).await.unwrap();
    for token in 1..9 {
        journal.abandon(&log, convoke_core::FencingToken::new(token));
    }
    let second = house(journal.clone(), ScriptedExecutor::echo());
    second.run(task("u")).await;
    assert_end(&first.run(task("v")).await, TaskStatus::Blocked, ErrorCode::StoreFailed);
    assert_end(&first.run(task("v")).await, TaskStatus::Blocked, ErrorCode::StoreFailed);
    end(second).await;
    assert_end(&first.run(task("v")).await, TaskStatus::Completed, None);
    assert_eq!(first.team.session("s").unwrap().snapshot().tasks().len(), 3);
    assert!(!contents.records.is_empty());
}

#[tokio::test(start_paused = true)]
async fn detached_work_is_told_of_after_its_attempt_and_its_late_report_is_recorded() {
    let journal = MemoryJournal::new();
    let steps = [Step::reply("late").after_delay(ms(500))];
    let first = house(journal.clone(), ScriptedExecutor::new(steps));
    let report = first.run(task("t").with_timeout(ms(20))).await;
    assert_eq!((report.status, report.detached), (TaskStatus::TimedOut, true));
    assert!(first.record("s", "t").detached);
    first.events.seen(TeamEventKind::DetachedEnded, 1).await;
    assert_events(&first);
    settle().await;
    end(first).await;
    let found = found(journal).await;
    let record = found.task(&"t".parse().unwrap()).unwrap();
    assert_eq!(record.late.as_ref().map(|late| late.text()), Some("late"));
}

#[tokio::test(start_paused = true)]
async fn nested_and_parallel_work_is_recorded_with_its_session() {
    let journal = MemoryJournal::new();
    let agents =
        registry([(agent("child").with_skill("child").with_max_concurrency(4), ScriptedExecutor::echo())]);
    let parent = FunctionExecutor::new(|_request, ctx: convoke_registry::ExecutionContext| async move {
        ctx.session().set("seen", 1.into()).await?;
        let report = ctx.team().run(TaskRequest::new("nested").with_id("child").requiring("child")).await?;
        Ok(report.text().to_owned())
    });
    agents.add(agent("parent").with_skill("parent"), parent).unwrap();
    let house = House::built(agents, |builder| builder.journal(journal.clone()).max_parallel_tasks(4));
    let report = house.run(task("parent").requiring("parent")).await;
    assert_eq!((report.status, report.text()), (TaskStatus::Completed, "nested"));
    let many = (0..8).map(|number| task(&format!("t{number}")).requiring("child"));
    for report in house.team.run_parallel(many).await {
        assert_end(&report.unwrap(), TaskStatus::Completed, None);
    }
    house.assert_rest();
    end(house).await;
    let found = found(journal).await;
    assert_eq!((found.tasks().len(), found.activity().is_idle()), (10, true));
    assert!(found.state("seen").is_some());
}

#[tokio::test(start_paused = true)]
async fn a_host_opens_reads_and_deletes_sessions() {
    let journal = MemoryJournal::new();
    let house = house(journal.clone(), ScriptedExecutor::echo());
    let refused = house.team.create_session("s").unwrap_err();
    assert_eq!(refused.to_string(), "session `s` is kept in the journal of the runtime; use `open_session`");
    let session = house.team.open_session("s").await.unwrap();
    session.set("k", 1.into()).await.unwrap();
    assert_eq!(house.team.open_session("s").await.unwrap().snapshot().revision(), 1);
    house.run(task("t")).await;
    house.team.delete_session(session.id()).await.unwrap();
    assert!(session.set("k", 2.into()).await.is_err());
    assert!(journal.list("").await.unwrap().is_empty());
    house.team.delete_session(session.id()).await.unwrap();
    assert_eq!(house.run(task("t")).await.attempt, 1, "a new one of the same name");
}

#[tokio::test(start_paused = true)]
async fn a_stop_and_the_number_of_sessions_hold_for_what_is_loaded_too() {
    let stall = Stall::default();
    let agents = registry([(agent("a"), ScriptedExecutor::echo())]);
    let house = House::built(agents, |builder| builder.journal(stall.journal()).max_sessions(1));
    stall.set(true);
    let began = Instant::now();
    let report = house.run(task("t").with_timeout(ms(20))).await;
    assert_end(&report, TaskStatus::TimedOut, ErrorCode::TimedOut);
    assert_eq!((report.attempt, began.elapsed()), (0, ms(20)));
    stall.set(false);
    assert_end(&house.run(task("t")).await, TaskStatus::Completed, None);
    let report = house.run(TaskRequest::new("x").in_session("other")).await;
    assert_end(&report, TaskStatus::Blocked, ErrorCode::SessionFull);
}

#[test]
fn a_journal_is_given_time() {
    let builder = TeamRuntime::builder(convoke_registry::AgentRegistry::new());
    let refused = builder.settle_timeout(Duration::ZERO).build().unwrap_err();
    assert_eq!(refused, BuildError::ZeroSettleTimeout);
    assert_eq!(refused.to_string(), "`settle_timeout` is 0; give the journal time to answer");
}

#[tokio::test(start_paused = true)]
async fn a_coordinated_task_waits_for_the_journal_as_any_other() {
    for (write, attempt) in [(0, 0), (1, 1), (2, 1)] {
        let journal = Faulty::new(MemoryJournal::new()).failing(write, JournalFault::Before);
        let house = house(journal.clone(), ScriptedExecutor::echo());
        let vote = || {
            let body = |_| async { Ok(TaskOutcome::completed("yes")) };
            house.team.coordinate(task("t"), RunOptions::new(), Coordination::new(body))
        };
        let report = vote().await.unwrap();
        assert_eq!((report.code(), report.attempt), (Some(ErrorCode::StoreFailed), attempt));
        // It tells of itself, and here of nothing.
        assert!(house.events.events().is_empty());
        let report = vote().await.unwrap();
        assert_eq!((report.status, report.attempt), (TaskStatus::Completed, attempt + 1));
        end(house).await;
        assert_eq!(texts(&found(journal).await), ["yes"]);
    }
    let journal = MemoryJournal::new();
    let owner = house(journal.clone(), ScriptedExecutor::echo());
    owner.run(task("t")).await;
    let house = house(journal, ScriptedExecutor::echo());
    let body = |_| async { Ok(TaskOutcome::completed("yes")) };
    let refused = house.team.coordinate(task("u"), RunOptions::new(), Coordination::new(body)).await.unwrap();
    assert_end(&refused, TaskStatus::Blocked, ErrorCode::StoreFailed);
    assert!(house.events.events().is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_ends_while_the_log_cannot_be_read_is_recorded_once_it_can() {
    let stall = Stall::default();
    let (first, second) = (Gate::closed(), Gate::closed());
    let steps = [Step::reply("one").after(&first), Step::reply("two").after(&second)];
    let house = house(stall.journal(), ScriptedExecutor::new(steps));
    let one = house.team.spawn(task("one"));
    first.arrived(1).await;
    let two = house.team.spawn(task("two"));
    second.arrived(1).await;
    stall.set(true);
    first.open();
    assert_end(&one.await.unwrap(), TaskStatus::Failed, ErrorCode::StoreFailed);
    second.open();
    let report = two.await.unwrap();
    assert_eq!((report.code(), report.text()), (Some(ErrorCode::StoreFailed), "two"));
    stall.set(false);
    house.team.session("s").unwrap().set("k", 1.into()).await.unwrap();
    assert_eq!(house.record("s", "one").status, TaskStatus::Completed);
    let record = house.record("s", "two");
    assert_eq!((record.status, record.report.unwrap().text()), (TaskStatus::Failed, "two"));
}
