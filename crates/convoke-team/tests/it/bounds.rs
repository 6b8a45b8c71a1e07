//! What may cross threads, and what owns all that it needs.

use std::fmt::Debug;

use convoke_core::TaskRequest;
use convoke_registry::{RunOptions, TaskHandle, TeamError, Updates};
use convoke_team::{
    BuildError, ObserverError, SessionAdminError, TeamEvent, TeamEventKind, TeamRuntime, TeamRuntimeBuilder,
    TeamStats, TelemetryFailures,
};
use convoke_testkit::ScriptedExecutor;

use crate::house::House;

fn is_shared<T: Send + Sync + Debug + 'static>() {}
fn is_sent<T: Send + 'static>(_: &T) {}

#[test]
fn values_may_be_shared() {
    is_shared::<TeamRuntime>();
    is_shared::<TeamRuntimeBuilder>();
    is_shared::<TeamEvent>();
    is_shared::<TeamEventKind>();
    is_shared::<TeamStats>();
    is_shared::<TelemetryFailures>();
    is_shared::<BuildError>();
    is_shared::<SessionAdminError>();
    is_shared::<ObserverError>();
    is_shared::<TaskHandle>();
    is_shared::<TeamError>();
    is_shared::<Updates>();
}

#[tokio::test(start_paused = true)]
async fn futures_may_be_sent_and_borrow_nothing() {
    let house = House::of(1, ScriptedExecutor::echo());
    let (run, run_with, spawned, many, many_with);
    {
        let team = house.team.clone();
        run = team.run(TaskRequest::new("x"));
        run_with = team.run_with(TaskRequest::new("x"), RunOptions::new());
        spawned = team.spawn(TaskRequest::new("x"));
        many = team.run_parallel([TaskRequest::new("x")]);
        many_with = team.run_parallel_with(vec![TaskRequest::new("x")], RunOptions::new());
    }
    is_sent(&run);
    is_sent(&run_with);
    is_sent(&spawned);
    is_sent(&many);
    is_sent(&many_with);
    let (run, run_with, spawned, many, many_with) = tokio::join!(run, run_with, spawned, many, many_with);
    assert!(run.is_ok() && run_with.is_ok() && spawned.is_ok());
    assert!(many[0].is_ok() && many_with[0].is_ok());
}

#[test]
fn a_runtime_shows_what_is_under_way() {
    let house = House::of(1, ScriptedExecutor::echo());
    let shown = format!("{:?}", house.team);
    assert!(shown.starts_with("TeamRuntime { stats: TeamStats { max_parallel_tasks: 4"), "{shown}");
    assert_eq!(house.team.registry().list().len(), 1);
}
