//! Random schedules on a paused clock: whatever happens when, each attempt ends once, nothing exceeds what there is, and
//! at the end nothing is held.

mod plan;
mod play;

use std::collections::BTreeMap;

use proptest::prelude::*;

use convoke_core::{Artifact, TaskOutput, TaskRequest};
use convoke_testkit::{Gate, ScriptedExecutor, Step};

use crate::house::{House, agent, registry, settle, texts};

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn every_attempt_ends_once_and_nothing_is_held_in_the_end(plan in plan::plan()) {
        runtime().block_on(play::play(&plan))?;
    }

    #[test]
    fn the_order_of_completion_changes_no_merged_result(order in Just((0..6).collect::<Vec<usize>>()).prop_shuffle()) {
        let (reference, permuted) = (
            runtime().block_on(merged(&[0, 1, 2, 3, 4, 5])),
            runtime().block_on(merged(&order)),
        );
        prop_assert_eq!(reference, permuted);
    }
}

/// The results of six tasks of one call that complete in this order: the answers, and what is in the session by id.
async fn merged(order: &[usize]) -> (Vec<String>, BTreeMap<String, String>) {
    let gates: Vec<_> = (0..6).map(|_| Gate::closed()).collect();
    let doors = gates.clone();
    let executor = ScriptedExecutor::answering(move |request| {
        let number: usize = request.input.parse().unwrap();
        let door = doors[number].clone();
        Step::call(move |_, ctx| async move {
            door.pass().await;
            ctx.session().set(&format!("key {number}"), number.into()).await?;
            let artifact = Artifact::text("result", format!("artifact {number}"))?;
            Ok(TaskOutput::text(format!("answer {number}")).with_artifact(artifact))
        })
    });
    let registry = registry([(agent("a").with_max_concurrency(6), executor)]);
    let house = House::built(registry, |builder| builder.max_parallel_tasks(6));
    let requests = (0..6).map(|number: usize| {
        TaskRequest::new(number.to_string()).with_id(format!("task {number}")).in_session("s")
    });
    let parallel = tokio::spawn(house.team.run_parallel(requests));
    for &number in order {
        gates[number].arrived(1).await;
        gates[number].open();
        settle().await;
    }
    let answers = parallel.await.unwrap();
    let snapshot = house.team.session("s").unwrap().snapshot();
    let messages = snapshot.messages().map(|message| (message.id.to_string(), message.message.text.clone()));
    let artifacts =
        snapshot.artifacts().map(|artifact| (artifact.task.to_string(), artifact.artifact.text.clone()));
    let state = snapshot.states().map(|(key, entry)| (key.to_owned(), entry.value.to_string()));
    let kept = messages.chain(artifacts).chain(state).collect();
    (texts(&answers).into_iter().map(ToOwned::to_owned).collect(), kept)
}
