//! Answers that a task takes: its slot is lent while it has them, and what it asked for ends with it.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::time::{Instant, sleep, timeout};

use convoke_core::{ErrorCode, TaskOutcome, TaskReport, TaskRequest, TaskStatus};
use convoke_registry::{
    Answers, CoordinatedContext, Coordination, CoordinationError, ExecutionContext, FunctionExecutor,
    RunOptions,
};
use convoke_testkit::{Gate, ScriptedExecutor, Step};

use super::{in_order, mixed, named, timed};
use crate::house::{House, agent, assert_end, ms, registry, settle, task};

/// A house of one slot, whose agents `a` and `b` have two places each and do what `executor` does.
fn of_one_slot(executor: &ScriptedExecutor) -> House {
    let agents = ["a", "b"].map(|id| (agent(id).with_skill(id).with_max_concurrency(2), executor.clone()));
    House::built(registry(agents), |builder| builder.max_parallel_tasks(1))
}

/// Runs `body` as task `t` of session `s`.
async fn coordinate<B, F>(house: &House, request: TaskRequest, body: B) -> TaskReport
where
    B: FnOnce(CoordinatedContext) -> F + Send + 'static,
    F: Future<Output = Result<TaskOutcome, CoordinationError>> + Send + 'static,
{
    house.team.coordinate(request, RunOptions::new(), Coordination::new(body)).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn one_slot_is_enough_and_is_lent_also_between_two_polls() {
    let house = of_one_slot(&timed());
    let report = coordinate(&house, task("t"), |ctx| async move {
        let start = Instant::now();
        let mut answers = ctx.team().run_each(named(["10", "30", "20"]), RunOptions::new());
        assert_eq!(answers.next().await.unwrap().0, 0);
        assert_eq!(start.elapsed(), ms(10));
        sleep(ms(55)).await;
        let snapshot = ctx.session().snapshot();
        assert_eq!(snapshot.task(&"20".try_into().unwrap()).unwrap().status, TaskStatus::Completed);
        for (expected, queued) in [(1, 10), (2, 40)] {
            let (index, answer) = answers.next().await.unwrap();
            assert_eq!((index, answer.unwrap().timing.queued), (expected, ms(queued)));
        }
        assert_eq!(start.elapsed(), ms(65));
        Ok(TaskOutcome::completed("done"))
    })
    .await;
    assert!(report.is_success(), "{report:?}");
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn dropping_the_answers_gives_the_slot_back_at_once() {
    let gate = Gate::closed();
    let house = of_one_slot(&mixed(&gate));
    let (team, arrivals) = (house.team.clone(), gate.clone());
    let report = coordinate(&house, task("t"), |ctx| async move {
        let start = Instant::now();
        let mut answers = ctx.team().run_each(named(["quick", "goes on", "in line"]), RunOptions::new());
        assert_eq!(answers.next().await.unwrap().0, 0);
        arrivals.arrived(1).await;
        assert_eq!(team.stats().slots.taken, 1, "the one that is lent");
        drop(answers);
        assert_eq!(team.stats().slots.taken, 2, "what goes on has one of its own");
        let other = ctx.team().run(TaskRequest::new("quick").requiring("b")).await?;
        assert_eq!((other.text(), start.elapsed()), ("done", ms(0)), "the slot can be lent again");
        Ok(TaskOutcome::completed("done"))
    })
    .await;
    assert!(report.is_success(), "{report:?}");
    assert_eq!(house.slots().taken, 1);
    gate.open();
    settle().await;
    assert_eq!(house.events.names_of("in line"), ["cancelled"]);
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn it_inherits_session_deadline_and_trace_also_through_the_runtime_itself() {
    let executor = ScriptedExecutor::answering(|_| {
        Step::call(|_, ctx: ExecutionContext| async move {
            let (left, trace_id) = (ctx.remaining_time().unwrap(), ctx.scope().trace_id().unwrap());
            Ok(format!(
                "{} {} {trace_id} {}",
                ctx.session().session_id(),
                ctx.scope().depth(),
                left.as_millis()
            ))
        })
    });
    let house = of_one_slot(&executor);
    let team = house.team.clone();
    let request = task("t").with_timeout(ms(800)).with_trace_id("trace-1");
    let report = coordinate(&house, request, |ctx| async move {
        let requests = || [TaskRequest::new("x"), TaskRequest::new("y")];
        // Made before it is polled, and polled where the task is recognised.
        let mut said = Vec::new();
        for answers in
            [ctx.team().run_each(requests(), RunOptions::new()), team.run_each(requests(), RunOptions::new())]
        {
            said.extend(in_order(answers).await.iter().map(|report| report.text().to_owned()));
        }
        Ok(TaskOutcome::completed(said.join(", ")))
    })
    .await;
    assert_eq!(report.text(), ["s 2 trace-1 750"; 4].join(", "));
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn what_could_never_get_its_agent_is_refused_and_the_others_answer() {
    let house = House::of(1, ScriptedExecutor::echo());
    let asks = FunctionExecutor::new(|_, ctx: ExecutionContext| async move {
        let requests = ["asks", "a", "asks"].map(|id| TaskRequest::new("x").preferring(id));
        let reports = in_order(ctx.team().run_each(requests, RunOptions::new())).await;
        for refused in [&reports[0], &reports[2]] {
            assert_end(refused, TaskStatus::Blocked, ErrorCode::WaitCycle);
            assert_eq!(refused.attempt, 0);
        }
        Ok(reports[1].text().to_owned())
    });
    house.registry.add(agent("asks"), asks).unwrap();
    let run = house.run(task("t").preferring("asks"));
    assert_eq!(timeout(ms(60_000), run).await.expect("nobody hangs").text(), "x");
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn a_circle_of_two_that_take_answers_is_broken() {
    let registry = convoke_registry::AgentRegistry::new();
    let both_run = Gate::closed();
    for (name, other) in [("a", "b"), ("b", "a")] {
        let gate = both_run.clone();
        let executor = FunctionExecutor::new(move |request: TaskRequest, ctx: ExecutionContext| {
            let gate = gate.clone();
            async move {
                if request.input == "leaf" {
                    return Ok("leaf".to_owned());
                }
                gate.pass().await;
                let leaf = [TaskRequest::new("leaf").preferring(other)];
                let report = in_order(ctx.team().run_each(leaf, RunOptions::new())).await.remove(0);
                Ok(report.code().map_or(report.text().to_owned(), |code| code.to_string()))
            }
        });
        registry.add(agent(name), executor).unwrap();
    }
    let house = House::new(registry);
    let asked = [("t", "a"), ("u", "b")].map(|(id, agent)| house.team.spawn(task(id).preferring(agent)));
    both_run.arrived(2).await;
    both_run.open();
    let mut said = Vec::new();
    for handle in asked {
        let answer = timeout(ms(60_000), handle).await.expect("nobody hangs");
        said.push(answer.unwrap().text().to_owned());
    }
    said.sort();
    assert_eq!(said, ["leaf", "wait_cycle"], "one of them, whichever asked last");
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn what_a_task_asked_for_is_stopped_when_it_ends_although_the_answers_live_on() {
    let kept: Arc<Mutex<Option<Answers>>> = Arc::default();
    let gate = Gate::closed();
    let house = of_one_slot(&mixed(&gate));
    let keep = Arc::clone(&kept);
    let report = coordinate(&house, task("t"), |ctx| async move {
        let mut answers = ctx.team().run_each(named(["quick", "obeys", "in line"]), RunOptions::new());
        assert_eq!(answers.next().await.unwrap().0, 0);
        // The next one has begun, and is not only about to.
        settle().await;
        *keep.lock() = Some(answers);
        Ok(TaskOutcome::completed("done"))
    })
    .await;
    assert!(report.is_success(), "{report:?}");
    let mut answers = kept.lock().take().unwrap();
    for _ in 0..2 {
        let report = answers.next().await.unwrap().1.unwrap();
        assert_end(&report, TaskStatus::Cancelled, ErrorCode::Cancelled);
    }
    assert!(answers.next().await.is_none());
    house.assert_rest();
    let mut answers = house.team.run_each(named(["after"]), RunOptions::new());
    gate.open();
    assert!(answers.next().await.unwrap().1.unwrap().is_success());
}

#[tokio::test(start_paused = true)]
async fn answers_that_are_first_polled_after_the_end_of_their_task_are_refusals() {
    let kept: Arc<Mutex<Option<Answers>>> = Arc::default();
    let executor = ScriptedExecutor::new([]);
    let house = of_one_slot(&executor);
    let keep = Arc::clone(&kept);
    coordinate(&house, task("t"), |ctx| async move {
        *keep.lock() = Some(ctx.team().run_each(named(["x", "y"]), RunOptions::new()));
        Ok(TaskOutcome::completed("done"))
    })
    .await;
    let answers = kept.lock().take().unwrap();
    for report in in_order(answers).await {
        assert_end(&report, TaskStatus::Blocked, ErrorCode::InvalidRequest);
        assert_eq!(report.attempt, 0);
    }
    house.assert_rest();
}

#[tokio::test(start_paused = true)]
async fn a_drain_refuses_what_is_in_line_and_not_what_a_task_takes() {
    let gate = Gate::closed();
    let house = of_one_slot(&mixed(&gate));
    let asks = Coordination::new(|ctx| async move {
        let reports = in_order(ctx.team().run_each(named(["goes on", "quick"]), RunOptions::new())).await;
        assert!(reports.iter().all(TaskReport::is_success), "{reports:?}");
        Ok(TaskOutcome::completed("done"))
    });
    let nested = tokio::spawn(house.team.coordinate(task("t"), RunOptions::new(), asks));
    gate.arrived(1).await;
    let host = tokio::spawn(in_order(house.team.run_each(named(["x", "y"]), RunOptions::new())));
    settle().await;
    assert_eq!(house.slots().waiting, 3);
    let team = house.team.clone();
    let drained = tokio::spawn(async move { team.drain(Instant::now() + ms(1_000)).await });
    for report in host.await.unwrap() {
        assert_end(&report, TaskStatus::Blocked, ErrorCode::ShuttingDown);
    }
    gate.open();
    assert!(nested.await.unwrap().unwrap().is_success());
    drained.await.unwrap();
    house.assert_rest();
}
