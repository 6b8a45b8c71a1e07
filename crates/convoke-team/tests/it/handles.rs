//! Tasks that run on their own, and what their handles show.

use convoke_core::{ErrorCode, TaskRequest, TaskStatus};
use convoke_registry::Progress;
use convoke_testkit::{Gate, ScriptedExecutor, Step};

use crate::house::{House, assert_end, ms, settle, task};

#[tokio::test(start_paused = true)]
async fn a_handle_shows_where_the_task_stands() {
    let gate = Gate::closed();
    let house = House::of(1, ScriptedExecutor::new([Step::reply("done").after(&gate)]));
    let mut handle = house.team.spawn(task("t"));
    assert_eq!((handle.status(), handle.task().as_str()), (TaskStatus::Submitted, "t"));
    gate.arrived(1).await;
    assert_eq!(handle.status(), TaskStatus::Working);
    gate.open();
    let report = (&mut handle).await.unwrap();
    assert_eq!((handle.status(), report.status), (TaskStatus::Completed, TaskStatus::Completed));
}

#[tokio::test(start_paused = true)]
async fn each_end_shows_on_the_handle() {
    for (step, status) in [
        (Step::reply("done"), TaskStatus::Completed),
        (Step::panic("broken"), TaskStatus::Failed),
        (Step::pause("which?"), TaskStatus::InputRequired),
        (Step::cancelled(), TaskStatus::TimedOut),
        (Step::never(), TaskStatus::TimedOut),
    ] {
        let house = House::of(1, ScriptedExecutor::new([step]));
        let mut handle = house.team.spawn(task("t").with_timeout(ms(20)));
        (&mut handle).await.unwrap();
        assert_eq!(handle.status(), status);
    }
    let house = House::of(1, ScriptedExecutor::new([]));
    let mut handle = house.team.spawn(task("t").requiring("sing"));
    (&mut handle).await.unwrap();
    assert_eq!(handle.status(), TaskStatus::Blocked);
}

#[tokio::test(start_paused = true)]
async fn a_task_starts_although_nobody_awaits_its_handle_and_goes_on_when_that_is_dropped() {
    let gate = Gate::closed();
    let house = House::of(1, ScriptedExecutor::new([Step::reply("done").after(&gate)]));
    let handle = house.team.spawn(task("t"));
    gate.arrived(1).await;
    drop(handle);
    settle().await;
    assert_eq!(house.record("s", "t").status, TaskStatus::Working);
    gate.open();
    house.events.seen(convoke_team::TeamEventKind::Completed, 1).await;
    assert_eq!(house.record("s", "t").report.unwrap().text(), "done");
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn a_task_whose_handle_was_dropped_while_it_waited_runs_all_the_same() {
    let house = House::of(1, ScriptedExecutor::new([Step::reply("done")]));
    let busy = house.registry.acquire(convoke_registry::LeaseRequest::new(&[])).await.unwrap();
    drop(house.team.spawn(task("t")));
    settle().await;
    drop(busy);
    house.events.seen(convoke_team::TeamEventKind::Completed, 1).await;
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn cancelling_a_handle_stops_its_task_and_no_other() {
    let house = House::of(2, ScriptedExecutor::new([Step::cancelled(), Step::cancelled()]));
    let (first, second) = (house.team.spawn(task("t")), house.team.spawn(task("u").with_timeout(ms(500))));
    settle().await;
    first.cancel();
    first.cancel();
    assert_end(&first.await.unwrap(), TaskStatus::Cancelled, ErrorCode::Cancelled);
    assert_end(&second.await.unwrap(), TaskStatus::TimedOut, ErrorCode::TimedOut);
}

#[tokio::test(start_paused = true)]
async fn cancelling_what_has_ended_changes_nothing() {
    let house = House::of(1, ScriptedExecutor::new([Step::reply("done")]));
    let mut handle = house.team.spawn(task("t"));
    (&mut handle).await.unwrap();
    handle.cancel();
    settle().await;
    assert_eq!(house.events.names().len(), 4);
    assert_eq!(house.record("s", "t").status, TaskStatus::Completed);
}

#[tokio::test(start_paused = true)]
async fn updates_come_in_order_and_end_with_the_work() {
    let gate = Gate::closed();
    let middle = gate.clone();
    let step = Step::call(move |_, ctx| async move {
        ctx.emit("began");
        middle.pass().await;
        ctx.emit(Progress::new("half").with_fraction(0.5));
        Ok("done")
    });
    let house = House::of(1, ScriptedExecutor::new([step]));
    let mut handle = house.team.spawn(task("t"));
    let mut updates = handle.updates().unwrap();
    assert!(handle.updates().is_none(), "there is one reader");
    assert_eq!(updates.next().await, Some(Progress::new("began")));
    gate.open();
    assert_eq!(updates.next().await, Some(Progress::new("half").with_fraction(0.5)));
    assert_eq!(updates.next().await, None);
    assert_eq!(updates.missed(), 0);
    handle.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn updates_that_nobody_reads_are_dropped_and_counted() {
    let step = Step::call(|_, ctx| async move {
        for number in 0..100 {
            ctx.emit(number.to_string());
        }
        Ok("done")
    });
    let house = House::of(1, ScriptedExecutor::new([step]));
    let mut handle = house.team.spawn(task("t"));
    let mut updates = handle.updates().unwrap();
    handle.await.unwrap();
    assert_eq!(updates.missed(), 36);
    for number in 36..100 {
        assert_eq!(updates.next().await.unwrap().text, number.to_string());
    }
    assert_eq!(updates.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn updates_of_a_task_that_never_starts_end_with_it() {
    let house = House::of(1, ScriptedExecutor::new([]));
    let mut handle = house.team.spawn(task("t").requiring("sing"));
    let mut updates = handle.updates().unwrap();
    assert_eq!(updates.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn updates_of_detached_work_go_on_until_it_ends() {
    let step = Step::call(|_, ctx| async move {
        tokio::time::sleep(ms(500)).await;
        ctx.emit("late");
        Ok("done")
    });
    let house = House::of(1, ScriptedExecutor::new([step]));
    let mut handle = house.team.spawn(task("t").with_timeout(ms(20)));
    let mut updates = handle.updates().unwrap();
    assert!(handle.await.unwrap().detached);
    assert_eq!(updates.next().await.unwrap().text, "late");
    assert_eq!(updates.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn progress_that_nobody_can_hear_costs_nothing() {
    let step = Step::call(|_, ctx| async move {
        ctx.emit("unheard");
        Ok("done")
    });
    let house = House::of(1, ScriptedExecutor::new([step]));
    assert!(house.run(TaskRequest::new("x")).await.is_success());
}
