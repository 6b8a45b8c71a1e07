//! What becomes of steps that fail.

use convoke_core::{Artifact, TaskOutput};
use convoke_planning::{
    BoxError, FunctionStepExecutor, PlanRunner, Review, StepStatus,
    machine::{Finding, StepErrorCode, StopReason},
};
use tokio::time::Instant;

use super::support::{Act, Script, ms, policy, runner};
use crate::fixtures::{plan, step};

#[tokio::test(start_paused = true)]
async fn a_step_is_tried_again_under_the_same_key() {
    let script = Script::new().with("a", [Act::Fails, Act::Done]);
    let run =
        runner(&script, policy(|policy| policy.max_attempts(2))).run_plan(plan([step("a")])).await.unwrap();

    assert_eq!((run.stop, run.step("a").unwrap().attempts), (StopReason::Completed, 2));
    let keys: Vec<_> = script.seen().into_iter().map(|seen| (seen.attempt, seen.key)).collect();
    assert_eq!(keys, [(1, "plan/a/0".to_owned()), (2, "plan/a/0".to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn a_failure_says_what_its_executor_said() {
    let script = Script::new().with("a", [Act::Fails]).with("b", [Act::Panics]);
    let run = runner(&script, policy(convoke_planning::PlanPolicyBuilder::continue_after_failure))
        .run_plan(plan([step("a"), step("b")]))
        .await
        .unwrap();

    let error = |id| run.step(id).unwrap().error.clone().unwrap();
    assert_eq!(error("a").code, StepErrorCode::ExecutionFailed);
    assert_eq!(error("a").message, "executor returned an error: a is broken");
    assert_eq!(error("b").code, StepErrorCode::ExecutorPanicked);
    assert_eq!(error("b").message, "executor panicked: b panics");
    // The first in plan order.
    let of_run = run.error.unwrap();
    assert_eq!((of_run.step.unwrap().as_str(), run.stop), ("a", StopReason::Failed));
}

#[tokio::test(start_paused = true)]
async fn nothing_of_a_failed_attempt_is_visible() {
    // The first one is whole, with an artifact, and is rejected.
    let output = |text: &str| Ok(TaskOutput::text(text).with_artifact(Artifact::text(text, text)?));
    let executor = FunctionStepExecutor::new(move |_, ctx| async move {
        match (ctx.step().id.as_str(), ctx.attempt()) {
            ("a", 1) => output("first"),
            ("a", _) if ctx.output("a").is_some() || ctx.artifact("a", "first").is_some() => {
                output("what it said before")
            }
            ("a", _) => output("second"),
            _ => {
                let artifact = |id| ctx.artifact("a", id).map(|artifact| artifact.text.clone());
                Ok(TaskOutput::text(format!("{:?} {:?}", artifact("first"), artifact("second"))))
            }
        }
    });
    let reflector = |review: Review| async move {
        let is_first = review.output.text == "first";
        Ok::<_, BoxError>(if is_first { Finding::Retry("again".to_owned()) } else { Finding::Pass })
    };
    let policy = policy(|policy| policy.max_attempts(2));
    let runner =
        PlanRunner::builder().executor(executor).policy(policy).reflector(reflector).build().unwrap();
    let run = runner.run_plan(plan([step("a"), step("b").input_from("a")])).await.unwrap();
    let artifacts: Vec<_> =
        run.artifacts().map(|(step, artifact)| (step.as_str(), artifact.text.as_str())).collect();
    assert_eq!((run.text("a"), artifacts), (Some("second"), vec![("a", "second")]));
    assert_eq!(run.text("b"), Some(r#"None Some("second")"#));
}

#[tokio::test(start_paused = true)]
async fn a_run_goes_on_past_a_failure_where_it_may() {
    let script = Script::new().with("a", [Act::Fails]);
    let steps = [step("a"), step("b").after("a"), step("c"), step("d").after("b")];
    let run = runner(&script, policy(convoke_planning::PlanPolicyBuilder::continue_after_failure))
        .run_plan(plan(steps))
        .await
        .unwrap();

    let status = |id| run.step(id).unwrap().status;
    assert_eq!(
        [status("a"), status("b"), status("c"), status("d")],
        [StepStatus::Failed, StepStatus::Skipped, StepStatus::Completed, StepStatus::Skipped]
    );
    for id in ["b", "d"] {
        let causes: Vec<_> =
            run.step(id).unwrap().skipped_because_of.iter().map(convoke_core::StepId::as_str).collect();
        assert_eq!(causes, ["a"]);
    }
    assert_eq!((run.failed, run.skipped, run.completed), (1, 2, 1));
}

#[tokio::test(start_paused = true)]
async fn all_causes_of_a_skip_are_named_in_plan_order() {
    let script = Script::new().with("a", [Act::Fails]).with("z", [Act::Fails]).with("m", [Act::Fails]);
    let steps = [
        step("last").after("left").after("right").after("m"),
        step("left").after("z"),
        step("right").after("z").after("a"),
        step("z"),
        step("a"),
        step("m"),
    ];
    let run = runner(&script, policy(convoke_planning::PlanPolicyBuilder::continue_after_failure))
        .run_plan(plan(steps))
        .await
        .unwrap();
    let causes = |id| {
        let causes = run.step(id).unwrap().skipped_because_of.iter();
        causes.map(|id| id.as_str().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(causes("left"), ["z"]);
    assert_eq!(causes("right"), ["z", "a"]);
    assert_eq!(causes("last"), ["z", "a", "m"]);
}

#[tokio::test(start_paused = true)]
async fn a_failure_stops_what_has_not_started_and_lets_what_runs_end() {
    let script = Script::new().with("a", [Act::Fails]).with("b", [Act::Slow(ms(10))]);
    let steps = [step("a"), step("b"), step("c")];
    let run =
        runner(&script, policy(|policy| policy.max_parallel_steps(2))).run_plan(plan(steps)).await.unwrap();

    assert_eq!(run.stop, StopReason::Failed);
    assert_eq!(run.step("b").unwrap().status, StepStatus::Completed);
    assert_eq!(run.step("c").unwrap().status, StepStatus::Pending);
}

#[tokio::test(start_paused = true)]
async fn a_sibling_that_could_be_tried_again_is_left_for_later() {
    let script = Script::new().with("a", [Act::Blocked { retryable: false }]).with("b", [Act::Fails]);
    let run = runner(&script, policy(|policy| policy.max_parallel_steps(2).max_attempts(2)))
        .run_plan(plan([step("a"), step("b")]))
        .await
        .unwrap();

    assert_eq!((run.stop, run.step("b").unwrap().status), (StopReason::Blocked, StepStatus::Pending));
    assert_eq!(run.error.unwrap().step.unwrap().as_str(), "a");
}

#[tokio::test(start_paused = true)]
async fn what_is_blocked_for_now_is_tried_again() {
    let script = Script::new().with("a", [Act::Blocked { retryable: true }, Act::Done]);
    let run =
        runner(&script, policy(|policy| policy.max_attempts(2))).run_plan(plan([step("a")])).await.unwrap();
    assert_eq!((run.stop, script.starts("a")), (StopReason::Completed, 2));
}

#[tokio::test(start_paused = true)]
async fn attempts_wait_as_the_policy_says() {
    let backoff = convoke_planning::Backoff::new(ms(100), ms(1_000), 0.0).unwrap();
    let script = Script::new().with("a", [Act::Fails, Act::Fails, Act::Done]);
    let begun = Instant::now();
    let run = runner(&script, policy(|policy| policy.max_attempts(3).backoff(backoff)))
        .run_plan(plan([step("a")]))
        .await
        .unwrap();
    assert_eq!((run.stop, begun.elapsed()), (StopReason::Completed, ms(300)));
}

#[tokio::test(start_paused = true)]
async fn what_waits_for_any_end_runs_after_a_failure() {
    let script = Script::new().with("a", [Act::Fails]);
    let steps = [step("a"), step("sum").after_end_of("a").input_from("b"), step("b")];
    let run = runner(&script, policy(convoke_planning::PlanPolicyBuilder::continue_after_failure))
        .run_plan(plan(steps))
        .await
        .unwrap();
    assert_eq!(run.text("sum"), Some("did sum"));
}

#[tokio::test(start_paused = true)]
async fn a_source_that_failed_gives_its_status_and_null() {
    let script = Script::new().with("a", [Act::Fails]);
    let sum = step("sum").input_from("a").after_end_of("a");
    let run = runner(&script, policy(convoke_planning::PlanPolicyBuilder::continue_after_failure))
        .run_plan(plan([step("a"), sum]))
        .await
        .unwrap();
    let seen = script.seen();
    assert_eq!((seen.len(), run.text("sum")), (2, Some("did sum")));
    let given = serde_json::json!({"steps": {"a": {"status": "failed", "output": null}}});
    assert_eq!(seen[1].input.data, Some(given));
}

#[tokio::test(start_paused = true)]
async fn starts_are_limited_over_all() {
    let script = Script::new().with("a", [Act::Fails]);
    let run = runner(&script, policy(|policy| policy.max_attempts(10).max_step_runs(3)))
        .run_plan(plan([step("a")]))
        .await
        .unwrap();
    assert_eq!((run.stop, run.executed), (StopReason::StepRunLimit, 3));
}

#[tokio::test(start_paused = true)]
async fn what_waits_for_an_end_alone_is_told_what_it_was() {
    let script = Script::new().with("a", [Act::Fails]);
    let steps = [step("a"), step("b"), step("sum").after_end_of("a").after_end_of("b")];
    let policy = policy(convoke_planning::PlanPolicyBuilder::continue_after_failure);
    let run = runner(&script, policy).run_plan(plan(steps)).await.unwrap();
    assert_eq!(run.text("sum"), Some("did sum"));
    let given = serde_json::json!({"steps": {"a": {"status": "failed", "output": null}, "b": "did b"}});
    assert_eq!(script.seen().last().unwrap().input.data, Some(given));
}
