//! Questions of agents, and answers that continue the same attempt.

use convoke_core::{ResumeToken, TaskStatus};
use convoke_planning::{
    PlanHandle, PlanPolicy, PlanRun, RunOptions, StepStatus,
    machine::{PendingKind, StopReason},
};
use convoke_testkit::{ScriptedExecutor, Step};
use serde_json::json;

use crate::house::{House, asked, ms, plan, plan_id, policy, script, step};

/// The start that asks, with the prompt.
#[track_caller]
fn question(run: &PlanRun) -> (u64, String) {
    let [pending] = &run.pending[..] else { panic!("one question is open: {:?}", run.pending) };
    match &pending.kind {
        PendingKind::Question { start, question } => (*start, question.prompt.clone()),
        other => panic!("a question is open: {other:?}"),
    }
}

fn keys(answers: impl IntoIterator<Item = u32>) -> std::collections::BTreeMap<(String, u32, u32), usize> {
    answers.into_iter().map(|answers| (("plan/one/0".to_owned(), 1, answers), 1)).collect()
}

fn painter() -> ScriptedExecutor {
    script([
        Step::pause_with("which colour?", ResumeToken::new(7, "the fence is primed")),
        Step::pause_with("how many coats?", ResumeToken::new(7, "green is mixed")),
        Step::reply("painted"),
    ])
}

#[tokio::test(start_paused = true)]
async fn an_answer_continues_the_paused_task_under_the_same_attempt() {
    let agent = painter();
    let house = House::of(agent.clone());
    let runner = house.runner(PlanPolicy::default());
    let run = runner.run_plan(plan([step("one")])).await.unwrap();
    assert_eq!((run.stop, question(&run).1.as_str()), (StopReason::ApprovalRequired, "which colour?"));
    runner.answer(&plan_id(), question(&run).0, "green").await.unwrap();
    let run = runner.resume(&plan_id()).await.unwrap();
    assert_eq!(question(&run).1, "how many coats?");
    runner.answer(&plan_id(), question(&run).0, 2).await.unwrap();
    let run = runner.resume(&plan_id()).await.unwrap();
    assert_eq!((run.text("one"), run.step("one").unwrap().attempts), (Some("painted"), 1));
    let resumed: Vec<_> = agent.requests().into_iter().filter_map(|request| request.resume).collect();
    assert_eq!(resumed[0].token, ResumeToken::new(7, "the fence is primed"));
    assert_eq!((&resumed[0].answer, &resumed[1].answer), (&json!("green"), &json!(2)));
    assert_eq!(asked(&agent), keys(0..3));
}

#[tokio::test(start_paused = true)]
async fn a_question_outlives_the_runtime_that_it_was_asked_in() {
    let agent = painter();
    let house = House::of(agent.clone());
    house.registry.add(crate::house::agent("b"), ScriptedExecutor::new([])).unwrap();
    let runner = house.runner(PlanPolicy::default());
    let run = runner.run_plan(plan([step("one")])).await.unwrap();
    for answer in [json!("green"), json!(2)] {
        let run = runner.resume(&plan_id()).await.unwrap_or_else(|_| run.clone());
        let house = house.restarted();
        let runner = house.runner(PlanPolicy::default());
        runner.answer(&plan_id(), question(&run).0, answer).await.unwrap();
        runner.resume(&plan_id()).await.unwrap();
    }
    let status = runner.status(&plan_id()).await.unwrap();
    assert_eq!(status.status("one"), Some(StepStatus::Completed));
    assert_eq!(asked(&agent), keys(0..3));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_was_under_way_when_the_run_was_cancelled_is_given_again() {
    let agent = script([
        Step::pause_with("which colour?", ResumeToken::new(7, "primed")),
        Step::cancelled().once_cancelled(),
        Step::reply("painted"),
    ]);
    let house = House::of(agent.clone());
    let runner = house.runner(PlanPolicy::default());
    let run = runner.run_plan(plan([step("one")])).await.unwrap();
    runner.answer(&plan_id(), question(&run).0, "green").await.unwrap();
    let handle: PlanHandle = runner.start(plan_id(), RunOptions::new());
    tokio::time::sleep(ms(10)).await;
    handle.cancel();
    assert_eq!(handle.await.unwrap().stop, StopReason::Cancelled);
    let run = runner.resume(&plan_id()).await.unwrap();
    assert_eq!((run.stop, run.text("one")), (StopReason::Completed, Some("painted")));
    let requests = agent.requests();
    assert_eq!(requests[1].resume, requests[2].resume);
    assert_eq!(requests[2].resume.as_ref().unwrap().token, ResumeToken::new(7, "primed"));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_failed_leaves_a_new_attempt_which_asks_anew() {
    let agent = script([
        Step::pause("which colour?"),
        Step::fail(convoke_core::ExecutorError::new("no paint")),
        Step::pause("which colour?"),
        Step::reply("painted"),
    ]);
    let house = House::of(agent.clone());
    let runner = house.runner(policy(|policy| policy.max_attempts(2)));
    let run = runner.run_plan(plan([step("one")])).await.unwrap();
    runner.answer(&plan_id(), question(&run).0, "green").await.unwrap();
    let run = runner.resume(&plan_id()).await.unwrap();
    assert_eq!(run.stop, StopReason::ApprovalRequired);
    runner.answer(&plan_id(), question(&run).0, "red").await.unwrap();
    let run = runner.resume(&plan_id()).await.unwrap();
    assert_eq!((run.text("one"), run.step("one").unwrap().attempts), (Some("painted"), 2));
    let key = |attempt, answers| ("plan/one/0".to_owned(), attempt, answers);
    assert_eq!(asked(&agent), [key(1, 0), key(1, 1), key(2, 0), key(2, 1)].map(|key| (key, 1)).into());
}

#[tokio::test(start_paused = true)]
async fn a_pause_whose_answer_found_nobody_is_withdrawn_by_the_next_attempt() {
    let agent =
        script([Step::pause_with("which colour?", ResumeToken::new(7, "primed")), Step::reply("painted")]);
    let house = House::of(agent.clone());
    let runner = house.runner(PlanPolicy::default());
    let run = runner.run_plan(plan([step("one")])).await.unwrap();
    runner.answer(&plan_id(), question(&run).0, "green").await.unwrap();
    house.registry.set_availability("a", convoke_registry::Availability::Offline).unwrap();
    let run = runner.resume(&plan_id()).await.unwrap();
    assert_eq!(run.stop, StopReason::Blocked);
    assert_eq!(house.record(&run, "one").status, TaskStatus::InputRequired, "the session keeps the pause");
    house.registry.set_availability("a", convoke_registry::Availability::Available).unwrap();
    runner.reset_step(&plan_id(), &convoke_core::StepId::new("one").unwrap()).await.unwrap();
    let run = runner.resume(&plan_id()).await.unwrap();
    assert_eq!((run.stop, run.text("one")), (StopReason::Completed, Some("painted")));
    assert_eq!(agent.requests()[1].resume, None, "it is asked from the beginning");
}

#[tokio::test(start_paused = true)]
async fn the_question_of_another_executor_is_left_to_it() {
    let house = House::of(ScriptedExecutor::echo());
    let asks = convoke_planning::FunctionStepExecutor::new(|_, _| async {
        Ok(convoke_planning::StepOutcome::asked("which?"))
    });
    let other = house.runner_with(PlanPolicy::default(), |builder| builder.executor(asks));
    let run = other.run_plan(plan([step("one")])).await.unwrap();
    other.answer(&plan_id(), question(&run).0, "this").await.unwrap();
    let run = house.runner(PlanPolicy::default()).resume(&plan_id()).await.unwrap();
    assert_eq!(run.stop, StopReason::Blocked);
    assert!(crate::house::message(run.step("one")).contains("another executor"));
}
