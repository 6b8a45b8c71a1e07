//! A runtime that drains: one way, without stopping anything.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

use convoke_core::{ErrorCode, TaskOutcome, TaskReport, TaskRequest, TaskStatus};
use convoke_registry::{
    AgentRegistry, Coordination, ExecutionContext, FunctionExecutor, RunOptions, TaskHandle,
};
use convoke_team::{TeamEventKind, UnfinishedTask};
use convoke_testkit::{Gate, ScriptedExecutor, Step, dropped_after};

use crate::house::{House, agent, assert_end, ms, registry, reports, settle, task};

/// A house of `places` places and as many slots, whose agent works until the gate opens.
fn house(places: u32, gate: &Gate) -> House {
    let gate = gate.clone();
    let executor = ScriptedExecutor::answering(move |_| Step::reply("done").after(&gate));
    let registry = registry([(agent("a").with_max_concurrency(places), executor)]);
    House::built(registry, |builder| builder.max_parallel_tasks(places as usize))
}

/// Begins to drain, and waits for nothing.
async fn begin(house: &House) {
    assert!(dropped_after(1, house.team.drain(None)).await.is_none_or(|left| left.is_empty()));
}

/// Who is left: session, task, attempt, agent, status, and whether it is detached.
type Left = (String, String, u32, Option<String>, TaskStatus, bool);

fn listed(left: Vec<UnfinishedTask>) -> Vec<Left> {
    let entry = |one: UnfinishedTask| {
        let agent = one.agent.map(|agent| agent.to_string());
        (one.session.to_string(), one.task.to_string(), one.attempt, agent, one.status, one.detached)
    };
    left.into_iter().map(entry).collect()
}

fn left(session: &str, task: &str, agent: Option<&str>, status: TaskStatus, detached: bool) -> Left {
    (session.to_owned(), task.to_owned(), 1, agent.map(ToOwned::to_owned), status, detached)
}

#[track_caller]
fn assert_refused(report: &TaskReport) {
    assert_end(report, TaskStatus::Blocked, ErrorCode::ShuttingDown);
    assert_eq!(report.attempt, 0);
}

#[tokio::test(start_paused = true)]
async fn a_runtime_with_nothing_under_way_is_drained_at_once_and_admits_nothing_more() {
    let house = House::of(1, ScriptedExecutor::echo());
    assert!(house.run(task("before")).await.is_success());
    let start = Instant::now();
    assert_eq!(house.team.drain(None).await, []);
    assert_eq!(house.team.drain(Instant::now() + ms(100)).await, [], "and once more");
    assert_eq!(start.elapsed(), ms(0));

    assert_refused(&house.run(task("run")).await);
    assert_refused(&house.team.spawn(task("spawn")).await.unwrap());
    for report in reports(house.team.run_parallel([task("one"), task("two")]).await) {
        assert_refused(&report);
    }
    assert_refused(&house.team.handle().run(task("handle")).await.unwrap());
    assert_refused(&house.team.handle().spawn_independent(task("independent")).await.unwrap());
    let check = || panic!("not to be called");
    let body = |_| async { Ok(TaskOutcome::completed("x")) };
    assert_refused(
        &house
            .team
            .coordinate(task("body"), RunOptions::new(), Coordination::new(body).with_check(check))
            .await
            .unwrap(),
    );

    let snapshot = house.team.session("s").unwrap().snapshot();
    assert_eq!(snapshot.tasks().len(), 1, "no record");
    assert_eq!(house.events.names_of("run"), ["blocked"]);
    house.assert_rest();
    assert!(house.team.create_session("other").is_ok(), "sessions are another matter");
}

#[tokio::test(start_paused = true)]
async fn what_was_admitted_runs_on_also_where_it_waits_in_line() {
    let gate = Gate::closed();
    let house = house(1, &gate);
    let (running, queued) = (house.team.spawn(task("t")), house.team.spawn(task("u")));
    gate.arrived(1).await;
    let drain = tokio::spawn({
        let team = house.team.clone();
        async move { team.drain(None).await }
    });
    settle().await;
    assert_refused(&house.run(task("v")).await);
    assert!(!drain.is_finished());
    assert_eq!((running.status(), queued.status()), (TaskStatus::Working, TaskStatus::Submitted));
    gate.let_through(1);
    assert!(running.await.unwrap().is_success());
    settle().await;
    assert!(!drain.is_finished(), "one is left");
    gate.open();
    assert!(queued.await.unwrap().is_success());
    assert_eq!(drain.await.unwrap(), []);
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn the_rest_of_many_is_refused_at_once_and_those_that_run_go_on() {
    let gate = Gate::closed();
    let house = house(2, &gate);
    let requests = (0..200).map(|number| task(&format!("t{number}")));
    let many = tokio::spawn(house.team.run_parallel(requests));
    gate.arrived(2).await;
    begin(&house).await;
    settle().await;
    let blocked = house.events.count(TeamEventKind::Blocked);
    assert_eq!((blocked, house.slots().waiting), (198, 0), "while two still run");
    gate.open();
    let reports = reports(many.await.unwrap());
    assert!(reports[..2].iter().all(TaskReport::is_success));
    reports[2..].iter().for_each(assert_refused);
    assert_eq!(house.team.session("s").unwrap().snapshot().tasks().len(), 2);
    assert_eq!(house.team.drain(None).await, []);
}

/// A registry whose agent `outer` passes the gate and then does what `then` says, and whose agent `inner` answers.
fn with_outer<F, W>(gate: &Gate, then: F) -> AgentRegistry
where
    F: Fn(ExecutionContext) -> W + Send + Sync + 'static,
    W: Future<Output = String> + Send,
{
    let (gate, then) = (gate.clone(), Arc::new(then));
    let registry = AgentRegistry::new();
    let outer = FunctionExecutor::new(move |_, ctx: ExecutionContext| {
        let (gate, then) = (gate.clone(), Arc::clone(&then));
        async move {
            gate.pass().await;
            Ok(then(ctx).await)
        }
    });
    registry.add(agent("outer").with_skill("outer"), outer).unwrap();
    let inner = ScriptedExecutor::answering(|_| Step::reply("inner").after_delay(ms(5)));
    registry.add(agent("inner").with_skill("inner").with_max_concurrency(4), inner).unwrap();
    registry
}

fn inner() -> TaskRequest {
    TaskRequest::new("x").requiring("inner")
}

#[tokio::test(start_paused = true)]
async fn nested_work_still_runs_and_independent_work_does_not() {
    let gate = Gate::closed();
    let registry = with_outer(&gate, |ctx| async move {
        let mut said = Vec::new();
        let mut note = |report: TaskReport| match report.code() {
            None => said.push(report.text().to_owned()),
            Some(code) => said.push(format!("{code} {}", report.attempt)),
        };
        note(ctx.team().run(inner()).await.unwrap());
        note(ctx.team().spawn(inner()).await.unwrap());
        reports(ctx.team().run_parallel(vec![inner(); 3]).await).into_iter().for_each(&mut note);
        let body = |_| async { Ok(TaskOutcome::completed("body")) };
        let coordinated = ctx.team().coordinate(inner(), RunOptions::new(), Coordination::new(body));
        note(coordinated.await.unwrap());
        note(ctx.team().spawn_independent(inner()).await.unwrap());
        said.join(", ")
    });
    let house = House::built(registry, |builder| builder.max_parallel_tasks(1));
    let outer = house.team.spawn(task("t").requiring("outer"));
    gate.arrived(1).await;
    begin(&house).await;
    gate.open();
    let expected = "inner, inner, inner, inner, inner, body, shutting_down 0";
    assert_eq!(outer.await.unwrap().text(), expected);
    assert_eq!(house.team.drain(None).await, []);
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn independent_work_that_was_admitted_before_is_waited_for() {
    let gate = Gate::closed();
    let kept: Arc<Mutex<Option<TaskHandle>>> = Arc::default();
    let keep = Arc::clone(&kept);
    let registry = with_outer(&gate, move |ctx| {
        *keep.lock() = Some(ctx.team().spawn_independent(inner()));
        async move {
            sleep(ms(1)).await;
            "outer".to_owned()
        }
    });
    let house = House::new(registry);
    gate.open();
    assert!(house.run(task("t").requiring("outer")).await.is_success());
    let start = Instant::now();
    assert_eq!(house.team.drain(None).await, []);
    assert_eq!(start.elapsed(), ms(4));
    let handle = kept.lock().take().unwrap();
    assert_eq!(handle.await.unwrap().text(), "inner");
}

#[tokio::test(start_paused = true)]
async fn at_the_deadline_it_says_what_is_left_and_stops_nothing() {
    let gate = Gate::closed();
    let house = house(2, &gate);
    assert!(house.run(task("detached").with_timeout(ms(10))).await.detached);
    let running = house.team.spawn(TaskRequest::new("x").with_id("running").in_session("r"));
    gate.arrived(2).await;
    let queued = house.team.spawn(task("queued"));
    let body = |_| std::future::pending::<Result<TaskOutcome, _>>();
    let coordinated =
        tokio::spawn(house.team.coordinate(task("body"), RunOptions::new(), Coordination::new(body)));
    settle().await;

    let start = Instant::now();
    let expected = || {
        [
            left("r", "running", Some("a"), TaskStatus::Working, false),
            left("s", "body", None, TaskStatus::Submitted, false),
            left("s", "detached", Some("a"), TaskStatus::TimedOut, true),
            left("s", "queued", None, TaskStatus::Submitted, false),
        ]
    };
    assert_eq!(listed(house.team.drain(start + ms(30)).await), expected());
    assert_eq!(start.elapsed(), ms(30));
    assert_eq!(listed(house.team.drain(start).await), expected(), "a deadline that has passed");
    assert_eq!(start.elapsed(), ms(30));
    assert_eq!((running.status(), queued.status()), (TaskStatus::Working, TaskStatus::Submitted));

    gate.open();
    assert!(running.await.unwrap().is_success() && queued.await.unwrap().is_success());
    settle().await;
    let body = left("s", "body", None, TaskStatus::Working, false);
    assert_eq!(listed(house.team.drain(Instant::now() + ms(10)).await), [body]);
    coordinated.abort();
    sleep(ms(100)).await;
    let body = left("s", "body", None, TaskStatus::Cancelled, true);
    assert_eq!(listed(house.team.drain(Instant::now()).await), [body], "which never ends");
}

#[tokio::test(start_paused = true)]
async fn detached_work_is_waited_for_and_what_is_given_up_is_not() {
    for gives_up in [false, true] {
        let gate = Gate::closed();
        let house = house(1, &gate);
        let report = house.run(task("t").with_timeout(ms(10))).await;
        let drain = tokio::spawn({
            let team = house.team.clone();
            async move { team.drain(None).await }
        });
        sleep(ms(1_000)).await;
        assert!(!drain.is_finished());
        if gives_up {
            house.team.forfeit(&report.session, &report.task, 1).unwrap();
        } else {
            gate.open();
        }
        assert_eq!(drain.await.unwrap(), []);
        let last = if gives_up { "forfeited" } else { "detached_ended" };
        assert_eq!(house.events.names().pop(), Some(last), "told before it is drained");
        house.assert_rest();
    }
}

#[tokio::test(start_paused = true)]
async fn a_drain_that_is_dropped_goes_on() {
    let gate = Gate::closed();
    let house = house(1, &gate);
    let running = house.team.spawn(task("t"));
    gate.arrived(1).await;
    let never_polled = house.team.drain(None);
    drop(never_polled);
    assert_eq!(house.team.spawn(task("u")).status(), TaskStatus::Submitted, "not begun");
    settle().await;
    begin(&house).await;
    assert_refused(&house.run(task("v")).await);
    gate.open();
    assert!(running.await.unwrap().is_success());
    assert_eq!(house.team.drain(None).await, []);
    assert_eq!(house.record("s", "u").status, TaskStatus::Completed);
    assert_refused(&house.run(task("w")).await);
}

#[tokio::test(start_paused = true)]
async fn one_that_is_cancelled_while_it_drains_is_settled() {
    let gate = Gate::closed();
    let house = house(1, &gate);
    let queued = {
        let _running = house.team.spawn(task("t"));
        house.team.spawn(task("u"))
    };
    gate.arrived(1).await;
    begin(&house).await;
    queued.cancel();
    assert_end(&queued.await.unwrap(), TaskStatus::Cancelled, ErrorCode::Cancelled);
    gate.open();
    assert_eq!(house.team.drain(None).await, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_runs_that_race_with_a_drain_each_ends_before_it_or_is_refused() {
    for round in 0..100 {
        let house = House::of(8, ScriptedExecutor::echo());
        let runs: Vec<_> = (0..20)
            .map(|number| {
                let team = house.team.clone();
                let request = task(&number.to_string());
                tokio::spawn(async move {
                    for _ in 0..number % 5 {
                        tokio::task::yield_now().await;
                    }
                    if number % 2 == 0 {
                        team.run(request).await.unwrap()
                    } else {
                        team.run_parallel([request]).await.remove(0).unwrap()
                    }
                })
            })
            .collect();
        for _ in 0..round % 10 {
            tokio::task::yield_now().await;
        }
        assert_eq!(house.team.drain(None).await, []);
        let at_drain = house.events.count(TeamEventKind::Completed);
        house.assert_rest();
        let mut succeeded = 0;
        for run in runs {
            let report = run.await.unwrap();
            if report.is_success() {
                succeeded += 1;
            } else {
                assert_refused(&report);
            }
        }
        assert_eq!(succeeded, at_drain, "nothing ended after the drain");
    }
}
