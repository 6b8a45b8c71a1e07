//! An hour of everything at once, on a paused clock: at the end nothing is left.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::time::{Instant, sleep, timeout};

use convoke_core::{ExecutorError, SessionId, TaskOutcome, TaskRequest};
use convoke_registry::{
    AgentRegistry, Availability, CancellationToken, CoordinatedContext, Coordination, CoordinationError,
    ExecutionContext, ExecutorCapabilities, RunOptions,
};
use convoke_session::{IfCompleted, Limit, Reconcile, SessionLimits};
use convoke_team::{ObserverError, TeamEvent, TeamEventKind, TeamObserver};
use convoke_testkit::{FailingSink, ScriptedExecutor, Step};

use crate::house::{House, agent, is_end, ms};

const HOUR: Duration = Duration::from_hours(1);
const AGENTS: [&str; 4] = ["a", "b", "c", "d"];
const SESSIONS: [&str; 3] = ["r", "s", "t"];

/// Numbers that look random, the same in each run.
#[derive(Clone)]
struct Dice(Arc<AtomicU64>);

impl Dice {
    fn new(seed: u64) -> Self {
        Self(Arc::new(AtomicU64::new(seed)))
    }

    /// A number below `sides`.
    fn roll(&self, sides: u64) -> u64 {
        let step = |state: u64| {
            Some(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407))
        };
        let before = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, step).unwrap();
        (before >> 33) % sides
    }

    fn pick<T: Copy>(&self, of: &[T]) -> T {
        of[usize::try_from(self.roll(of.len() as u64)).unwrap()]
    }

    fn times(&self, most: u64) -> std::ops::Range<u64> {
        0..1 + self.roll(most)
    }
}

/// Counts the events of each kind, notes the sessions, and fails or panics now and then.
#[derive(Clone, Default)]
struct Counts(Arc<Mutex<Counted>>);

#[derive(Default)]
struct Counted {
    kinds: BTreeMap<&'static str, u64>,
    /// Admitted attempts that began and ended.
    began: u64,
    ended: u64,
    sessions: std::collections::BTreeSet<SessionId>,
    calls: u64,
}

impl TeamObserver for Counts {
    fn observe(&self, event: &TeamEvent) -> Result<(), ObserverError> {
        let mut counted = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let name = event.kind.as_str();
        *counted.kinds.entry(name).or_default() += 1;
        counted.began += u64::from(event.kind == TeamEventKind::Submitted);
        counted.ended += u64::from(is_end(name) && event.attempt > 0);
        counted.sessions.insert(event.session.clone());
        counted.calls += 1;
        assert!(!counted.calls.is_multiple_of(2_003), "now and then");
        if counted.calls.is_multiple_of(13) { Err(ObserverError::new("now and then")) } else { Ok(()) }
    }
}

impl Counts {
    fn with<T>(&self, look: impl FnOnce(&Counted) -> T) -> T {
        look(&self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    fn of(&self, kind: TeamEventKind) -> u64 {
        self.with(|counted| counted.kinds.get(kind.as_str()).copied().unwrap_or_default())
    }
}

/// A request of what may come: it says how long it takes, and the executor throws the dice for what it does.
fn request(dice: &Dice) -> TaskRequest {
    let most = if dice.roll(8) == 0 { 8_000 } else { 400 };
    let mut request = TaskRequest::new(dice.roll(most).to_string());
    if dice.roll(2) == 0 {
        request = request.in_session(dice.pick(&SESSIONS)).with_id(format!("task {}", dice.roll(60)));
    }
    if dice.roll(3) == 0 {
        request = request.requiring("x");
    }
    if dice.roll(6) == 0 {
        request = request.preferring(dice.pick(&AGENTS));
    }
    if dice.roll(3) > 0 {
        request = request.with_timeout(ms(1 + dice.roll(600)));
    }
    request
}

fn options(dice: &Dice) -> RunOptions {
    let if_completed =
        dice.pick(&[IfCompleted::Refuse, IfCompleted::Return, IfCompleted::Again, IfCompleted::Again]);
    let options = RunOptions::new().with_if_completed(if_completed);
    match dice.roll(3) {
        0 => options,
        1 => options.with_late(Reconcile::Retry),
        _ => options.with_late(Reconcile::AcceptLate),
    }
}

fn executor(dice: &Dice) -> ScriptedExecutor {
    let dice = dice.clone();
    ScriptedExecutor::answering(move |request| {
        let delay = ms(request.input.parse().unwrap());
        match dice.roll(100) {
            0 => Step::panic("broken").after_delay(delay),
            1..10 => Step::fail(ExecutorError::new("broken")).after_delay(delay),
            10..15 => Step::pause("which?").after_delay(delay),
            15..25 => Step::call(move |_, ctx: ExecutionContext| async move {
                let _ = timeout(delay * 2, ctx.cancellation().cancelled()).await;
                Err::<&str, _>(ExecutorError::cancelled())
            }),
            25..50 => {
                let dice = dice.clone();
                Step::call(move |_, ctx: ExecutionContext| async move { Ok(asks(&dice, &ctx).await) })
            }
            _ => Step::reply("done").after_delay(delay),
        }
    })
}

/// Asks for others in some way.
async fn asks(dice: &Dice, ctx: &ExecutionContext) -> &'static str {
    let team = ctx.team();
    match dice.roll(6) {
        0 => drop(team.run_with(request(dice), options(dice)).await),
        1 => drop(team.run_parallel(dice.times(4).map(|_| request(dice))).await),
        2 => drop(team.spawn(request(dice)).await),
        3 => drop(team.spawn_independent(request(dice)).await),
        4 => drop(team.spawn(request(dice))),
        _ => drop(timeout(ms(dice.roll(200)), team.run(request(dice))).await),
    }
    "asked"
}

async fn coordinated(dice: Dice, ctx: CoordinatedContext) -> Result<TaskOutcome, CoordinationError> {
    let requests: Vec<_> = dice.times(3).map(|_| request(&dice)).collect();
    let reports = ctx.team().run_parallel(requests).await;
    Ok(TaskOutcome::completed(format!("{} asked", reports.len())))
}

/// One thing that a host may do.
fn act(house: &House, dice: &Dice, counts: &Counts) {
    let (team, dice) = (house.team.clone(), dice.clone());
    match dice.roll(20) {
        0..4 => drop(tokio::spawn(team.run_with(request(&dice), options(&dice)))),
        4..6 => drop(team.spawn_with(request(&dice), options(&dice))),
        6..8 => drop(tokio::spawn(async move {
            let handle = team.spawn(request(&dice));
            sleep(ms(dice.roll(300))).await;
            handle.cancel();
        })),
        8..10 => drop(tokio::spawn(async move {
            let _ = timeout(ms(dice.roll(300)), team.run(request(&dice))).await;
        })),
        10..12 => {
            let requests: Vec<_> = dice.times(8).map(|_| request(&dice)).collect();
            drop(tokio::spawn(team.run_parallel_with(requests, options(&dice))));
        }
        12..14 => drop(tokio::spawn(async move {
            let token = CancellationToken::new();
            let options = options(&dice).with_cancellation(token.clone());
            let asked = request(&dice);
            let body = {
                let dice = dice.clone();
                |ctx| coordinated(dice, ctx)
            };
            let run = tokio::spawn(team.coordinate(asked, options, Coordination::new(body)));
            sleep(ms(dice.roll(900))).await;
            match dice.roll(3) {
                0 => token.cancel(),
                1 => run.abort(),
                _ => {}
            }
        })),
        14..16 => {
            let availability =
                dice.pick(&[Availability::Available, Availability::Draining, Availability::Offline]);
            house.registry.set_availability(dice.pick(&AGENTS), availability).unwrap();
        }
        16 => AGENTS.into_iter().for_each(|id| {
            house.registry.set_availability(id, Availability::Available).unwrap();
        }),
        17 => house.registry.replace("d", one_at_a_time(&dice)).unwrap(),
        18 => {
            if let Some(work) = team.detached().into_iter().next() {
                team.forfeit(&work.session, &work.task, work.attempt).unwrap();
            }
        }
        _ => drop(tokio::spawn(decide(team, counts.clone(), dice))),
    }
}

/// Decides about whatever came late.
async fn decide(team: convoke_team::TeamRuntime, counts: Counts, dice: Dice) {
    for id in counts.with(|counted| counted.sessions.clone()) {
        let Some(session) = team.session(&id).filter(|session| session.activity().late > 0) else { continue };
        for (task, record) in session.snapshot().tasks() {
            if record.late.is_some() {
                let decision = dice.pick(&[Reconcile::Retry, Reconcile::Abandon, Reconcile::AcceptLate]);
                // Somebody else may be first.
                let _ = team.reconcile(&id, task, decision).await;
            }
        }
    }
}

fn one_at_a_time(dice: &Dice) -> ScriptedExecutor {
    executor(dice).with_capabilities(ExecutorCapabilities::default().without_concurrent_execution())
}

fn house(dice: &Dice, counts: &Counts) -> House {
    let registry = AgentRegistry::new();
    let aborts = ExecutorCapabilities::default().with_abort_on_cancel();
    registry.add(agent("a").with_skill("x").with_max_concurrency(3), executor(dice)).unwrap();
    registry.add(agent("b").with_max_concurrency(2), executor(dice)).unwrap();
    registry
        .add(agent("c").with_skill("x").with_max_concurrency(2), executor(dice).with_capabilities(aborts))
        .unwrap();
    registry.add(agent("d"), one_at_a_time(dice)).unwrap();
    let mut limits = SessionLimits::default();
    limits.messages = Limit::Unlimited;
    House::built(registry, |builder| {
        builder
            .max_parallel_tasks(4)
            .session_limits(limits)
            .observer(counts.clone())
            .event_sink(FailingSink::after(100))
    })
}

#[tokio::test(start_paused = true)]
async fn an_hour_of_everything_leaves_nothing_behind() {
    let (dice, counts) = (Dice::new(7), Counts::default());
    let house = house(&dice, &counts);
    let start = Instant::now();
    while start.elapsed() < HOUR {
        act(&house, &dice, &counts);
        sleep(ms(dice.roll(2_500))).await;
        house.assert_units();
    }
    for id in AGENTS {
        house.registry.set_availability(id, Availability::Available).unwrap();
    }
    let is_over = async {
        while !house.is_at_rest() || house.registry.list().iter().any(|agent| agent.waiting > 0) {
            sleep(ms(50)).await;
        }
        // What was given up may still work.
        sleep(Duration::from_mins(1)).await;
    };
    timeout(Duration::from_mins(10), is_over).await.expect("it comes to its end");
    house.registry.replace("d", one_at_a_time(&dice)).unwrap();
    house.assert_rest();
    assert_eq!(house.team.drain(Instant::now()).await, []);

    assert_eq!(counts.with(|counted| counted.began), counts.with(|counted| counted.ended));
    for kind in [
        TeamEventKind::Completed,
        TeamEventKind::InputRequired,
        TeamEventKind::Failed,
        TeamEventKind::Blocked,
        TeamEventKind::Cancelled,
        TeamEventKind::TimedOut,
        TeamEventKind::DetachedEnded,
        TeamEventKind::Reconciled,
        TeamEventKind::Forfeited,
    ] {
        assert!(counts.of(kind) > 10, "{} {}", kind.as_str(), counts.of(kind));
    }
    assert!(house.team.stats().telemetry_errors > 100);
    forget_all(&house, &counts).await;
    assert_eq!(house.team.stats().sessions, 0);
}

/// Closes what nobody will go on with; then no session is in use any more, and unnamed ones are gone.
async fn forget_all(house: &House, counts: &Counts) {
    for id in counts.with(|counted| counted.sessions.clone()) {
        let Some(session) = house.team.session(&id) else { continue };
        for (task, record) in session.snapshot().tasks() {
            assert!(!record.status.is_active() && !record.detached, "{task}: {record:?}");
            // What is completed or closed leaves nothing to decide.
            let _ = house.team.reconcile(&id, task, Reconcile::Abandon).await;
        }
        assert!(session.is_idle());
        assert_eq!(house.team.session(&id).is_some(), SESSIONS.contains(&id.as_str()), "{id}");
        let _ = house.team.remove_session(&id);
    }
}
