//! Random teams whose tasks ask for tasks, on a paused clock: every call has an answer, what works keeps within the
//! limit, and at the end nothing is held.

mod plan;
mod work;

use std::{sync::Arc, time::Duration};

use proptest::prelude::*;
use tokio::{
    task::JoinSet,
    time::{sleep, timeout},
};

use convoke_registry::{AgentRegistry, ExecutorCapabilities};

use crate::house::{House, agent, assert_events, ms};

use plan::{AGENTS, Plan};
use work::World;

/// Longer than any plan takes: who has no answer by then never gets one.
const LONG: Duration = Duration::from_secs(20);

/// Whether tasks have deadlines and agents come and go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weather {
    Calm,
    Rough,
}

fn play(plan: &Plan, weather: Weather) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        timeout(LONG, play_in(plan, weather)).await.expect("somebody waits for ever");
    });
}

async fn play_in(plan: &Plan, weather: Weather) {
    let world = Arc::new(World::new(plan, weather == Weather::Rough));
    let registry = AgentRegistry::new();
    for (one, id) in plan.agents.iter().zip(AGENTS) {
        let mut capabilities = ExecutorCapabilities::default();
        capabilities.abort_on_cancel = one.aborts;
        let mut descriptor = agent(id).with_max_concurrency(one.max);
        for &skill in &one.skills {
            descriptor = descriptor.with_skill(skill);
        }
        registry.add(descriptor, world.executor().with_capabilities(capabilities)).unwrap();
    }
    let house = House::built(registry, |builder| builder.max_parallel_tasks(plan.limit).grace(ms(8)));

    let mut roots = JoinSet::new();
    for (index, (at, _)) in plan.roots.iter().enumerate() {
        let (team, request, at) = (house.team.clone(), world.root(index), *at);
        roots.spawn(async move {
            sleep(ms(at)).await;
            team.run(request).await.unwrap()
        });
    }
    if weather == Weather::Rough {
        let (registry, changes) = (house.registry.clone(), plan.changes.clone());
        tokio::spawn(async move {
            for (after, agent, availability) in changes {
                sleep(ms(after)).await;
                // There may be fewer agents.
                let _ = registry.set_availability(AGENTS[agent], availability);
            }
        });
    }

    sleep(ms(1)).await;
    while !roots.is_empty() || !house.is_at_rest() || world.alive() > 0 {
        assert_sound(&house, &world);
        sleep(ms(2)).await;
        while let Some(report) = roots.try_join_next() {
            assert!(!report.unwrap().status.is_active());
        }
    }
    house.assert_rest();
    assert_events(&house);
    assert_sessions(&house);
}

/// Checks what holds at each moment: units in use within what there is, and work within the limit, but for what was asked
/// to stop, and for slots that work took of its own when whoever had lent it one did not wait any longer.
#[track_caller]
fn assert_sound(house: &House, world: &World) {
    for agent in house.registry.list() {
        assert!(
            agent.active <= agent.descriptor.max_concurrency && agent.detached <= agent.active,
            "{agent:?}"
        );
    }
    let (stats, work) = (house.team.stats(), world.at_work());
    let limit = stats.max_parallel_tasks;
    let beyond = stats.slots.taken.saturating_sub(limit);
    assert!(beyond <= work.let_go, "{stats:?}, {work:?}");
    assert!(work.awake <= limit + beyond + work.stopping, "{stats:?}, {work:?}");
}

/// Each session is idle or has late work that nobody has decided about, and each record has come to its end.
#[track_caller]
fn assert_sessions(house: &House) {
    let mut kept = 0;
    let mut ids: Vec<_> = house.events.events().into_iter().map(|event| event.session).collect();
    ids.sort();
    ids.dedup();
    for id in ids {
        let Some(session) = house.team.session(&id) else { continue };
        kept += 1;
        let activity = session.activity();
        assert_eq!((activity.active, activity.paused, activity.detached), (0, 0, 0), "{id}");
        assert!(id.as_str() == "s" || activity.late > 0, "{id} has nothing to be kept for");
        for (task, record) in session.snapshot().tasks() {
            assert!(record.status.is_terminal() && !record.detached, "{task}: {record:?}");
        }
    }
    assert_eq!(house.team.stats().sessions, kept);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn every_call_has_an_answer_and_what_works_keeps_within_the_limit(plan in plan::plan()) {
        play(&plan, Weather::Calm);
    }

    #[test]
    fn with_deadlines_and_agents_that_come_and_go_nothing_is_held_in_the_end(plan in plan::plan()) {
        play(&plan, Weather::Rough);
    }
}
