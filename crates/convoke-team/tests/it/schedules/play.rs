//! Plays a plan, and checks what holds at each moment and at the end.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use proptest::test_runner::TestCaseError;
use tokio::{task::JoinSet, time::sleep};

use convoke_core::{CapacityPolicy, TaskReport, TaskRequest};
use convoke_registry::{AgentRegistry, CancellationToken, ExecutorCapabilities, RunOptions};
use convoke_team::{ObserverError, TeamEvent, TeamObserver};
use convoke_testkit::{RecordingObserver, ScriptedExecutor, Step};

use super::plan::{AGENTS, Plan, Task, Way, Work};
use crate::house::{House, assert_events, ms};

/// Longer than any plan takes.
const LONG: u64 = 20_000;

/// Checks the agents at each event, and records it.
struct Watch {
    registry: AgentRegistry,
    limit: u32,
    is_sound: Arc<AtomicBool>,
    events: RecordingObserver,
}

impl TeamObserver for Watch {
    fn observe(&self, event: &TeamEvent) -> Result<(), ObserverError> {
        let mut taken = 0;
        let mut sound = true;
        for agent in self.registry.list() {
            taken += agent.active;
            sound &= agent.active <= agent.descriptor.max_concurrency && agent.detached <= agent.active;
        }
        if !sound || taken > self.limit {
            self.is_sound.store(false, Ordering::Relaxed);
        }
        self.events.observe(event)
    }
}

pub(super) async fn play(plan: &Plan) -> Result<(), TestCaseError> {
    let registry = agents(plan);
    let is_sound = Arc::new(AtomicBool::new(true));
    let events = RecordingObserver::new();
    let watch = Watch {
        registry: registry.clone(),
        limit: u32::try_from(plan.limit).unwrap(),
        is_sound: Arc::clone(&is_sound),
        events: events.clone(),
    };
    let built = House::built(registry, |builder| builder.max_parallel_tasks(plan.limit).observer(watch));
    let house = Arc::new(House { events, ..built });

    let mut calls = JoinSet::new();
    for (number, task) in plan.tasks.iter().enumerate().filter(|(_, task)| !matches!(task.way, Way::Together))
    {
        calls.spawn(start(Arc::clone(&house), number, task.clone()));
    }
    calls.spawn(together(Arc::clone(&house), plan.clone()));
    let changes = plan.changes.clone();
    let registry = house.registry.clone();
    tokio::spawn(async move {
        for (at, agent, availability) in changes {
            sleep(ms(at)).await;
            // There may be fewer agents.
            let _ = registry.set_availability(AGENTS[agent], availability);
        }
    });

    let mut reports = Vec::new();
    for _ in 0..LONG {
        sleep(ms(1)).await;
        while let Some(given) = calls.try_join_next() {
            reports.extend(given.unwrap());
        }
        if calls.is_empty() && house.is_at_rest() {
            break;
        }
        house.assert_sound();
        let taken: u32 = house.registry.list().iter().map(|agent| agent.active).sum();
        assert_eq!(taken as usize, house.slots().taken, "each lease has one slot");
    }
    assert!(is_sound.load(Ordering::Relaxed), "more was taken than there is");
    house.assert_rest();
    assert!(calls.is_empty(), "a call has no answer");
    assert_events(&house);
    check_records(&house, &reports);
    Ok(())
}

fn agents(plan: &Plan) -> AgentRegistry {
    let works: Vec<_> = plan.tasks.iter().map(|task| task.work).collect();
    let executor = ScriptedExecutor::answering(move |request| {
        match works[request.input.parse::<usize>().unwrap()] {
            Work::Replies(millis) => Step::reply("done").after_delay(ms(millis)),
            Work::Fails(millis) => Step::fail(std::fmt::Error).after_delay(ms(millis)),
            Work::Panics(millis) => Step::panic("broken").after_delay(ms(millis)),
            Work::Pauses(millis) => Step::pause("which?").after_delay(ms(millis)),
            Work::Obeys => Step::call(|_, ctx| async move {
                // Where nobody ever asks it to stop, it ends by itself.
                let _ = tokio::time::timeout(ms(300), ctx.cancellation().cancelled()).await;
                Err::<&str, _>(convoke_core::ExecutorError::cancelled())
            }),
            Work::Lingers(millis) => Step::call(move |_, ctx| async move {
                let _ = tokio::time::timeout(ms(300), ctx.cancellation().cancelled()).await;
                sleep(ms(millis)).await;
                Ok("own word")
            }),
        }
    });
    let registry = AgentRegistry::new();
    for (agent, id) in plan.agents.iter().zip(AGENTS) {
        let mut descriptor = crate::house::agent(id).with_max_concurrency(agent.max);
        for &skill in &agent.skills {
            descriptor = descriptor.with_skill(skill);
        }
        let mut capabilities = ExecutorCapabilities::default();
        capabilities.abort_on_cancel = agent.aborts;
        registry.add(descriptor, executor.clone().with_capabilities(capabilities)).unwrap();
    }
    registry
}

fn request(number: usize, task: &Task) -> TaskRequest {
    let mut request = TaskRequest::new(number.to_string()).with_id(task.id.to_string()).in_session("s");
    for &skill in &task.skills {
        request = request.requiring(skill);
    }
    if let Some(preferred) = task.preferred {
        request = request.preferring(preferred);
    }
    if task.rejects {
        request = request.with_capacity(CapacityPolicy::Reject);
    }
    request.timeout = task.timeout.map(ms);
    request
}

/// The report of one task, unless its call is dropped.
async fn start(house: Arc<House>, number: usize, task: Task) -> Vec<TaskReport> {
    sleep(ms(task.at)).await;
    let request = request(number, &task);
    let report = match task.way {
        Way::Run => Some(house.team.run(request).await),
        Way::RunCancelled(after) => {
            let token = CancellationToken::new();
            let options = RunOptions::new().with_cancellation(token.clone());
            let run = tokio::spawn(house.team.run_with(request, options));
            sleep(ms(after)).await;
            token.cancel();
            Some(run.await.unwrap())
        }
        Way::RunDropped(after) => tokio::time::timeout(ms(after), house.team.run(request)).await.ok(),
        Way::Spawned => Some(house.team.spawn(request).await),
        Way::SpawnedCancelled(after) => {
            let handle = house.team.spawn(request);
            sleep(ms(after)).await;
            handle.cancel();
            Some(handle.await)
        }
        Way::SpawnedDropped => {
            drop(house.team.spawn(request));
            None
        }
        Way::Together => None,
    };
    report.map(Result::unwrap).into_iter().collect()
}

/// The reports of the tasks that are started in one call.
async fn together(house: Arc<House>, plan: Plan) -> Vec<TaskReport> {
    let tasks: Vec<_> =
        plan.tasks.iter().enumerate().filter(|(_, task)| matches!(task.way, Way::Together)).collect();
    let Some((_, first)) = tasks.first() else { return Vec::new() };
    sleep(ms(first.at)).await;
    let requests: Vec<_> = tasks.iter().map(|(number, task)| request(*number, task)).collect();
    let ids: Vec<_> = requests.iter().map(|request| request.id.clone().unwrap()).collect();
    let reports = crate::house::reports(house.team.run_parallel(requests).await);
    let reported: Vec<_> = reports.iter().map(|report| report.task.clone()).collect();
    assert_eq!(reported, ids, "in the order of the requests");
    reports
}

fn check_records(house: &House, reports: &[TaskReport]) {
    let Some(session) = house.team.session("s") else { return };
    let snapshot = session.snapshot();
    assert_eq!(session.activity().active + session.activity().detached, 0);
    for (task, record) in snapshot.tasks() {
        assert!(!record.status.is_active() && !record.detached, "{task}: {record:?}");
    }
    for report in reports.iter().filter(|report| report.attempt > 0) {
        let record = snapshot.task(&report.task).unwrap();
        assert!(record.attempt >= report.attempt);
        if record.attempt == report.attempt && !record.status.is_paused() {
            assert_eq!(record.status, report.status);
            assert_eq!(record.report.as_deref(), Some(report));
        }
    }
}
