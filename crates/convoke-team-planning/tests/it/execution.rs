//! What reaches the agents, and what their reports make of the steps.

use std::sync::Arc;

use convoke_core::{
    AgentDescriptor, Artifact, Budget, ExecutorError, Scope, TaskOutcome, TaskOutput, TaskRequest, Units,
};
use convoke_planning::{
    PlanPolicy, PlanPolicyBuilder, RunOptions, StepDraft, StepExecutor as _, StepStatus,
    machine::{Capabilities, Effects, StepErrorCode, StopReason},
};
use convoke_registry::{Availability, ExecutionContext, ExecutorCapabilities, FunctionExecutor};
use convoke_team_planning::{StepMark, TeamStepExecutor};
use convoke_testkit::{ScriptedExecutor, Step};
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::Instant;

use crate::house::{House, agent, code, message, ms, plan, policy, registry, script, session_of, step};

#[tokio::test(start_paused = true)]
async fn text_data_and_all_artifacts_come_back_and_go_to_the_next_step() {
    let one = FunctionExecutor::new(|_request: TaskRequest, ctx: ExecutionContext| async move {
        ctx.session().publish(Artifact::text("on the way", "a draft")?)?;
        let mut output = TaskOutput::text("four").with_artifact(Artifact::text("notes", "a note")?);
        output.data = Some(json!({ "count": 4 }));
        Ok(TaskOutcome::Completed(output))
    });
    let two = ScriptedExecutor::echo();
    let house = House::built(registry([("a", one)]), |builder| builder);
    house.registry.add(agent("b"), two.clone()).unwrap();
    let run = house.run([step("one"), step("two").by_agent("b").input_from("one")]).await;
    assert_eq!(run.stop, StopReason::Completed, "{:?}", run.error);
    assert_eq!(run.text("one"), Some("four"));
    let mut artifacts: Vec<_> =
        run.artifacts().map(|(step, artifact)| format!("{step}/{}", artifact.id)).collect();
    artifacts.sort();
    assert_eq!(artifacts, ["one/notes", "one/on the way"]);
    let request = &two.requests()[0];
    assert_eq!(request.data, Some(json!({ "steps": { "one": { "count": 4 } } })));
    assert_eq!(request.input, "do two\n\n{\"steps\":{\"one\":{\"count\":4}}}");
}

#[tokio::test(start_paused = true)]
async fn a_task_has_the_id_of_its_step_in_the_session_of_the_run() {
    let echo = ScriptedExecutor::echo();
    let house = House::of(echo.clone());
    let mut draft = step("one").with_input("the sea");
    draft.metadata.insert("owner".into(), json!("ada"));
    let run = house.run([draft]).await;
    let request = &echo.requests()[0];
    assert_eq!(request.id.as_ref().map(AsRef::as_ref), Some("one"));
    assert_eq!(request.session, Some(session_of(&run)));
    assert_eq!((request.input.as_str(), request.metadata.get("owner")), ("the sea", Some(&json!("ada"))));
    let mark = StepMark::of(&request.metadata).unwrap();
    assert_eq!((mark.key.as_str(), mark.attempt, mark.answers), ("plan/one/0", 1, 0));
    assert_eq!(house.record(&run, "one").attempt, 1);
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn an_agent_gets_what_is_to_be_done_where_the_step_has_no_input() {
    let echo = ScriptedExecutor::echo();
    let house = House::of(echo.clone());
    house.run([step("titled"), step("described").described("at length").after("titled")]).await;
    assert_eq!(echo.inputs(), ["do titled", "at length"]);
}

#[tokio::test(start_paused = true)]
async fn steps_go_to_their_agent_or_to_whoever_has_the_skills() {
    let (a, b) = (ScriptedExecutor::echo(), ScriptedExecutor::echo());
    let house = House::of(a.clone());
    house.registry.add(AgentDescriptor::new("b").with_skill("count"), b.clone()).unwrap();
    let run = house.run([step("one"), StepDraft::new("two").titled("two").requiring("count")]).await;
    assert_eq!((run.completed, a.calls(), b.calls()), (2, 1, 1));
    let lacks = house.runner(PlanPolicy::default());
    let lacking = crate::house::named("other", [step("one").requiring("count")]);
    let run = lacks.run_plan(lacking).await.unwrap();
    assert_eq!(code(run.step("one")), Some(StepErrorCode::ExecutionBlocked), "agent `a` lacks the skill");
}

#[tokio::test(start_paused = true)]
async fn a_step_of_nobody_is_blocked_before_anybody_approves_it() {
    let house = House::of(ScriptedExecutor::echo());
    let run = house.run([StepDraft::new("one").titled("one").gated()]).await;
    assert_eq!((run.stop, code(run.step("one"))), (StopReason::Blocked, Some(StepErrorCode::NoExecutor)));
    assert_eq!(run.executed, 0);
}

#[tokio::test(start_paused = true)]
async fn what_dispatch_refuses_is_blocked_and_tried_again_where_its_code_allows_that() {
    let house = House::of(ScriptedExecutor::echo());
    house.registry.set_availability("a", Availability::Offline).unwrap();
    let runner = house.runner(policy(|policy| policy.max_attempts(3).continue_after_failure()));
    let run = runner.run_plan(plan([step("offline"), step("unknown").by_agent("nobody")])).await.unwrap();
    let seen = |id: &str| run.step(id).map(|step| (step.status, step.attempts)).unwrap();
    assert_eq!(seen("offline"), (StepStatus::Blocked, 3));
    assert_eq!(seen("unknown"), (StepStatus::Blocked, 1));
    assert!(message(run.step("unknown")).contains("`nobody`"), "{}", message(run.step("unknown")));
}

#[tokio::test(start_paused = true)]
async fn failures_blocks_and_unasked_stops_are_told_apart() {
    let steps = [
        Step::fail(ExecutorError::new("disk is full")),
        Step::reply(TaskOutcome::Blocked { reason: "no key".into(), output: TaskOutput::default() }),
        Step::reply(TaskOutcome::Cancelled { output: TaskOutput::default() }),
        Step::panic("oh"),
    ];
    let house = House::of(script(steps));
    let runner = house.runner(policy(PlanPolicyBuilder::continue_after_failure));
    let run = runner.run_plan(plan(["fails", "blocks", "stops", "panics"].map(step))).await.unwrap();
    let seen =
        ["fails", "blocks", "stops", "panics"].map(|id| (code(run.step(id)).unwrap(), message(run.step(id))));
    assert_eq!(
        seen.each_ref().map(|(code, _)| *code),
        [
            StepErrorCode::ExecutionFailed,
            StepErrorCode::ExecutionBlocked,
            StepErrorCode::ExecutionCancelled,
            StepErrorCode::ExecutionFailed,
        ],
        "{seen:?}"
    );
    for (text, (_, message)) in ["disk is full", "no key"].iter().zip(&seen) {
        assert!(message.contains(text), "{message}");
    }
}

#[tokio::test(start_paused = true)]
async fn deadline_cancellation_trace_and_budget_reach_the_agent() {
    type Seen = (Option<Instant>, Option<String>, Option<u64>);
    let seen = Arc::new(Mutex::new(Vec::<Seen>::new()));
    let telling = Arc::clone(&seen);
    let executor = FunctionExecutor::new(move |_request: TaskRequest, ctx: ExecutionContext| {
        let seen = Arc::clone(&telling);
        async move {
            let spent = ctx.budget().map(|budget| {
                budget.charge(&Units::calls(1));
                budget.usage("calls").committed
            });
            let trace = ctx.scope().trace_id().map(ToString::to_string);
            seen.lock().push((ctx.deadline(), trace, spent));
            ctx.cancellation().cancelled().await;
            Ok(TaskOutcome::Cancelled { output: TaskOutput::default() })
        }
    });
    let house = House::built(registry([("a", executor)]), |builder| builder);
    let budget = Budget::builder().limit("calls", 1).build();
    let scope = Scope::root().with_budget(budget.clone()).with_trace_id(Some(Arc::from("trace-1")));
    let runner = house.runner(policy(|policy| policy.step_timeout(ms(500))));
    let (start, options) = (Instant::now(), RunOptions::new().in_scope(scope));
    let handle = runner.start(plan([step("one")]), options);
    tokio::time::sleep(ms(100)).await;
    handle.cancel();
    let run = handle.await.unwrap();
    assert_eq!((run.stop, start.elapsed()), (StopReason::Cancelled, ms(100)));
    let seen = seen.lock();
    let (deadline, trace, spent) = &seen[0];
    assert_eq!((*deadline, trace.as_deref()), (Some(start + ms(500)), Some("trace-1")));
    assert!(spent.is_some() && budget.reserve(Units::calls(1)).is_err());
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn capabilities_are_those_of_whoever_would_do_it() {
    let cooperative = ExecutorCapabilities::default().with_cooperative_cancellation();
    let house = House::of(ScriptedExecutor::echo().with_capabilities(cooperative));
    house.registry.add(AgentDescriptor::new("b").with_skill("work"), ScriptedExecutor::echo()).unwrap();
    let executor = house.executor();
    let of = |draft: StepDraft| executor.capabilities(&plan([draft]).steps()[0]);
    let titled = |id: &str| StepDraft::new(id).titled(id);
    let plain = Capabilities::new().owning_deadline();
    assert_eq!(of(step("one")), Some(plain.clone().cooperative()));
    assert_eq!(of(titled("one").by_agent("b")), Some(plain.clone()));
    assert_eq!(of(titled("one").requiring("work")), Some(plain.clone()), "not all are");
    assert_eq!(of(titled("one").by_agent("nobody")), Some(plain.clone()), "dispatch says that there is none");
    assert_eq!(of(titled("one")), None);
    let once = TeamStepExecutor::new(&house.team.handle()).with_effects(Effects::SideEffect);
    let of_step = once.capabilities(&plan([titled("one").by_agent("b")]).steps()[0]);
    assert_eq!(of_step, Some(plain.with_effects(Effects::SideEffect)));
}
