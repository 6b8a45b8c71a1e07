//! Dropping a call at every place where it can be dropped: nothing leaks, and every record is settled.

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::time::sleep;

use convoke_core::{TaskOutcome, TaskReport, TaskRequest, TaskStatus};
use convoke_registry::{
    Coordination, ExecutionContext, ExecutorCapabilities, FunctionExecutor, LeaseRequest, RunOptions,
    TeamError, TeamHandle,
};
use convoke_testkit::{ScriptedExecutor, Step, dropped_after};

use crate::house::{House, agent, is_end, ms, registry};

/// After what a future is dropped.
#[derive(Clone, Copy, Debug)]
enum Cut {
    Polls(usize),
    /// Turns of the other tasks, in which no time passes.
    Turns(usize),
    Millis(usize),
}

const CUTS: [fn(usize) -> Cut; 3] = [Cut::Polls, Cut::Turns, Cut::Millis];

async fn turns(count: usize) {
    for _ in 0..count {
        tokio::task::yield_now().await;
    }
}

async fn cut_short<F: Future>(future: F, cut: Cut) -> Option<F::Output> {
    match cut {
        Cut::Polls(count) => dropped_after(count, future).await,
        Cut::Turns(count) => {
            let mut future = pin!(future);
            tokio::select! {
                biased;
                output = &mut future => Some(output),
                () = turns(count) => None,
            }
        }
        Cut::Millis(count) => tokio::time::timeout(ms(count as u64), future).await.ok(),
    }
}

/// An agent with one place that is busy for the first five milliseconds, one that stops when it is asked to, one that
/// does not, and one whose work may be dropped.
fn house() -> House {
    let executor = ScriptedExecutor::answering(|request| match request.input.as_str() {
        "obeys" => Step::cancelled(),
        "fails" => Step::panic("broken").after_delay(ms(3)),
        _ => Step::reply("done").after_delay(ms(150)),
    });
    let house = House::built(
        registry([
            (agent("busy").with_skill("busy"), executor.clone()),
            (agent("free").with_skill("free").with_max_concurrency(2), executor.clone()),
        ]),
        |builder| builder.max_parallel_tasks(3),
    );
    let aborts = executor.with_capabilities(ExecutorCapabilities::default().with_abort_on_cancel());
    house.registry.add(agent("aborts").with_skill("aborts"), aborts).unwrap();
    house
}

fn requests() -> Vec<TaskRequest> {
    let request = |input: &str, skill: &str| {
        TaskRequest::new(input).with_id(format!("{input} {skill}")).in_session("s").requiring(skill)
    };
    vec![
        request("goes on", "busy"),
        request("obeys", "free").with_timeout(ms(30)),
        request("goes on", "free").with_timeout(ms(40)),
        request("fails", "free"),
        request("goes on", "aborts").with_timeout(ms(400)),
        request("obeys", "busy").with_timeout(ms(20)),
        request("refused", "sing"),
    ]
}

/// Calls `call` in a new house, cuts it short, and looks at the house until everything is over; `true` if the call came
/// to its end.
async fn check<F: Future>(call: impl FnOnce(&House) -> F, cut: Cut) -> bool {
    check_in(house(), call, cut).await
}

async fn check_in<F: Future>(house: House, call: impl FnOnce(&House) -> F, cut: Cut) -> bool {
    let skills = [convoke_core::SkillId::new("busy").unwrap()];
    let busy = house.registry.acquire(LeaseRequest::new(&skills)).await.unwrap();
    tokio::spawn(async move {
        sleep(ms(5)).await;
        drop(busy);
    });
    let ended = cut_short(call(&house), cut).await.is_some();
    for millis in 0..1_000 {
        house.assert_sound();
        sleep(ms(1)).await;
        if millis > 10 && house.is_at_rest() {
            break;
        }
    }
    house.assert_rest();
    if let Some(session) = house.team.session("s") {
        let activity = session.activity();
        assert_eq!((activity.active, activity.paused, activity.detached), (0, 0, 0), "{cut:?}");
        for (task, record) in session.snapshot().tasks() {
            assert!(record.status.is_terminal(), "{task} is {} after {cut:?}", record.status);
            let names = house.events.names_of(task.as_str());
            let told = usize::from(task.as_str() != "body");
            assert_eq!(
                names.iter().filter(|name| is_end(name)).count(),
                told,
                "{task} after {cut:?}: {names:?}"
            );
        }
    }
    ended
}

/// Cuts a call short at every place until it comes to its end.
async fn check_all<F: Future>(call: impl Fn(&House) -> F) {
    for cut in CUTS {
        let mut count = 0;
        while !check(&call, cut(count)).await {
            count += 1;
            // Turns without time never come to the end of work that takes time.
            if matches!(cut(count), Cut::Turns(60)) {
                break;
            }
            assert!(count < 1_000, "it never ends");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn of_a_run() {
    for request in requests() {
        check_all(|house| house.team.run(request.clone())).await;
    }
}

#[tokio::test(start_paused = true)]
async fn of_many() {
    check_all(|house| house.team.run_parallel(requests())).await;
}

/// Takes the answers of all, each as it comes.
fn each(team: &TeamHandle) -> impl Future<Output = usize> + Send + use<> {
    let mut answers = team.run_each(requests(), RunOptions::new());
    async move {
        let mut count = 0;
        while let Some((_, answer)) = answers.next().await {
            answer.unwrap();
            count += 1;
        }
        count
    }
}

#[tokio::test(start_paused = true)]
async fn of_each_of_many() {
    check_all(|house| each(&house.team.handle())).await;
    assert_eq!(each(&house().team.handle()).await, requests().len());
}

#[tokio::test(start_paused = true)]
async fn of_a_handle_which_stops_nothing() {
    for request in requests() {
        check_all(|house| house.team.spawn(request.clone())).await;
    }
}

/// Cuts a call of an agent's executor short at every place until it comes to its end.
async fn check_nested<F>(call: impl Fn(&TeamHandle) -> F + Clone + Send + Sync + 'static)
where
    F: Future<Output: Send> + Send,
{
    for cut in CUTS {
        let mut count = 0;
        while !check_nested_once(call.clone(), cut(count)).await {
            // Time passes in steps: what happens at one and the same moment is cut by turns.
            count += if matches!(cut(count), Cut::Millis(_)) { 7 } else { 1 };
            if matches!(cut(count), Cut::Turns(60)) {
                break;
            }
            assert!(count < 1_000, "it never ends");
        }
    }
}

async fn check_nested_once<F>(
    call: impl Fn(&TeamHandle) -> F + Clone + Send + Sync + 'static,
    cut: Cut,
) -> bool
where
    F: Future<Output: Send> + Send,
{
    let has_ended = Arc::new(AtomicBool::new(false));
    let (house, ended) = (house(), Arc::clone(&has_ended));
    let asks = FunctionExecutor::new(move |_, ctx: ExecutionContext| {
        let (call, ended) = (call.clone(), Arc::clone(&ended));
        async move {
            let answer = cut_short(call(ctx.team()), cut).await;
            ended.store(answer.is_some(), Ordering::Relaxed);
            // It goes on for a while, so that what it gave up ends before it does, or with it.
            sleep(ms(20)).await;
            Ok("asked")
        }
    });
    house.registry.add(agent("asks").with_skill("asks"), asks).unwrap();
    let request = TaskRequest::new("x").with_id("asks").in_session("s").requiring("asks");
    assert!(check_in(house, |house| house.team.run(request), Cut::Millis(1_000)).await);
    has_ended.load(Ordering::Relaxed)
}

#[tokio::test(start_paused = true)]
async fn of_a_nested_run() {
    for request in requests() {
        check_nested(move |team| team.run(request.clone())).await;
    }
}

#[tokio::test(start_paused = true)]
async fn of_many_nested_ones() {
    check_nested(|team| team.run_parallel(requests())).await;
}

#[tokio::test(start_paused = true)]
async fn of_each_of_many_nested_ones() {
    check_nested(each).await;
}

#[tokio::test(start_paused = true)]
async fn of_a_handle_that_a_task_awaits() {
    for request in requests() {
        let independent = request.clone();
        check_nested(move |team| team.spawn(request.clone())).await;
        check_nested(move |team| team.spawn_independent(independent.clone())).await;
    }
}

/// The body of a coordinated task that asks for all, one after the other.
fn coordinated(team: &TeamHandle) -> impl Future<Output = Result<TaskReport, TeamError>> + Send + use<> {
    let request = TaskRequest::new("x").with_id("body").in_session("s");
    team.coordinate(
        request,
        RunOptions::new(),
        Coordination::new(|ctx| async move {
            for request in requests() {
                ctx.team().run(request).await.unwrap();
            }
            Ok(TaskOutcome::completed("asked"))
        }),
    )
}

#[tokio::test(start_paused = true)]
async fn of_a_coordinated_task() {
    check_all(|house| coordinated(&house.team.handle())).await;
    check_nested(coordinated).await;
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_dropped_is_cancelled_and_its_record_says_so() {
    let house = House::of(1, ScriptedExecutor::new([Step::cancelled(), Step::reply("again")]));
    let request = || TaskRequest::new("x").with_id("t").in_session("s");
    let run = tokio::spawn(house.team.run(request()));
    crate::house::settle().await;
    run.abort();
    crate::house::settle().await;
    let record = house.record("s", "t");
    assert_eq!((record.status, record.attempt), (TaskStatus::Cancelled, 1));
    house.assert_rest();
    assert_eq!(house.run(request()).await.attempt, 2);
}

#[tokio::test(start_paused = true)]
async fn a_handle_that_is_dropped_at_any_place_changes_no_result() {
    for polls in 0..4 {
        let house = House::of(1, ScriptedExecutor::new([Step::reply("done").after_delay(ms(10))]));
        dropped_after(polls, house.team.spawn(TaskRequest::new("x").with_id("t").in_session("s"))).await;
        sleep(ms(100)).await;
        assert_eq!(house.record("s", "t").status, TaskStatus::Completed);
    }
}
