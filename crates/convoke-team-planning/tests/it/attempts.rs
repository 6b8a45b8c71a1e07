//! Attempts of steps as attempts of tasks.

use std::sync::atomic::{AtomicUsize, Ordering};

use convoke_core::{Artifact, ExecutorError, Message, StepId, TaskRequest, TaskStatus};
use convoke_planning::{
    BoxError, PlanPolicy, Review, RunOptions, StepStatus,
    machine::{Finding, StopReason},
};
use convoke_registry::{ExecutionContext, FunctionExecutor};
use convoke_testkit::{ScriptedExecutor, Step};

use crate::house::{House, asked, ms, plan, plan_id, policy, script, step};

#[tokio::test(start_paused = true)]
async fn a_retry_is_the_next_attempt_of_the_task_under_the_same_key() {
    let agent = script([Step::fail(ExecutorError::new("no")), Step::reply("yes")]);
    let house = House::of(agent.clone());
    let runner = house.runner(policy(|policy| policy.max_attempts(2)));
    let run = runner.run_plan(plan([step("one")])).await.unwrap();
    assert_eq!((run.text("one"), run.step("one").unwrap().attempts), (Some("yes"), 2));
    let key = |attempt| ("plan/one/0".to_owned(), attempt, 0);
    assert_eq!(asked(&agent), [(key(1), 1), (key(2), 1)].into());
    assert_eq!(house.record(&run, "one").attempt, 2);
}

/// Rejects what is not `better`.
async fn strict(review: Review) -> Result<Finding, BoxError> {
    Ok(if review.output.text == "better" { Finding::Pass } else { Finding::Retry("make it better".into()) })
}

#[tokio::test(start_paused = true)]
async fn a_rejected_output_is_asked_for_again_under_a_new_key_with_the_note() {
    let agent = script([Step::reply("good"), Step::reply("better")]);
    let house = House::of(agent.clone());
    let runner =
        house.runner_with(policy(|policy| policy.max_attempts(2)), |builder| builder.reflector(strict));
    let run = runner.run_plan(plan([step("one")])).await.unwrap();
    assert_eq!(run.text("one"), Some("better"));
    let key = |generation: u32, attempt| (format!("plan/one/{generation}"), attempt, 0);
    assert_eq!(asked(&agent), [(key(0, 1), 1), (key(1, 2), 1)].into());
    let requests = agent.requests();
    assert_eq!(requests[0].messages, []);
    assert_eq!(requests[1].messages, [Message::user("make it better")]);
    let record = house.record(&run, "one");
    assert_eq!((record.status, record.attempt), (TaskStatus::Completed, 2));
}

#[tokio::test(start_paused = true)]
async fn what_a_rejected_attempt_published_is_not_of_the_output() {
    let calls = AtomicUsize::new(0);
    let agent = FunctionExecutor::new(move |_: TaskRequest, ctx: ExecutionContext| {
        let (text, artifact) = match calls.fetch_add(1, Ordering::Relaxed) {
            0 => ("good", "draft"),
            _ => ("better", "report"),
        };
        async move {
            ctx.session().publish(Artifact::text(artifact, text)?)?;
            Ok(text)
        }
    });
    let house = House::of(agent);
    let runner =
        house.runner_with(policy(|policy| policy.max_attempts(2)), |builder| builder.reflector(strict));
    let run = runner.run_plan(plan([step("one")])).await.unwrap();
    assert_eq!(run.text("one"), Some("better"));
    let artifacts: Vec<_> =
        run.artifacts().map(|(step, artifact)| (step.as_str(), artifact.id.as_str())).collect();
    assert_eq!(artifacts, [("one", "report")]);
    // The session has both: it was completed twice.
    let kept = house.snapshot(&run);
    let kept: Vec<_> = kept.artifacts().map(|kept| (kept.artifact.id.as_str(), kept.attempt)).collect();
    assert_eq!(kept, [("draft", 1), ("report", 2)]);
}

#[tokio::test(start_paused = true)]
async fn a_step_that_was_reset_runs_again_also_after_its_time_was_over() {
    let agent = script([Step::reply("late").after_delay(ms(300)), Step::reply("done")]);
    let house = House::of(agent.clone());
    let runner = house.runner(policy(|policy| policy.step_timeout(ms(100))));
    let run = runner.run_plan(plan([step("one")])).await.unwrap();
    assert_eq!((run.stop, run.timed_out, run.detached), (StopReason::Failed, 1, 1));
    let id = StepId::new("one").unwrap();
    runner.reset_step(&plan_id(), &id).await.expect_err("its work still runs");
    tokio::time::sleep(ms(300)).await;
    assert_eq!(house.record(&run, "one").late.map(|late| late.status), Some(TaskStatus::Completed));
    runner.reset_step(&plan_id(), &id).await.unwrap();
    let run = runner.resume(&plan_id()).await.unwrap();
    assert_eq!((run.stop, run.text("one")), (StopReason::Completed, Some("done")));
    let key = |generation: u32| (format!("plan/one/{generation}"), 1, 0);
    assert_eq!(asked(&agent), [(key(0), 1), (key(1), 1)].into());
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn a_retry_after_the_time_was_over_runs_too() {
    let agent = script([Step::cancelled().once_cancelled(), Step::reply("done")]);
    let house = House::of(agent.clone());
    let runner = house.runner(policy(|policy| policy.step_timeout(ms(100)).max_attempts(2)));
    let run = runner.run_plan(plan([step("one")])).await.unwrap();
    assert_eq!((run.stop, run.step("one").unwrap().attempts, agent.calls()), (StopReason::Completed, 2, 2));
}

#[tokio::test(start_paused = true)]
async fn a_step_that_failed_and_is_retried_by_a_later_run_has_a_key_of_its_own() {
    let agent = script([Step::fail(ExecutorError::new("no")), Step::reply("yes")]);
    let house = House::of(agent.clone());
    let runner = house.runner(PlanPolicy::default());
    assert_eq!(runner.run_plan(plan([step("one")])).await.unwrap().stop, StopReason::Failed);
    let options = RunOptions::new().retrying_failed();
    let run = runner.resume_with(&plan_id(), options).await.unwrap();
    assert_eq!(run.step("one").unwrap().status, StepStatus::Completed);
    let key = |generation: u32| (format!("plan/one/{generation}"), 1, 0);
    assert_eq!(asked(&agent), [(key(0), 1), (key(1), 1)].into());
}

#[tokio::test(start_paused = true)]
async fn what_still_runs_when_the_run_is_cancelled_is_not_started_a_second_time() {
    let agent = ScriptedExecutor::answering(|_| Step::reply("done").after_delay(ms(400)));
    let house = House::of(agent.clone());
    let runner = house.runner(PlanPolicy::default());
    let handle = runner.start(plan([step("one")]), RunOptions::new());
    tokio::time::sleep(ms(100)).await;
    handle.cancel();
    let run = handle.await.unwrap();
    assert_eq!((run.stop, run.detached), (StopReason::Cancelled, 1));
    let run = runner.resume(&plan_id()).await.unwrap();
    assert_eq!((run.executed, agent.calls()), (0, 1), "{:?}", run.stop);
    tokio::time::sleep(ms(400)).await;
    runner.reset_step(&plan_id(), &StepId::new("one").unwrap()).await.unwrap();
    let run = runner.resume(&plan_id()).await.unwrap();
    assert_eq!((run.stop, agent.calls()), (StopReason::Completed, 2));
    house.assert_rest();
}
