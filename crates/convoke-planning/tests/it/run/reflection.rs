//! Outputs that somebody looks at.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use convoke_planning::{
    BoxError, PlanPolicy, Review, StepStatus,
    machine::{Finding, StepErrorCode, StopReason},
};

use super::support::{Script, policy, with};
use crate::fixtures::{plan, step};

#[tokio::test(start_paused = true)]
async fn a_rejected_output_is_made_anew_under_another_key() {
    let script = Script::new();
    let runner = with(&script, policy(|policy| policy.max_attempts(2)), |builder| {
        builder.reflector(|review: Review| async move {
            Ok::<_, BoxError>(match review.attempt {
                1 => Finding::Retry("shorter".to_owned()),
                _ => Finding::Pass,
            })
        })
    });
    let run = runner.run_plan(plan([step("a")])).await.unwrap();
    assert_eq!(run.stop, StopReason::Completed);
    let seen: Vec<_> = script.seen().into_iter().map(|seen| (seen.key, seen.note)).collect();
    assert_eq!(seen, [("plan/a/0".to_owned(), None), ("plan/a/1".to_owned(), Some("shorter".to_owned()))]);
}

#[tokio::test(start_paused = true)]
async fn a_finding_changes_or_blocks_an_output() {
    let script = Script::new();
    let runner =
        with(&script, policy(convoke_planning::PlanPolicyBuilder::continue_after_failure), |builder| {
            builder.reflector(|review: Review| async move {
                Ok::<_, BoxError>(match review.step().id.as_str() {
                    "a" => Finding::Revise("better".to_owned()),
                    _ => Finding::Block("wrong".to_owned()),
                })
            })
        });
    let run = runner.run_plan(plan([step("a"), step("b")])).await.unwrap();
    assert_eq!(run.text("a"), Some("better"));
    assert_eq!(run.step("a").unwrap().finding, Some(Finding::Revise("better".to_owned())));
    let blocked = run.step("b").unwrap();
    assert_eq!(
        (blocked.status, blocked.error.as_ref().unwrap().code),
        (StepStatus::Blocked, StepErrorCode::Rejected)
    );
}

#[tokio::test(start_paused = true)]
async fn those_who_wait_start_after_the_review() {
    let script = Script::new();
    let seen = script.clone();
    let reviewed = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&reviewed);
    let runner = with(&script, PlanPolicy::default(), |builder| {
        builder.reflector(move |_: Review| {
            let started = seen.starts("b");
            let first = count.fetch_add(1, Ordering::Relaxed) == 0;
            async move {
                if first && started > 0 {
                    Err::<Finding, BoxError>("too early".into())
                } else {
                    Ok(Finding::Pass)
                }
            }
        })
    });
    let run = runner.run_plan(plan([step("a"), step("b").after("a")])).await.unwrap();
    assert_eq!((run.stop, reviewed.load(Ordering::Relaxed)), (StopReason::Completed, 2));
}

#[tokio::test(start_paused = true)]
async fn an_output_that_nobody_could_look_at_does_not_pass() {
    let runner = with(&Script::new(), PlanPolicy::default(), |builder| {
        builder.reflector(|_: Review| async { Err::<Finding, BoxError>("reader is ill".into()) })
    });
    let run = runner.run_plan(plan([step("a")])).await.unwrap();
    let error = run.step("a").unwrap().error.clone().unwrap();
    assert_eq!(
        (run.stop, error.message.as_str()),
        (StopReason::Blocked, "reflector gave no finding: reader is ill")
    );
}
