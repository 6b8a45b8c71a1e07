//! Detached work that is listed and given up, and executors that are replaced.

use tokio::time::sleep;

use convoke_core::{ErrorCode, Message, SessionId, TaskId, TaskOutcome, TaskRequest, TaskStatus};
use convoke_registry::{Coordination, ExecutorCapabilities, RegistryError, RunOptions};
use convoke_session::Reconcile;
use convoke_team::TeamEventKind;
use convoke_testkit::{Gate, ScriptedExecutor, Step};

use crate::house::{House, agent, assert_end, ms, registry, settle, task};

fn session() -> SessionId {
    SessionId::new("s").unwrap()
}

fn id(task: &str) -> TaskId {
    TaskId::new(task).unwrap()
}

/// Goes on until the gate opens, once; then answers.
fn stubborn(gate: &Gate) -> ScriptedExecutor {
    ScriptedExecutor::new([Step::reply("late").after(gate), Step::reply("next"), Step::reply("next")])
}

fn one_at_a_time() -> ExecutorCapabilities {
    ExecutorCapabilities::default().without_concurrent_execution()
}

/// A house of one agent with one place, whose task `t` is detached.
async fn house_with(executor: ScriptedExecutor) -> House {
    let registry = registry([(agent("a"), executor)]);
    let house = House::built(registry, |builder| builder.max_parallel_tasks(1));
    assert!(house.run(task("t").with_timeout(ms(10))).await.detached);
    house
}

#[tokio::test(start_paused = true)]
async fn what_is_detached_is_listed_with_who_has_it_and_since_when() {
    let gate = Gate::closed();
    let gated = gate.clone();
    let executor = ScriptedExecutor::answering(move |_| Step::reply("late").after(&gated));
    let house = House::new(registry([
        (agent("a").with_skill("x").with_max_concurrency(2), executor.clone()),
        (agent("b").with_skill("y"), executor),
    ]));
    assert_eq!(house.team.detached(), []);
    let request = |id: &str, session: &str, skill: &str| {
        TaskRequest::new("x").with_id(id).in_session(session).requiring(skill).with_timeout(ms(10))
    };
    house.run(request("later", "s", "x")).await;
    sleep(ms(100)).await;
    house.run(request("first", "s", "y")).await;
    house.run(request("first", "r", "x")).await;
    let body = move |_| async move {
        gate.pass().await;
        Ok(TaskOutcome::completed("late"))
    };
    let coordinated = request("nobody", "s", "x");
    house.team.coordinate(coordinated, RunOptions::new(), Coordination::new(body)).await.unwrap();
    sleep(ms(7)).await;

    let listed: Vec<_> = house
        .team
        .detached()
        .into_iter()
        .map(|one| (one.session.to_string(), one.task.to_string(), one.attempt, one.agent, one.age))
        .collect();
    let entry = |session: &str, task: &str, agent: Option<&str>, age| {
        (session.to_owned(), task.to_owned(), 1, agent.map(|id| id.try_into().unwrap()), ms(age))
    };
    // Each took its timeout and the grace of 50 ms, one after the other.
    assert_eq!(
        listed,
        [
            entry("r", "first", Some("a"), 67),
            entry("s", "first", Some("b"), 127),
            entry("s", "later", Some("a"), 287),
            entry("s", "nobody", None, 7),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_given_up_frees_its_place_its_slot_and_its_record() {
    let gate = Gate::closed();
    let house = house_with(stubborn(&gate)).await;
    let waiting = house.team.spawn(task("u"));
    settle().await;
    assert_eq!((house.load("a"), house.slots().taken), ((1, 1), 1));
    assert_eq!(waiting.status(), TaskStatus::Submitted);

    sleep(ms(30)).await;
    house.team.forfeit(&session(), &id("t"), 1).unwrap();
    assert_eq!(house.team.detached(), []);
    assert_eq!(waiting.await.unwrap().text(), "next");
    settle().await;
    house.assert_rest();
    let record = house.record("s", "t");
    assert_eq!((record.status, record.detached), (TaskStatus::TimedOut, false));
    let forfeited = house.events.events_of("t").pop().unwrap();
    assert_eq!((forfeited.kind, forfeited.status), (TeamEventKind::Forfeited, TaskStatus::TimedOut));
    assert_eq!((forfeited.attempt, forfeited.elapsed), (1, ms(90)));
    assert_eq!(forfeited.agent.unwrap().as_str(), "a");

    // What it gives late is refused, and nothing tells of its end.
    gate.open();
    settle().await;
    let record = house.record("s", "t");
    assert_eq!((record.status, record.late), (TaskStatus::TimedOut, None));
    assert_eq!(house.events.names_of("t").last(), Some(&"forfeited"));
    let retry = RunOptions::new().with_late(Reconcile::Retry);
    assert_eq!(house.run_with(task("t"), retry).await.attempt, 2);
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn the_end_of_what_was_given_up_frees_nothing_a_second_time() {
    let (old, new) = (Gate::closed(), Gate::closed());
    let steps = [Step::reply("late").after(&old), Step::reply("next").after(&new), Step::reply("third")];
    let house = house_with(ScriptedExecutor::new(steps)).await;
    house.team.forfeit(&session(), &id("t"), 1).unwrap();
    let next = house.team.spawn(task("u"));
    let third = house.team.spawn(task("v"));
    new.arrived(1).await;
    old.open();
    settle().await;
    assert_eq!((house.load("a"), house.slots().taken), ((1, 0), 1), "that is the next one's");
    assert_eq!(third.status(), TaskStatus::Submitted);
    new.open();
    assert_eq!((next.await.unwrap().text(), third.await.unwrap().text()), ("next", "third"));
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn a_write_of_what_was_given_up_is_refused_and_told() {
    let gate = Gate::closed();
    let passing = gate.clone();
    let step = Step::call(move |_, ctx| async move {
        passing.pass().await;
        ctx.session().post(Message::agent("late")).unwrap_err();
        let nested = ctx.team().run(TaskRequest::new("x")).await.unwrap();
        assert_end(&nested, TaskStatus::Blocked, ErrorCode::InvalidRequest);
        Ok("late")
    });
    let house = house_with(ScriptedExecutor::new([step])).await;
    house.team.forfeit(&session(), &id("t"), 1).unwrap();
    gate.open();
    settle().await;
    assert_eq!(house.events.names_of("t")[3..], ["timed_out", "forfeited", "late_write_refused"]);
    assert_eq!(house.team.session("s").unwrap().snapshot().messages().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn where_an_executor_does_one_thing_at_a_time_the_place_opens_when_it_is_replaced() {
    let gate = Gate::closed();
    let house = house_with(stubborn(&gate).with_capabilities(one_at_a_time())).await;
    house.team.forfeit(&session(), &id("t"), 1).unwrap();
    assert_eq!((house.load("a"), house.slots().taken, house.team.detached().len()), ((1, 1), 0, 0));
    let waiting = house.team.spawn(task("u"));
    sleep(ms(1_000)).await;
    assert_eq!(waiting.status(), TaskStatus::Submitted);

    let new = ScriptedExecutor::new([Step::reply("new")]).with_capabilities(one_at_a_time());
    house.registry.replace("a", new).unwrap();
    assert_eq!(waiting.await.unwrap().text(), "new");
    settle().await;
    house.assert_rest();
    gate.open();
    settle().await;
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn where_the_executor_was_replaced_before_the_place_opens_at_once() {
    let gate = Gate::closed();
    let house = house_with(stubborn(&gate).with_capabilities(one_at_a_time())).await;
    let new = ScriptedExecutor::new([Step::reply("new")]).with_capabilities(one_at_a_time());
    house.registry.replace("a", new).unwrap();
    assert_eq!(house.load("a"), (1, 1), "a lease is a lease until it is given up");
    house.team.forfeit(&session(), &id("t"), 1).unwrap();
    assert_eq!(house.load("a"), (0, 0), "nobody is busy with the new one");
    assert_eq!(house.run(task("u")).await.text(), "new");
    gate.open();
    settle().await;
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn a_place_that_waits_for_another_executor_opens_where_the_work_ends_after_all() {
    let gate = Gate::closed();
    let house = house_with(stubborn(&gate).with_capabilities(one_at_a_time())).await;
    house.team.forfeit(&session(), &id("t"), 1).unwrap();
    let waiting = house.team.spawn(task("u"));
    gate.open();
    assert_eq!(waiting.await.unwrap().text(), "next");
    settle().await;
    house.assert_rest();
    assert_eq!(house.events.names_of("t").last(), Some(&"forfeited"));
    // Nothing is left for a replacement to open.
    house.registry.replace("a", ScriptedExecutor::echo().with_capabilities(one_at_a_time())).unwrap();
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn an_unnamed_session_goes_with_what_is_given_up() {
    let gate = Gate::closed();
    let house = House::of(1, stubborn(&gate));
    let report = house.run(TaskRequest::new("x").with_timeout(ms(10))).await;
    assert_eq!(house.team.stats().sessions, 1);
    house.team.forfeit(&report.session, &report.task, 1).unwrap();
    assert_eq!(house.team.stats().sessions, 0);
    gate.open();
    settle().await;
    assert_eq!(house.events.names().last(), Some(&"forfeited"));
}

#[tokio::test(start_paused = true)]
async fn only_what_is_detached_can_be_given_up_and_only_once() {
    let gate = Gate::closed();
    let house = house_with(stubborn(&gate)).await;
    let running = house.team.spawn(task("u"));
    settle().await;
    for (session, task, attempt) in [("s", "t", 2), ("s", "u", 1), ("s", "v", 1), ("r", "t", 1)] {
        let session = SessionId::new(session).unwrap();
        let refused = house.team.forfeit(&session, &id(task), attempt).unwrap_err();
        assert_eq!(
            refused.to_string(),
            format!(
                "attempt {attempt} of task `{task}` in session `{session}` is not detached; `detached` says what is"
            )
        );
    }
    assert_eq!((house.load("a"), house.team.detached().len()), ((1, 1), 1));
    house.team.forfeit(&session(), &id("t"), 1).unwrap();
    house.team.forfeit(&session(), &id("t"), 1).unwrap_err();
    assert!(running.await.unwrap().is_success());
    house.team.forfeit(&session(), &id("u"), 1).unwrap_err();
    assert_eq!(house.events.count(TeamEventKind::Forfeited), 1);
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn a_coordinated_task_can_be_given_up_too() {
    let gate = Gate::closed();
    let house = House::built(registry([(agent("a"), ScriptedExecutor::echo())]), |builder| {
        builder.max_parallel_tasks(1)
    });
    let passing = gate.clone();
    let body = move |_| async move {
        passing.pass().await;
        Ok(TaskOutcome::completed("late"))
    };
    let request = task("t").with_timeout(ms(10));
    let report = house.team.coordinate(request, RunOptions::new(), Coordination::new(body)).await.unwrap();
    assert!(report.detached);
    assert_eq!(house.slots().taken, 1);
    house.team.forfeit(&session(), &id("t"), 1).unwrap();
    assert!(house.run(task("u")).await.is_success());
    gate.open();
    settle().await;
    house.assert_rest();
    assert_eq!(house.events.names_of("t"), ["forfeited"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_give_up_and_the_end_of_the_work_that_race_have_one_outcome() {
    let (mut forfeited, mut ended) = (0, 0);
    for round in 0..300 {
        let gate = Gate::closed();
        let registry = registry([(agent("a"), stubborn(&gate).with_capabilities(one_at_a_time()))]);
        let house = House::built(registry, |builder| builder.grace(ms(0)));
        let handle = house.team.spawn(task("t"));
        gate.arrived(1).await;
        handle.cancel();
        assert!(handle.await.unwrap().detached);
        let team = house.team.clone();
        let give_up = tokio::spawn(async move {
            for _ in 0..round % 5 {
                tokio::task::yield_now().await;
            }
            team.forfeit(&session(), &id("t"), 1).is_ok()
        });
        gate.open();
        let was_forfeited = give_up.await.unwrap();
        let end = if was_forfeited { TeamEventKind::Forfeited } else { TeamEventKind::DetachedEnded };
        house.events.seen(end, 1).await;
        *if was_forfeited { &mut forfeited } else { &mut ended } += 1;
        // The place is free once the work has ended, without a replacement.
        assert_eq!(house.run(task("u")).await.text(), "next");
        while !house.is_at_rest() {
            tokio::task::yield_now().await;
        }
        house.assert_rest();
        assert_eq!(house.events.names_of("t").len(), 5, "{:?}", house.events.names_of("t"));
        assert_eq!(house.record("s", "t").late.is_none(), was_forfeited);
    }
    assert_eq!(forfeited + ended, 300);
}

#[tokio::test(start_paused = true)]
async fn a_replaced_executor_ends_what_it_has_begun_and_gets_nothing_new() {
    let gate = Gate::closed();
    let (old, new) = (stubborn(&gate), ScriptedExecutor::echo());
    let house = House::of(2, old.clone());
    let running = house.team.spawn(task("t"));
    gate.arrived(1).await;
    house.registry.replace("a", new.clone()).unwrap();
    assert_eq!(house.run(task("u")).await.text(), "do it");
    assert_eq!((old.calls(), new.calls()), (1, 1));
    gate.open();
    assert_eq!(running.await.unwrap().text(), "late");
    house.assert_rest();

    let refused = house.registry.replace("a", ScriptedExecutor::echo().with_capabilities(one_at_a_time()));
    assert!(matches!(refused, Err(RegistryError::NotConcurrent { max_concurrency: 2, .. })), "{refused:?}");
    let refused = house.registry.replace("nobody", ScriptedExecutor::echo());
    assert!(matches!(refused, Err(RegistryError::Unknown { .. })), "{refused:?}");
    house.run(task("v")).await;
    assert_eq!(new.calls(), 2, "as before");
}
