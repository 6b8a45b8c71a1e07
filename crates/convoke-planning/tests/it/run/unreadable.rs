//! What cannot be read, or says nothing.

use convoke_core::{Journal as _, LogId, PlanId};
use convoke_journal::MemoryJournal;
use convoke_planning::{
    BoxError, FunctionPlanner, FunctionStepExecutor, Observation, Plan, PlanDraft, PlanError, PlanPolicy,
    PlanRunner, PlanningRequest, RunOptions, StepStatus, machine::StopReason,
};

use super::support::{Act, Script, policy, with};
use crate::fixtures::{draft, plan, step};

fn id() -> PlanId {
    PlanId::new("plan").unwrap()
}

/// A value that nests so deep.
fn deep(levels: usize) -> serde_json::Value {
    (0..levels).fold(serde_json::Value::Null, |inner, _| serde_json::Value::Array(vec![inner]))
}

#[tokio::test(start_paused = true)]
async fn what_nests_too_deeply_to_be_read_again_is_not_kept() {
    let (script, journal) = (Script::new().with("s1", [Act::Asks]), MemoryJournal::new());
    let executor = FunctionStepExecutor::new(|_, ctx| async move {
        let mut output = convoke_core::TaskOutput::text("deep");
        output.data = Some(deep(if ctx.attempt() == 1 { 97 } else { 96 }));
        Ok(output)
    });
    let policy = policy(|policy| policy.max_attempts(2).backoff(convoke_planning::Backoff::none()));
    let flat = PlanRunner::builder()
        .executor(executor)
        .policy(policy.clone())
        .journal(journal.clone())
        .build()
        .unwrap();
    let run = flat.run_plan(plan([step("s0")])).await.unwrap();
    assert_eq!((run.stop, run.step("s0").unwrap().attempts), (StopReason::Completed, 2));
    assert_eq!(flat.status(&id()).await.unwrap().stop, Some(StopReason::Completed));
    flat.delete(&id()).await.unwrap();

    let asks = with(&script, policy, |builder| builder.journal(journal.clone()));
    assert_eq!(
        asks.run_plan(plan([step("s0"), step("s1").after("s0")])).await.unwrap().stop,
        StopReason::ApprovalRequired
    );
    let start = asks.status(&id()).await.unwrap().starts;
    assert!(asks.answer(&id(), start, deep(200)).await.is_err());
    let handle = asks.start(id(), RunOptions::new());
    let refused = handle.answer(start, deep(200)).await.unwrap_err();
    assert!(matches!(refused, PlanError::TooDeep), "{refused:?}");
    handle.await.unwrap();
    asks.answer(&id(), start, "flat").await.unwrap();
    assert_eq!(asks.resume(&id()).await.unwrap().stop, StopReason::Completed);
}

#[tokio::test(start_paused = true)]
async fn signals_that_say_nothing_do_not_pile_up() {
    let (script, journal) = (Script::new(), MemoryJournal::new());
    let runner = with(&script, PlanPolicy::default(), |builder| builder.journal(journal.clone()));
    let run = runner.run_plan(plan([step("s0").gated()])).await.unwrap();
    for n in 0..1_024 {
        let id = convoke_core::SignalId::new(format!("garbage-{n}")).unwrap();
        journal
            .signal(&LogId::new("plan/plan").unwrap(), convoke_core::Signal::new(id, "garbage"))
            .await
            .unwrap();
    }
    assert_eq!(runner.resume(&id()).await.unwrap().stop, StopReason::ApprovalRequired);
    let convoke_planning::machine::PendingKind::Approval { request } = run.pending[0].kind else {
        panic!("{run:?}")
    };
    runner.approve(&id(), request, convoke_core::Metadata::new()).await.unwrap();
    assert_eq!(runner.resume(&id()).await.unwrap().stop, StopReason::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_revision_that_could_not_be_read_is_not_written() {
    let (script, journal) = (Script::new().with("s0", [Act::Fails]), MemoryJournal::new());
    let planner =
        FunctionPlanner::new(|_: PlanningRequest| async { Err::<PlanDraft, BoxError>("no".into()) })
            .revising(|_: Plan, _: Observation| async {
                Ok(draft([step("s1").with_metadata("deep", deep(126))]))
            });
    let runner = with(&script, policy(|policy| policy.replanning(1)), |builder| {
        builder.journal(journal.clone()).planner(planner)
    });
    let run = runner.run_plan(plan([step("s0")])).await.unwrap();
    assert_eq!((run.stop, script.starts("s1")), (StopReason::StoreFailed, 0));
    assert!(run.error.unwrap().message.contains("nests deeper"));
    assert_eq!(runner.status(&id()).await.unwrap().status("s0"), Some(StepStatus::Failed));
}
