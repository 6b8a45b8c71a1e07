//! Journals that do not take everything.

use convoke_core::{JournalError, JournalErrorKind};
use convoke_journal::MemoryJournal;
use convoke_planning::{FunctionStepExecutor, PlanPolicy, PlanRunner, machine::StopReason};
use convoke_testkit::{HookedJournal, JournalCall, JournalMoment, go_on};

use super::support::{Script, with};
use crate::fixtures::{plan, step};

#[tokio::test(start_paused = true)]
async fn a_snapshot_that_the_journal_does_not_take_is_done_without() {
    let journal = HookedJournal::new(MemoryJournal::new(), |call, moment| match (call, moment) {
        (JournalCall::Compact, JournalMoment::Before) => Box::pin(async {
            Err(JournalError::of_journal(
                JournalErrorKind::TooLarge,
                "takes no snapshot of that size; split it",
            ))
        }),
        _ => go_on(),
    });
    let executor = FunctionStepExecutor::new(|_, _| async { Ok("x".repeat(1 << 20)) });
    let runner = PlanRunner::builder().executor(executor).journal(journal).build().unwrap();
    let run = runner.run_plan(plan((0..6).map(|n| step(format!("s{n}"))))).await.unwrap();
    assert_eq!((run.stop, run.error), (StopReason::Completed, None));
}

#[tokio::test(start_paused = true)]
async fn a_plan_that_was_not_deleted_is_free() {
    let memory = MemoryJournal::new();
    let journal = HookedJournal::new(memory.clone(), |call, moment| match (call, moment) {
        (JournalCall::Delete, JournalMoment::Before) => Box::pin(async {
            Err(JournalError::of_journal(JournalErrorKind::Io, "does not answer; try again"))
        }),
        _ => go_on(),
    });
    let runner = with(&Script::new(), PlanPolicy::default(), |builder| builder.journal(journal));
    runner.run_plan(plan([step("a")])).await.unwrap();
    let id = "plan".try_into().unwrap();
    assert!(runner.delete(&id).await.is_err());
    let other = with(&Script::new(), PlanPolicy::default(), |builder| builder.journal(memory));
    assert_eq!(other.resume(&id).await.unwrap().stop, StopReason::Completed);
}
