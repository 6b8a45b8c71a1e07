//! Time that is over, and work that does not heed it.

use convoke_core::TaskStatus;
use convoke_planning::{
    PlanPolicy, RunOptions, StepStatus,
    machine::{StepErrorCode, StopReason},
};
use convoke_testkit::{Gate, ScriptedExecutor, Step};
use tokio::time::Instant;

use crate::house::{House, code, ms, plan, plan_id, policy, registry, script, step};

#[tokio::test(start_paused = true)]
async fn work_that_ignores_its_deadline_keeps_its_place_until_it_has_ended() {
    let gate = Gate::closed();
    let agent = script([Step::reply("late").after(&gate), Step::reply("two")]);
    let house = House::of(agent.clone());
    let runner = house.runner(policy(|policy| policy.step_timeout(ms(100)).continue_after_failure()));
    let start = Instant::now();
    let run = runner.run_plan(plan([step("one"), step("two")])).await.unwrap();
    assert_eq!((run.stop, start.elapsed()), (StopReason::Detached, ms(150)), "the deadline and the grace");
    let report = run.step("one").unwrap();
    assert!(report.execution_detached && report.status == StepStatus::Failed);
    assert_eq!(code(Some(report)), Some(StepErrorCode::StepTimeout));
    let run = runner.resume(&plan_id()).await.unwrap();
    assert_eq!((run.stop, agent.calls()), (StopReason::Detached, 1), "it has the one place still");
    gate.open();
    crate::house::settle().await;
    let run = runner.resume(&plan_id()).await.unwrap();
    assert_eq!((run.text("two"), agent.calls()), (Some("two"), 2), "{:?}", run.stop);
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn the_word_of_the_team_on_the_time_decides() {
    // The team gives its work a longer grace than the plan would, and the plan does not race it.
    let agent =
        ScriptedExecutor::answering(|_| Step::reply("just in time").once_cancelled().after_delay(ms(80)));
    let house = House::built(registry([("a", agent)]), |builder| builder.grace(ms(200)));
    let runner = house.runner(policy(|policy| policy.step_timeout(ms(100))));
    let start = Instant::now();
    let run = runner.run_plan(plan([step("one")])).await.unwrap();
    assert_eq!(run.text("one"), Some("just in time"), "{:?}", run.error);
    assert!(start.elapsed() > ms(150), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_time_limit_of_the_team_itself_is_a_timeout_of_the_step() {
    let agent = script([Step::cancelled().once_cancelled()]);
    let house = House::built(registry([("a", agent)]), |builder| builder.default_task_timeout(ms(70)));
    let run = house.run([step("one")]).await;
    assert_eq!((code(run.step("one")), run.detached), (Some(StepErrorCode::StepTimeout), 0));
    assert_eq!(house.record(&run, "one").status, TaskStatus::TimedOut);
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_time_was_over_goes_on_with_the_step_that_it_stopped() {
    let agent = script([Step::cancelled().once_cancelled(), Step::reply("done")]);
    let house = House::of(agent.clone());
    let first = house.runner(policy(|policy| policy.run_timeout(ms(100))));
    let run = first.run_plan(plan([step("one")])).await.unwrap();
    assert_eq!((run.stop, run.step("one").unwrap().attempts), (StopReason::RunTimeout, 0));
    let run = house.runner(PlanPolicy::default()).resume(&plan_id()).await.unwrap();
    assert_eq!((run.text("one"), run.step("one").unwrap().attempts), (Some("done"), 1));
}

#[tokio::test(start_paused = true)]
async fn work_that_was_done_after_the_run_had_ended_is_taken_by_the_next() {
    let agent = script([Step::reply("done").once_cancelled().after_delay(ms(30))]);
    let house = House::of(agent.clone());
    // The plan waits for a shorter time than the team.
    let impatient = policy(|policy| policy.grace(ms(10)).reset_detached_on_resume());
    let runner = house.runner(impatient);
    let handle = runner.start(plan([step("one")]), RunOptions::new());
    tokio::time::sleep(ms(100)).await;
    handle.cancel();
    let run = handle.await.unwrap();
    assert_eq!((run.stop, run.detached), (StopReason::Cancelled, 1));
    tokio::time::sleep(ms(100)).await;
    let run = runner.resume(&plan_id()).await.unwrap();
    assert_eq!((run.stop, run.text("one"), agent.calls()), (StopReason::Completed, Some("done"), 1));
}

#[tokio::test(start_paused = true)]
async fn work_that_ignores_a_stop_is_detached_however_soon_the_team_gives_it_up() {
    let agent = ScriptedExecutor::answering(|_| Step::reply("done").after_delay(ms(300)));
    let house = House::built(registry([("a", agent.clone())]), |builder| builder.grace(ms(5)));
    let runner = house.runner(PlanPolicy::default());
    let handle = runner.start(plan([step("one")]), RunOptions::new());
    tokio::time::sleep(ms(100)).await;
    handle.cancel();
    let run = handle.await.unwrap();
    assert_eq!((run.stop, run.detached), (StopReason::Cancelled, 1));
    let run = runner.resume(&plan_id()).await.unwrap();
    assert_eq!((run.executed, agent.calls()), (0, 1), "it still runs: {:?}", run.stop);
    tokio::time::sleep(ms(300)).await;
    house.assert_rest();
}
