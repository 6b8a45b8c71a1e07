//! Deadlines, cancellation, and work that does not end.

use std::{
    future::pending,
    sync::{Arc, Mutex},
};

use convoke_planning::{
    Backoff, FunctionStepExecutor, PlanRunner, RunOptions, StepContext, StepOutcome, StepStatus,
    StillRunning,
    machine::{Capabilities, StepErrorCode, StopReason},
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::support::{Act, Script, ms, policy, runner, with};
use crate::fixtures::{plan, step};

#[tokio::test(start_paused = true)]
async fn work_that_does_not_hear_is_detached_when_its_time_is_over() {
    let script = Script::new().with("a", [Act::Deaf(ms(250))]);
    let begun = Instant::now();
    let run = runner(&script, policy(|policy| policy.max_attempts(2).step_timeout(ms(20))))
        .run_plan(plan([step("a")]))
        .await
        .unwrap();

    assert_eq!(begun.elapsed(), ms(70), "the time and the grace");
    assert_eq!((run.stop, run.timed_out, run.detached), (StopReason::Failed, 1, 1));
    let step = run.step("a").unwrap();
    assert_eq!((step.attempts, step.execution_detached), (1, true));
    assert_eq!(step.error.as_ref().unwrap().code, StepErrorCode::StepTimeout);
}

#[tokio::test(start_paused = true)]
async fn work_that_hears_is_tried_again() {
    let script = Script::new().with("a", [Act::Slow(ms(250)), Act::Done]);
    let run = runner(
        &script,
        policy(|policy| policy.max_attempts(2).step_timeout(ms(20)).backoff(Backoff::none())),
    )
    .run_plan(plan([step("a")]))
    .await
    .unwrap();
    assert_eq!((run.stop, run.detached, run.elapsed), (StopReason::Completed, 0, ms(20)));
}

#[tokio::test(start_paused = true)]
async fn what_ended_before_the_deadline_counts_though_nobody_looked() {
    for (works, status) in [(19, StepStatus::Completed), (21, StepStatus::Failed)] {
        let executor = FunctionStepExecutor::new(move |_, _| async move {
            // It ends, and then the thread is busy for a while: nobody looks before the deadline has passed.
            tokio::time::sleep(ms(works)).await;
            tokio::spawn(async { tokio::time::advance(ms(30)).await });
            Ok("done")
        });
        let runner =
            PlanRunner::builder().executor(executor).policy(policy(|policy| policy.step_timeout(ms(20))));
        let run = runner.build().unwrap().run_plan(plan([step("a")])).await.unwrap();
        assert_eq!(run.step("a").unwrap().status, status, "{works} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn a_detached_step_keeps_its_place_and_its_turn() {
    let script = Script::new().with("s1", [Act::Deaf(ms(100))]);
    let script =
        script.able("s1", Capabilities::new().serial("db")).able("s2", Capabilities::new().serial("db"));
    let run = runner(
        &script,
        policy(|policy| policy.step_timeout(ms(20)).continue_after_failure().max_parallel_steps(2)),
    );
    let run = run.run_plan(plan([step("s1"), step("s2")])).await.unwrap();
    assert_eq!((run.stop, run.step("s2").unwrap().status), (StopReason::Detached, StepStatus::Pending));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_run_leaves_its_steps_pending() {
    let ids = ["a", "b", "c", "d"];
    let script = ids.iter().fold(Script::new(), |script, id| script.with(id, [Act::Slow(ms(500))]));
    let stop = CancellationToken::new();
    let handle = runner(&script, policy(|policy| policy.max_parallel_steps(4)))
        .start(plan(ids.map(step)), RunOptions::new().with_cancellation(stop.clone()));
    tokio::time::sleep(ms(10)).await;
    stop.cancel();
    let run = handle.await.unwrap();

    assert_eq!((run.stop, run.elapsed), (StopReason::Cancelled, ms(10)));
    for step in &run.steps {
        assert_eq!((step.status, step.attempts), (StepStatus::Pending, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_ends_when_nobody_waits_for_it() {
    let script = Script::new().with("a", [Act::Slow(ms(500))]);
    let runner = runner(&script, policy(|policy| policy));
    let run = tokio::time::timeout(ms(10), runner.run_plan(plan([step("a")]))).await;
    assert!(run.is_err());
    tokio::time::sleep(ms(1)).await;
    assert_eq!(script.most_at_once("a"), 1);
    assert!(script.is_idle(), "the step went on though nobody waits for it");
}

#[tokio::test(start_paused = true)]
async fn a_run_has_its_time_and_says_what_goes_on() {
    let script = Script::new().with("a", [Act::Deaf(ms(500))]);
    let run = runner(&script, policy(|policy| policy.run_timeout(ms(100))))
        .run_plan(plan([step("a")]))
        .await
        .unwrap();
    assert_eq!((run.stop, run.elapsed, run.detached), (StopReason::RunTimeout, ms(150), 1));
    let step = run.step("a").unwrap();
    assert_eq!((step.status, step.stop), (StepStatus::Running, Some(StopReason::RunTimeout)));
    assert!(!step.executor_cooperative_cancellation);
}

#[tokio::test(start_paused = true)]
async fn an_executor_that_keeps_the_time_is_not_raced() {
    let executor = FunctionStepExecutor::new(|_, ctx| async move {
        assert!(ctx.remaining_time().unwrap() <= ms(20));
        tokio::time::sleep(ms(30)).await;
        Ok(match ctx.step().id.as_str() {
            "late" => StepOutcome::from("done"),
            _ => StepOutcome::TimedOut {
                still_running: Some(StillRunning::until(tokio::time::sleep(ms(100)))),
            },
        })
    })
    .with_capabilities(Capabilities::new().owning_deadline());
    let runner = PlanRunner::builder()
        .executor(executor)
        .policy(policy(|policy| policy.step_timeout(ms(20)).continue_after_failure()));
    let run = runner.build().unwrap().run_plan(plan([step("late"), step("gone")])).await.unwrap();

    assert_eq!(run.text("late"), Some("done"), "by its own clock it was in time");
    let gone = run.step("gone").unwrap();
    assert_eq!((gone.status, gone.execution_detached), (StepStatus::Failed, true));
    assert_eq!(gone.error.as_ref().unwrap().code, StepErrorCode::StepTimeout);
}

#[tokio::test(start_paused = true)]
async fn nothing_starts_after_the_last_moment_to_start() {
    let script = Script::new();
    let runner = with(&script, policy(|policy| policy.no_start_after(999)), |builder| builder);
    let run = runner.run_plan(plan([step("a")])).await.unwrap();
    assert_eq!((run.stop, script.starts("a")), (StopReason::NoReadyStep, 0));
}

#[tokio::test(start_paused = true)]
async fn the_end_of_one_steps_time_is_not_that_of_another() {
    let script = Script::new()
        .with("a", [Act::Slow(ms(100))])
        .with("b", [Act::Slow(ms(10))])
        .with("c", [Act::Slow(ms(15))]);
    let set = policy(|policy| policy.step_timeout(ms(20)).max_parallel_steps(2).continue_after_failure());
    let run =
        runner(&script, set).run_plan(plan([step("a"), step("b"), step("c").after("b")])).await.unwrap();
    assert_eq!(run.step("a").unwrap().error.as_ref().unwrap().code, StepErrorCode::StepTimeout);
    assert_eq!(run.text("c"), Some("did c"), "it was at work when the time of `a` was over");
}

#[test]
fn work_hears_of_the_end_of_the_tokio_runtime() {
    let kept = Arc::new(Mutex::new(None));
    let executor = FunctionStepExecutor::new({
        let kept = Arc::clone(&kept);
        move |_, ctx: StepContext| {
            *kept.lock().unwrap() = Some(ctx.cancellation().clone());
            async move {
                if ctx.step().id.as_str() == "works" {
                    pending::<()>().await;
                }
                Ok("done")
            }
        }
    });
    for (name, is_told) in [("works", true), ("done", false)] {
        let runner = PlanRunner::builder().executor(executor.clone()).build().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            drop(runner.start(plan([step(name)]), RunOptions::new()));
            tokio::time::sleep(ms(1)).await;
        });
        drop(runtime);
        assert_eq!(kept.lock().unwrap().take().unwrap().is_cancelled(), is_told, "{name}");
    }
}
