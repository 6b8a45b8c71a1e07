//! Coordinated tasks: tasks of a session that nobody in particular does.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::json;
use tokio::time::{Instant, sleep};

use convoke_core::{
    ErrorCode, Message, ResumeToken, TaskError, TaskId, TaskOutcome, TaskOutput, TaskReport, TaskRequest,
    TaskStatus,
};
use convoke_registry::{
    AgentRegistry, CancellationToken, CoordinatedContext, Coordination, CoordinationError, ExecutionContext,
    FunctionExecutor, RunOptions,
};
use convoke_session::{Author, IfCompleted, Reconcile};
use convoke_team::TeamEventKind;
use convoke_testkit::{Gate, ScriptedExecutor, Step};

use crate::house::{House, agent, assert_end, ms, registry, settle, task};

/// A house of one slot, whose agents `a` and `b` answer with the input.
fn house() -> House {
    let echo = ScriptedExecutor::echo();
    House::built(registry([(agent("a"), echo.clone()), (agent("b"), echo)]), |builder| {
        builder.max_parallel_tasks(1)
    })
}

/// Runs `body` as task `t` of session `s`, unless `request` says something else.
async fn coordinate<B, F>(house: &House, request: TaskRequest, body: B) -> TaskReport
where
    B: FnOnce(CoordinatedContext) -> F + Send + 'static,
    F: Future<Output = Result<TaskOutcome, CoordinationError>> + Send + 'static,
{
    coordinate_with(house, request, RunOptions::new(), body).await
}

async fn coordinate_with<B, F>(
    house: &House,
    request: TaskRequest,
    options: RunOptions,
    body: B,
) -> TaskReport
where
    B: FnOnce(CoordinatedContext) -> F + Send + 'static,
    F: Future<Output = Result<TaskOutcome, CoordinationError>> + Send + 'static,
{
    house.team.coordinate(request, options, Coordination::new(body)).await.unwrap()
}

#[expect(clippy::unnecessary_wraps, reason = "it is what a body gives")]
fn done() -> Result<TaskOutcome, CoordinationError> {
    Ok(TaskOutcome::completed("done"))
}

fn failed(code: ErrorCode) -> Result<TaskOutcome, CoordinationError> {
    Err(TaskError::new(code, "its own text").into())
}

/// A body that goes on until the gate opens.
fn until(gate: &Gate) -> impl FnOnce(CoordinatedContext) -> BodyFuture + Send + 'static {
    let gate = gate.clone();
    move |_| {
        Box::pin(async move {
            gate.pass().await;
            done()
        })
    }
}

type BodyFuture = futures_util::future::BoxFuture<'static, Result<TaskOutcome, CoordinationError>>;

#[tokio::test(start_paused = true)]
async fn it_is_a_task_of_its_session_without_agent_lease_input_and_events() {
    let house = house();
    let registry = house.registry.clone();
    let report = coordinate(&house, task("t").with_timeout(ms(500)), move |ctx| async move {
        assert_eq!((ctx.task().as_str(), ctx.attempt()), ("t", 1));
        assert!(ctx.previous().is_none());
        assert_eq!(ctx.scope().deadline(), Some(Instant::now() + ms(500)));
        assert!(registry.list().iter().all(|agent| agent.active == 0), "no lease");
        let entry = ctx.scope().lineage().next().unwrap().clone();
        assert_eq!((entry.task.as_str(), entry.session.as_str(), entry.agent), ("t", "s", None));
        ctx.session().post(Message::agent("staged")).unwrap();
        let snapshot = ctx.session().snapshot();
        assert_eq!(snapshot.messages().len(), 0, "neither input nor what is staged");
        let record = snapshot.task(ctx.task()).unwrap();
        assert_eq!((record.status, record.agent.as_ref()), (TaskStatus::Working, None));
        sleep(ms(20)).await;
        done()
    })
    .await;
    assert_eq!((report.status, report.text(), report.attempt), (TaskStatus::Completed, "done", 1));
    assert_eq!((report.agent.as_ref(), report.telemetry_errors), (None, 0));
    assert_eq!((report.timing.queued, report.timing.executed), (ms(0), ms(20)));

    let snapshot = house.team.session("s").unwrap().snapshot();
    let messages: Vec<_> =
        snapshot.messages().map(|one| (one.id.as_str(), &one.author, one.message.text.as_str())).collect();
    assert_eq!(messages, [("t/1/output/1", &Author::Team, "staged"), ("t/1/output", &Author::Team, "done")]);
    assert_eq!(house.record("s", "t").report.as_deref(), Some(&report));
    assert_eq!(house.events.names(), [""; 0]);
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn it_takes_a_slot_and_waits_for_one() {
    let (house, gate) = (house(), Gate::closed());
    let first =
        tokio::spawn(house.team.coordinate(task("t"), RunOptions::new(), Coordination::new(until(&gate))));
    gate.arrived(1).await;
    assert_eq!(house.slots().taken, 1);
    let second = tokio::spawn(house.team.coordinate(
        task("u"),
        RunOptions::new(),
        Coordination::new(|_| async { done() }),
    ));
    let third = house.team.spawn(task("v"));
    settle().await;
    assert_eq!(house.slots().waiting, 2);
    assert_eq!(house.record("s", "u").status, TaskStatus::Submitted);
    sleep(ms(40)).await;
    gate.open();
    assert!(first.await.unwrap().unwrap().is_success());
    let second = second.await.unwrap().unwrap();
    assert_eq!((second.is_success(), second.timing.queued), (true, ms(40)));
    assert!(third.await.unwrap().is_success());
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn it_lends_its_slot_to_what_it_asks_for() {
    let house = house();
    let report = coordinate(&house, task("t"), |ctx| async move {
        let one = ctx.team().run(task("u").preferring("a")).await.unwrap();
        let two = ctx.team().run_parallel([task("v").preferring("a"), task("w").preferring("b")]).await;
        let three = ctx.team().spawn(task("x")).await.unwrap();
        let inner = ctx.team().coordinate(
            task("y"),
            RunOptions::new(),
            Coordination::new(|ctx| async move {
                assert_eq!(ctx.scope().depth(), 2);
                Ok(TaskOutcome::completed(ctx.team().run(task("z")).await.unwrap().text().to_owned()))
            }),
        );
        let inner = inner.await.unwrap();
        let all = [&one, two[0].as_ref().unwrap(), two[1].as_ref().unwrap(), &three, &inner];
        assert!(all.iter().all(|report| report.is_success()), "{all:?}");
        done()
    })
    .await;
    assert!(report.is_success(), "{report}");
    let snapshot = house.team.session("s").unwrap().snapshot();
    let inputs: Vec<_> = snapshot.messages().filter(|one| one.id.as_str().ends_with("/input")).collect();
    assert_eq!(inputs.len(), 5, "of all that agents did");
    assert!(inputs.iter().all(|input| input.author == Author::Team));
    assert_eq!(house.events.names_of("z").len(), 4, "what it asks for tells of itself");
    assert_eq!(house.events.names_of("y"), [""; 0]);
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn it_can_be_asked_for_by_an_agent_that_it_then_asks_in_vain() {
    let registry = AgentRegistry::new();
    let outer = FunctionExecutor::new(|_, ctx: ExecutionContext| async move {
        let body = |ctx: CoordinatedContext| async move {
            let vain = ctx.team().run(TaskRequest::new("x").preferring("outer")).await.unwrap();
            let inner = ctx.team().run(TaskRequest::new("x").preferring("inner")).await.unwrap();
            Ok(TaskOutcome::completed(format!("{} {}", vain.code().unwrap(), inner.text())))
        };
        let report =
            ctx.team().coordinate(TaskRequest::new("x"), RunOptions::new(), Coordination::new(body)).await?;
        assert_eq!(report.session.as_str(), "s");
        Ok(report.text().to_owned())
    });
    registry.add(agent("outer"), outer).unwrap();
    let inner = FunctionExecutor::new(|_, ctx: ExecutionContext| async move {
        let agents: Vec<_> = ctx.scope().lineage().map(|entry| entry.agent.clone()).collect();
        assert_eq!(agents[1], None);
        Ok("inner")
    });
    registry.add(agent("inner"), inner).unwrap();
    let house = House::built(registry, |builder| builder.max_parallel_tasks(1));
    assert_eq!(house.run(task("t").preferring("outer")).await.text(), "wait_cycle inner");
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn it_can_stand_alone_where_there_is_no_agent() {
    let house = House::new(AgentRegistry::new());
    assert!(coordinate(&house, TaskRequest::new("x"), |_| async { done() }).await.is_success());
    assert_eq!(house.team.stats().sessions, 0, "an unnamed session ends with it");
}

#[tokio::test(start_paused = true)]
async fn what_its_check_refuses_leaves_no_trace() {
    let house = house();
    let codes = [
        ErrorCode::InvalidRequest,
        ErrorCode::CapabilityNotFound,
        ErrorCode::BudgetExhausted,
        ErrorCode::ConsensusNotReached,
    ];
    for code in codes {
        let called = Arc::new(AtomicUsize::new(0));
        let calls = Arc::clone(&called);
        let body = move |_| {
            calls.fetch_add(1, Ordering::Relaxed);
            async { done() }
        };
        let check = move || Err(TaskError::new(code, "no"));
        let report = house
            .team
            .coordinate(task("t"), RunOptions::new(), Coordination::new(body).with_check(check))
            .await
            .unwrap();
        assert_end(&report, TaskStatus::Blocked, code);
        assert_eq!((report.attempt, report.error.unwrap().message()), (0, "no"));
        assert_eq!(called.load(Ordering::Relaxed), 0);
    }
    assert!(house.team.session("s").is_none());
    assert_eq!(house.events.names(), [""; 0]);
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn its_check_is_called_once_before_the_admission_and_not_for_a_bad_request() {
    let house = house();
    let team = house.team.clone();
    let check = move || {
        assert!(team.session("s").is_none(), "nothing is touched yet");
        Ok(())
    };
    let report = house
        .team
        .coordinate(task("t"), RunOptions::new(), Coordination::new(|_| async { done() }).with_check(check))
        .await
        .unwrap();
    assert!(report.is_success(), "{report}");

    let check = || panic!("not to be called");
    let empty = TaskRequest::new("").in_session("s");
    let report = house
        .team
        .coordinate(empty, RunOptions::new(), Coordination::new(|_| async { done() }).with_check(check))
        .await
        .unwrap();
    assert_end(&report, TaskStatus::Blocked, ErrorCode::InvalidRequest);
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_its_check_refuses_it_and_one_of_its_body_fails_it() {
    let house = house();
    let check = || panic!("secret");
    let report = house
        .team
        .coordinate(task("t"), RunOptions::new(), Coordination::new(|_| async { done() }).with_check(check))
        .await
        .unwrap();
    assert_end(&report, TaskStatus::Blocked, ErrorCode::ExecutorPanicked);
    assert_eq!(report.attempt, 0);
    let error = report.error.unwrap();
    assert_eq!((error.message(), error.detail()), ("check of the coordinated task panicked", Some("secret")));
    assert!(house.team.session("s").is_none());

    let at_once = |_| -> std::future::Ready<Result<TaskOutcome, CoordinationError>> { panic!("secret") };
    let later = |_| async {
        sleep(ms(1)).await;
        panic!("secret")
    };
    let reports = [coordinate(&house, task("t"), at_once).await, coordinate(&house, task("t"), later).await];
    for (attempt, report) in (1..).zip(reports) {
        assert_end(&report, TaskStatus::Failed, ErrorCode::ExecutorPanicked);
        assert_eq!(report.attempt, attempt);
        let error = report.error.unwrap();
        assert_eq!((error.message(), error.detail()), ("coordinated task panicked", Some("secret")));
    }
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn it_is_stopped_by_its_deadline_a_token_or_its_caller_and_takes_what_it_asked_for_with_it() {
    let obeys = ScriptedExecutor::answering(|_| Step::cancelled());
    let house = House::built(registry([(agent("a").with_max_concurrency(4), obeys.clone())]), |builder| {
        builder.max_parallel_tasks(1)
    });
    let asks = |nested: &str| {
        let nested = task(nested);
        move |ctx: CoordinatedContext| async move {
            let report = ctx.team().run(nested).await.unwrap();
            assert!(ctx.scope().cancellation().is_cancelled());
            Ok(TaskOutcome::completed(report.status.to_string()))
        }
    };
    let stops = |ctx: CoordinatedContext| async move {
        ctx.scope().cancellation().cancelled().await;
        Ok(TaskOutcome::cancelled())
    };

    let report = coordinate(&house, task("deadline").with_timeout(ms(30)), stops).await;
    assert_end(&report, TaskStatus::TimedOut, ErrorCode::TimedOut);
    assert!(!report.detached);

    let token = CancellationToken::new();
    let options = RunOptions::new().with_cancellation(token.clone());
    let run = house.team.coordinate(task("token"), options, Coordination::new(asks("of token")));
    let run = tokio::spawn(run);
    obeys.called(1).await;
    token.cancel();
    let report = run.await.unwrap().unwrap();
    assert_eq!((report.status, report.text()), (TaskStatus::Completed, "cancelled"), "its own word");

    let run = tokio::spawn(house.team.coordinate(
        task("drop"),
        RunOptions::new(),
        Coordination::new(asks("of drop")),
    ));
    obeys.called(2).await;
    run.abort();
    settle().await;
    assert_eq!(house.record("s", "of drop").status, TaskStatus::Cancelled);
    assert_eq!(house.record("s", "drop").status, TaskStatus::Completed);

    token.cancel();
    let options = RunOptions::new().with_cancellation(token);
    let report = coordinate_with(&house, task("before"), options, |_| async { done() }).await;
    assert_end(&report, TaskStatus::Cancelled, ErrorCode::Cancelled);
    assert_eq!(report.attempt, 1);
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn one_that_does_not_stop_is_detached_and_tells_when_it_ends() {
    let (house, gate) = (house(), Gate::closed());
    let report = coordinate(&house, task("t").with_timeout(ms(20)), until(&gate)).await;
    assert_end(&report, TaskStatus::TimedOut, ErrorCode::TimedOut);
    assert!(report.detached);
    assert_eq!((house.slots().taken, house.team.stats().detached), (1, 1));
    assert_eq!(house.team.detached()[0].agent, None);
    gate.open();
    house.events.seen(TeamEventKind::DetachedEnded, 1).await;
    assert_eq!(house.events.names(), ["detached_ended"]);
    assert_eq!(house.events.events()[0].agent, None);
    house.assert_rest();
    let session = "s".try_into().unwrap();
    let task = TaskId::new("t").unwrap();
    let accepted = house.team.reconcile(&session, &task, Reconcile::AcceptLate).await.unwrap();
    assert_eq!((accepted.text(), accepted.agent.as_ref()), ("done", None));
    let snapshot = house.team.session("s").unwrap().snapshot();
    assert_eq!(snapshot.messages().last().unwrap().author, Author::Team);
    assert_eq!(house.events.names(), ["detached_ended", "reconciled"]);
}

#[tokio::test(start_paused = true)]
async fn a_late_write_of_one_is_refused_and_told() {
    let (house, gate) = (house(), Gate::closed());
    let passing = gate.clone();
    coordinate(&house, task("t").with_timeout(ms(20)), |ctx| async move {
        passing.pass().await;
        ctx.session().post(Message::agent("late")).unwrap_err();
        let nested = ctx.team().run(task("u")).await.unwrap();
        assert_end(&nested, TaskStatus::Blocked, ErrorCode::InvalidRequest);
        done()
    })
    .await;
    gate.open();
    house.events.seen(TeamEventKind::DetachedEnded, 1).await;
    assert_eq!(house.events.names_of("t"), ["late_write_refused", "detached_ended"]);
}

#[tokio::test(start_paused = true)]
async fn its_id_is_that_of_any_task() {
    let (house, gate) = (house(), Gate::closed());
    let failing = coordinate(&house, task("t"), |_| async { failed(ErrorCode::ExecutionFailed) }).await;
    assert_eq!(failing.attempt, 1);
    let running =
        tokio::spawn(house.team.coordinate(task("t"), RunOptions::new(), Coordination::new(until(&gate))));
    gate.arrived(1).await;
    for active in [coordinate(&house, task("t"), |_| async { done() }).await, house.run(task("t")).await] {
        assert_end(&active, TaskStatus::Blocked, ErrorCode::InvalidRequest);
        assert_eq!(active.attempt, 0);
    }
    gate.open();
    let second = running.await.unwrap().unwrap();
    assert_eq!((second.is_success(), second.attempt), (true, 2));

    let options = |if_completed| RunOptions::new().with_if_completed(if_completed);
    let body = |ctx: CoordinatedContext| async move {
        assert_eq!(ctx.previous().unwrap().text(), "done");
        Ok(TaskOutcome::completed("again"))
    };
    let refused = coordinate(&house, task("t"), body).await;
    assert_end(&refused, TaskStatus::Blocked, ErrorCode::InvalidRequest);
    let returned = coordinate_with(&house, task("t"), options(IfCompleted::Return), body).await;
    assert_eq!(returned, second);
    let third = coordinate_with(&house, task("t"), options(IfCompleted::Again), body).await;
    assert_eq!((third.text(), third.attempt), ("again", 3));
}

/// A body that pauses with the token.
fn asks(token: &ResumeToken) -> impl FnOnce(CoordinatedContext) -> BodyFuture + Send + 'static {
    let kept = token.clone();
    move |_| {
        Box::pin(async move {
            Ok(TaskOutcome::InputRequired {
                prompt: "which?".into(),
                request: None,
                resume: Some(kept),
                output: TaskOutput::default(),
            })
        })
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_pauses_goes_on_with_the_answer() {
    let house = house();
    let token = ResumeToken::new(1, json!("state"));
    let paused = coordinate(&house, task("t"), asks(&token)).await;
    assert_eq!(
        (paused.status, paused.pause.as_ref().unwrap().prompt.as_str()),
        (TaskStatus::InputRequired, "which?")
    );
    assert_eq!(house.team.session("s").unwrap().activity().paused, 1);

    let without = coordinate(&house, task("t"), |_| async { done() }).await;
    assert_end(&without, TaskStatus::Blocked, ErrorCode::InvalidRequest);
    let answer = || task("t").resuming(token.clone(), json!("the second"));
    let goes_on = |ctx: CoordinatedContext| async move {
        assert_eq!(ctx.previous().unwrap().status, TaskStatus::InputRequired);
        assert_eq!(ctx.session().snapshot().messages().len(), 0, "an answer is no input message either");
        done()
    };
    let report = coordinate(&house, answer(), goes_on).await;
    assert_eq!((report.is_success(), report.attempt), (true, 2), "{report}");
    let used = coordinate(&house, answer(), |_| async { done() }).await;
    assert_end(&used, TaskStatus::Blocked, ErrorCode::InvalidRequest);
    assert_eq!(house.events.names(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn no_agent_answers_for_one_that_paused() {
    let (house, token) = (house(), ResumeToken::new(1, json!("state")));
    let paused = coordinate(&house, task("t"), asks(&token)).await;
    let record = house.record("s", "t");
    let answer = || paused.answering("this").unwrap();
    for refused in
        [house.run(answer()).await, house.team.run_parallel([answer()]).await.pop().unwrap().unwrap()]
    {
        assert_end(&refused, TaskStatus::Blocked, ErrorCode::InvalidRequest);
        assert_eq!((refused.attempt, &house.record("s", "t")), (0, &record));
        assert_eq!(
            refused.error.unwrap().message(),
            "task `t` paused in attempt 1 as a coordinated task, whose answer no agent takes; \
             coordinate the request, do not run it"
        );
    }
    let report = coordinate(&house, answer(), |_| async { done() }).await;
    assert_eq!((report.is_success(), report.attempt), (true, 2), "{report}");
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn one_that_detaches_under_a_parent_lets_the_parent_go_on_in_one_slot() {
    let (house, gate) = (house(), Gate::closed());
    let inner = until(&gate);
    let report = coordinate(&house, task("t"), |ctx| async move {
        let request = task("u").with_timeout(ms(20));
        let child =
            ctx.team().coordinate(request, RunOptions::new(), Coordination::new(inner)).await.unwrap();
        assert!(child.detached);
        let other =
            ctx.team().coordinate(task("v"), RunOptions::new(), Coordination::new(|_| async { done() }));
        assert!(other.await.unwrap().is_success());
        Ok(TaskOutcome::completed(ctx.team().run(task("w")).await.unwrap().text().to_owned()))
    })
    .await;
    assert_eq!(report.text(), "do it");
    assert_eq!((house.slots().taken, house.team.stats().detached), (0, 1));
    gate.open();
    settle().await;
    house.assert_rest();
}
