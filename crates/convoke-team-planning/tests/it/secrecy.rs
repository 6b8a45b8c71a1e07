//! No event carries what a step gets or gives, and each outcome has the events that it should have.

use std::sync::Arc;

use convoke_core::{Artifact, ExecutorError, TaskOutput};
use convoke_observability::MemorySink;
use convoke_planning::{PlanEvent, PlanPolicy, machine::StopReason};
use convoke_registry::AgentRegistry;
use convoke_testkit::{ScriptedExecutor, Step};
use parking_lot::Mutex;
use proptest::prelude::*;
use serde_json::json;

use crate::house::{House, agent, ms, plan, policy, registry, step};

fn does(kind: u8, secret: &str) -> Step {
    let mut output = TaskOutput::text(secret)
        .with_artifact(Artifact::text("notes", secret).unwrap())
        .with_metadata("note", secret);
    match kind {
        0 => output.data = Some(json!({ "a": secret })),
        1 => return Step::panic(secret),
        2 => return Step::fail(ExecutorError::new(secret)),
        3 => return Step::pause_with(secret, convoke_core::ResumeToken::new(1, secret)),
        4 => return Step::cancelled(),
        5 => return Step::never(),
        6 => {
            return Step::reply(convoke_core::TaskOutcome::Blocked { reason: secret.to_owned(), output });
        }
        _ => {}
    }
    Step::reply(output)
}

/// What a run told: of the plan, of the team, and of both in the common form.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<PlanEvent>>>);

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

    #[test]
    fn no_event_carries_content(
        noise in "[a-zA-Z0-9 äöü\"\\\\]{0,8}", kinds in prop::collection::vec(0..9_u8, 1..6),
    ) {
        let secret = format!("s3cr3t{noise}");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let registry = AgentRegistry::new();
            for (number, &kind) in kinds.iter().enumerate() {
                let secret = secret.clone();
                let executor = ScriptedExecutor::answering(move |_| does(kind, &secret));
                registry.add(agent(&format!("a{number}")), executor).unwrap();
            }
            let (house, told) = (House::built(registry, |builder| builder), Told::default());
            let heard = Arc::clone(&told.0);
            let limits = policy(|policy| policy
                .step_timeout(ms(100)).max_attempts(2).max_parallel_steps(2).continue_after_failure());
            let runner = house.runner_with(limits, |builder| {
                builder.observer(move |event: &PlanEvent| heard.lock().push(event.clone()))
            });
            let steps = (0..kinds.len()).map(|number| {
                let mut draft = step(format!("s{number}")).by_agent(format!("a{number}")).titled(&secret)
                    .described(&secret).with_data(json!({ "a": secret }));
                draft.metadata.insert("note".into(), json!(secret));
                if number > 0 { draft.input_from(format!("s{}", number - 1)).after_end_of(format!("s{}", number - 1)) } else { draft }
            });
            let run = runner.run_plan(plan(steps)).await.unwrap();
            let told = format!("{:?} {:?} {:?}", told.0.lock(), house.sink.events(), house.tasks.events());
            assert!(!told.contains("s3cr3t"), "{:?}: {told}", run.stop);
        });
    }
}

/// The names of the events of both modules, as the sink has them.
fn names(sink: &MemorySink) -> Vec<String> {
    let events = sink.events();
    let names = events.iter().map(|event| format!("{}.{}", event.module, event.name));
    names.filter(|name| name != "planning.checkpointed").collect()
}

#[tokio::test(start_paused = true)]
async fn a_step_that_is_done_has_the_events_of_a_step_and_of_a_task_and_nothing_else() {
    let house = House::built(registry([("a", ScriptedExecutor::echo())]), |builder| builder);
    let run = house.run([step("one")]).await;
    assert_eq!(run.stop, StopReason::Completed);
    assert_eq!(
        names(&house.sink),
        [
            "planning.created",
            "planning.step_ready",
            "planning.step_started",
            "team.submitted",
            "team.selected",
            "team.started",
            "team.completed",
            "planning.step_completed",
            "planning.finished",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_taken_from_the_session_and_what_it_begins_with_tell_nothing_of_a_task() {
    let house = House::of(ScriptedExecutor::answering(|_| Step::reply("done")));
    house
        .runner(policy(|policy| policy.steps_per_run(1)))
        .run_plan(plan([step("one"), step("two").after("one")]))
        .await
        .unwrap();
    let other = house.restarted();
    other.runner(PlanPolicy::default()).resume(&crate::house::plan_id()).await.unwrap();
    let of_team: Vec<_> = names(&other.sink).into_iter().filter(|name| name.starts_with("team.")).collect();
    assert_eq!(of_team, ["team.submitted", "team.selected", "team.started", "team.completed"]);
    assert!(
        other
            .sink
            .events()
            .iter()
            .filter(|event| event.module == "team")
            .all(|event| &*event.subject == "two")
    );
}
