//! Many threads at once.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::{Context, Wake},
    time::Duration,
};

use futures_util::future::join_all;
use serde_json::json;

use convoke_core::{ExecutorError, TaskId, TaskOutcome, TaskRequest, TaskStatus};
use convoke_registry::{CancellationToken, ExecutionContext, FunctionExecutor, LeaseRequest, RunOptions};
use convoke_team::{TeamEvent, TeamEventKind, TeamRuntime};
use convoke_testkit::{Gate, RecordingObserver, ScriptedExecutor, Step, dropped_after};

use crate::house::{House, agent, is_end, registry};

/// Ends after as many turns as the input says; looks at the stop only where the input ends in `!`.
async fn turns(request: TaskRequest, ctx: ExecutionContext) -> Result<TaskOutcome, ExecutorError> {
    let obeys = request.input.ends_with('!');
    let count: usize = request.input.trim_end_matches('!').parse()?;
    for _ in 0..count {
        if obeys && ctx.is_cancelled() {
            return Err(ExecutorError::cancelled());
        }
        tokio::task::yield_now().await;
    }
    Ok("done".into())
}

fn input(number: usize) -> String {
    format!("{}{}", number % 13, if number.is_multiple_of(2) { "!" } else { "" })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_end_and_a_stop_that_race_have_one_outcome() {
    let house = House::of(8, FunctionExecutor::new(turns));
    for number in 0..400 {
        let id = number.to_string();
        let handle = house.team.spawn(TaskRequest::new(input(number)).with_id(id.as_str()).in_session("s"));
        for _ in 0..number % 7 {
            tokio::task::yield_now().await;
        }
        handle.cancel();
        let report = handle.await.unwrap();
        assert!(matches!(report.status, TaskStatus::Completed | TaskStatus::Cancelled), "{report:?}");
        assert_eq!(house.record("s", &id).status, report.status);
        let names = house.events.names_of(&id);
        assert_eq!(names.iter().filter(|name| is_end(name)).count(), 1, "{names:?}");
        assert_eq!(names.last(), Some(&report.status.as_str()));
    }
    house.assert_rest();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn work_that_is_run_dropped_and_cancelled_by_many_threads_leaves_nothing() {
    let house = House::built(
        registry([
            (agent("a").with_skill("x").with_max_concurrency(3), FunctionExecutor::new(turns)),
            (agent("b").with_skill("x").with_skill("y"), FunctionExecutor::new(turns)),
        ]),
        |builder| builder.max_parallel_tasks(3),
    );
    let house = Arc::new(house);
    let workers = (0..8_usize).map(|worker| {
        let house = Arc::clone(&house);
        tokio::spawn(async move {
            for number in 0..60 {
                let skill = if number % 3 == 0 { "y" } else { "x" };
                let request = || TaskRequest::new(input(number)).requiring(skill);
                match (worker + number) % 4 {
                    0 => drop(dropped_after(1 + number % 3, house.team.run(request())).await),
                    1 => {
                        let handle = house.team.spawn(request());
                        tokio::task::yield_now().await;
                        handle.cancel();
                        handle.await.unwrap();
                    }
                    2 => {
                        let token = CancellationToken::new();
                        let options = RunOptions::new().with_cancellation(token.clone());
                        let many = house.team.run_parallel_with([request(), request(), request()], options);
                        let many = tokio::spawn(many);
                        tokio::task::yield_now().await;
                        token.cancel();
                        assert_eq!(many.await.unwrap().len(), 3);
                    }
                    _ => assert!(house.team.run(request()).await.unwrap().is_success()),
                }
                house.assert_sound();
            }
        })
    });
    for worker in join_all(workers).await {
        worker.unwrap();
    }
    // What was dropped or detached may still be on its way out.
    while !house.is_at_rest() {
        tokio::task::yield_now().await;
    }
    house.assert_rest();

    let mut ends: HashMap<(TaskId, u32), usize> = HashMap::new();
    loop {
        ends.clear();
        let mut open = 0_i64;
        for event in house.events.events() {
            open += i64::from(event.kind == TeamEventKind::Submitted);
            if is_end(event.kind.as_str()) && event.attempt > 0 {
                open -= 1;
                *ends.entry((event.task, event.attempt)).or_default() += 1;
            }
        }
        if open == 0 {
            break;
        }
        tokio::task::yield_now().await;
    }
    assert!(ends.values().all(|&count| count == 1));
    assert_eq!(house.team.stats().sessions, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_place_is_free_before_the_report_is_given() {
    let house = House::built(registry([(agent("a"), FunctionExecutor::new(turns))]), |builder| {
        builder.max_parallel_tasks(1)
    });
    for _ in 0..2_000 {
        house.run(TaskRequest::new("0")).await;
        assert_eq!((house.load("a").0, house.slots().taken), (0, 0));
    }
}

/// Looks, at the moment at which it is woken, whether a completion was told.
struct Look {
    events: RecordingObserver,
    completions: Mutex<Option<usize>>,
}

impl Wake for Look {
    fn wake(self: Arc<Self>) {
        // Time enough for whoever was told of the end to tell of it.
        tokio::task::block_in_place(|| {
            for _ in 0..200 {
                std::thread::yield_now();
            }
        });
        *self.completions.lock().unwrap() = Some(self.events.count(TeamEventKind::Completed));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_place_goes_to_the_next_one_before_the_end_is_told() {
    let gate = Gate::closed();
    let house = House::of(1, ScriptedExecutor::new([Step::reply("done").after(&gate)]));
    let handle = house.team.spawn(TaskRequest::new("x"));
    gate.arrived(1).await;
    let look = Arc::new(Look { events: house.events.clone(), completions: Mutex::default() });
    let mut next = Box::pin(house.registry.acquire(LeaseRequest::new(&[])));
    assert!(next.as_mut().poll(&mut Context::from_waker(&Arc::clone(&look).into())).is_pending());
    gate.open();
    assert!(handle.await.unwrap().is_success());
    assert_eq!(*look.completions.lock().unwrap(), Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_end_of_detached_work_is_told_after_the_answer() {
    let registry = registry([(
        agent("a"),
        FunctionExecutor::new(|_, ctx: ExecutionContext| async move {
            // Ends as soon as nobody waits for it any more, while that is still being told.
            while !ctx.session().is_revoked() {
                tokio::task::yield_now().await;
            }
            Ok("late")
        }),
    )]);
    let told = Arc::new(Mutex::new(Vec::new()));
    let (tell, agents) = (Arc::clone(&told), registry.clone());
    let on_event = move |event: &TeamEvent| {
        if event.kind == TeamEventKind::Cancelled {
            // Time enough for the work to end, on another thread.
            tokio::task::block_in_place(|| {
                while agents.get("a").unwrap().active > 0 {
                    std::thread::yield_now();
                }
                for _ in 0..100 {
                    std::thread::yield_now();
                }
            });
        }
        tell.lock().unwrap().push(event.kind);
    };
    let team = TeamRuntime::builder(registry).grace(Duration::ZERO).on_event(on_event).build().unwrap();
    for _ in 0..50 {
        let handle = team.spawn(TaskRequest::new("x"));
        while handle.status() != TaskStatus::Working {
            tokio::task::yield_now().await;
        }
        handle.cancel();
        assert!(handle.await.unwrap().detached);
        while told.lock().unwrap().len() < 5 {
            tokio::task::yield_now().await;
        }
        let kinds = std::mem::take(&mut *told.lock().unwrap());
        assert_eq!(kinds[3..], [TeamEventKind::Cancelled, TeamEventKind::DetachedEnded]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_reader_ever_sees_a_completed_task_without_its_output() {
    let house = House::of(8, FunctionExecutor::new(turns));
    let session = house.team.create_session("s").unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..2)
        .map(|_| {
            let (session, over) = (session.clone(), Arc::clone(&over));
            std::thread::spawn(move || {
                let mut seen = 0;
                while !over.load(Ordering::Relaxed) {
                    let snapshot = session.snapshot();
                    let completed =
                        snapshot.tasks().filter(|(_, record)| record.status == TaskStatus::Completed).count();
                    let outputs =
                        snapshot.messages().filter(|message| message.message.text == "done").count();
                    assert_eq!(completed, outputs);
                    seen = seen.max(completed);
                }
                seen
            })
        })
        .collect();
    let requests = (0..300).map(|number: usize| {
        TaskRequest::new(format!("{}", number % 3)).with_id(number.to_string()).in_session("s")
    });
    let answers = house.team.run_parallel(requests).await;
    assert!(answers.iter().all(|answer| answer.as_ref().unwrap().is_success()));
    over.store(true, Ordering::Relaxed);
    for reader in readers {
        assert!(reader.join().unwrap() > 0, "it saw some of it");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn eight_agents_that_count_together_lose_no_count() {
    let count = |_, ctx: ExecutionContext| async move {
        for _ in 0..1_000 {
            let increment = |value: Option<&serde_json::Value>| {
                json!(value.and_then(serde_json::Value::as_u64).unwrap_or(0) + 1)
            };
            ctx.session().update("count", increment).await?;
        }
        Ok("done")
    };
    let agents = (0..8).map(|number| (agent(&format!("agent-{number}")), FunctionExecutor::new(count)));
    let house = House::built(registry(agents), |builder| builder.max_parallel_tasks(8));
    let requests =
        (0..8).map(|number| TaskRequest::new("count").in_session("s").preferring(format!("agent-{number}")));
    let answers = house.team.run_parallel(requests).await;
    assert!(answers.iter().all(|answer| answer.as_ref().unwrap().is_success()));
    assert_eq!(house.team.session("s").unwrap().get("count").unwrap().value, json!(8_000));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_is_admitted_to_a_session_that_was_removed() {
    let house = Arc::new(House::of(8, FunctionExecutor::new(turns)));
    let over = Arc::new(AtomicBool::new(false));
    let removed = Arc::new(AtomicUsize::new(0));
    let removing = {
        let (house, over, removed) = (Arc::clone(&house), Arc::clone(&over), Arc::clone(&removed));
        std::thread::spawn(move || {
            let mut sessions = Vec::new();
            while !over.load(Ordering::Relaxed) {
                if let Ok(session) = house.team.remove_session("s") {
                    sessions.push((session.snapshot().revision(), session));
                    removed.fetch_add(1, Ordering::Relaxed);
                }
            }
            sessions
        })
    };
    let mut number = 0;
    while removed.load(Ordering::Relaxed) < 100 {
        house.run(TaskRequest::new("1").with_id(number.to_string()).in_session("s")).await;
        number += 1;
    }
    over.store(true, Ordering::Relaxed);
    for (revision, session) in removing.join().unwrap() {
        assert_eq!(session.snapshot().revision(), revision, "it was written after its removal");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_id_that_many_ask_for_is_worked_on_by_one() {
    let house = House::of(8, FunctionExecutor::new(turns));
    for round in 0..50 {
        let request = || TaskRequest::new("2").with_id(round.to_string()).in_session("s");
        let answers = join_all((0..6).map(|_| house.team.spawn(request()))).await;
        let completed = answers.iter().filter(|answer| answer.as_ref().unwrap().is_success()).count();
        assert_eq!(completed, 1);
        assert_eq!(
            house.events.names_of(&round.to_string()).iter().filter(|name| **name == "started").count(),
            1
        );
    }
    house.assert_rest();
}
