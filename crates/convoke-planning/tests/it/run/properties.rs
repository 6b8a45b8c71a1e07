//! Plans, outcomes, cancels and kills by chance.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use convoke_core::{
    Commit, ExecutorError, Journal, JournalErrorKind, LogId, Metadata, OwnerId, PlanId, ReadFrom, Record,
    Sequence,
};
use convoke_journal::{FileJournal, MemoryJournal};
use convoke_planning::{
    ApprovalDecision, BoxError, Plan, PlanError, PlanRun, PlanRunner, PlanStep, Review, RunOptions,
    StepContext, StepExecutor, StepOutcome, StepRequest, StepStatus, UnreadableLog, Wait,
    machine::{Capabilities, Durability, Finding, Placement, StepInput, StopReason},
};
use proptest::{collection::vec, option, prelude::*};
use serde_json::Value;

use super::{
    hooked::{Call, Hooked, When, go_on},
    support::{ms, policy, standing},
};
use crate::{
    fixtures::{plan, step},
    generated::{Edges, edges, steps},
};

/// More than any run here takes.
const PATIENCE: Duration = Duration::from_mins(10);

/// The most steps of a plan.
const STEPS: usize = 9;

fn id() -> PlanId {
    PlanId::new("plan").unwrap()
}

fn log() -> LogId {
    LogId::new("plan/plan").unwrap()
}

/// What an attempt does.
#[derive(Clone, Copy, Debug)]
enum Act {
    Done,
    /// Takes so many milliseconds, and stops sooner where it is asked to.
    Slow(u64),
    /// Takes so many milliseconds.
    Deaf(u64),
    Fails,
    Panics,
    Blocked {
        retryable: bool,
    },
    Asks,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => Just(Act::Done),
        4 => (0..30_u64).prop_map(Act::Slow),
        2 => (0..90_u64).prop_map(Act::Deaf),
        2 => Just(Act::Fails),
        1 => Just(Act::Panics),
        1 => any::<bool>().prop_map(|retryable| Act::Blocked { retryable }),
        1 => Just(Act::Asks),
    ]
}

#[derive(Clone, Debug)]
struct StepOf {
    /// What its attempts do, the last for ever.
    acts: Vec<Act>,
    gated: bool,
    serial: bool,
    placement: Placement,
    /// Whether its first output is rejected.
    rejected: bool,
}

/// A plan, what becomes of its steps, and under which rules.
#[derive(Clone, Debug)]
struct World {
    edges: Edges,
    steps: Vec<StepOf>,
    parallel: u32,
    attempts: u32,
    goes_on: bool,
    step_timeout: Option<u64>,
    grants: bool,
    reviews: bool,
    durability: Durability,
}

fn chance(percent: u32) -> impl Strategy<Value = bool> {
    prop::bool::weighted(f64::from(percent) / 100.0)
}

fn world() -> impl Strategy<Value = World> {
    let step = (vec(act(), 1..3), chance(10), chance(20), chance(20), chance(15)).prop_map(
        |(acts, gated, is_inline, serial, rejected)| {
            let placement = if is_inline { Placement::Inline } else { Placement::Spawned };
            StepOf { acts, gated, serial, placement, rejected }
        },
    );
    let durability = prop::sample::select(vec![Durability::Strict, Durability::Relaxed, Durability::OnExit]);
    let rules =
        (1..5_u32, 1..4_u32, any::<bool>(), option::of(1..40_u64), any::<bool>(), any::<bool>(), durability);
    (edges(STEPS), vec(step, STEPS), rules).prop_map(
        |(edges, steps, (parallel, attempts, goes_on, step_timeout, grants, reviews, durability))| World {
            edges,
            steps,
            parallel,
            attempts,
            goes_on,
            step_timeout,
            grants,
            reviews,
            durability,
        },
    )
}

impl World {
    fn plan(&self) -> Plan {
        let steps = steps(&self.edges).into_iter().zip(&self.steps);
        plan(steps.map(|(step, of)| if of.gated { step.gated() } else { step }))
    }

    fn runner(&self, actor: &Actor, journal: &MemoryJournal) -> PlanRunner {
        let policy = policy(|mut policy| {
            policy = policy.max_parallel_steps(self.parallel).max_attempts(self.attempts);
            if self.goes_on {
                policy = policy.continue_after_failure();
            }
            match self.step_timeout {
                Some(time) => policy.step_timeout(ms(time)),
                None => policy,
            }
        });
        let mut builder = PlanRunner::builder().executor(actor.clone()).journal(slow(journal)).policy(policy);
        if self.grants {
            builder = builder.approvals(|_: StepRequest| async {
                Ok::<_, BoxError>(ApprovalDecision::Approve(Metadata::new()))
            });
        }
        if self.reviews {
            let rejected: Vec<bool> = self.steps.iter().map(|step| step.rejected).collect();
            builder = builder.reflector(move |review: Review| {
                let is_rejected =
                    rejected[usize::try_from(review.index.get()).unwrap()] && review.attempt == 1;
                async move {
                    tokio::time::sleep(ms(2)).await;
                    Ok::<_, BoxError>(if is_rejected {
                        Finding::Retry("again".into())
                    } else {
                        Finding::Pass
                    })
                }
            });
        }
        builder.durability(self.durability).seed(1).wall_clock(|| 1_000).build().unwrap()
    }
}

/// A journal that may be killed while it writes: a commit is there once it is answered.
fn slow(journal: &MemoryJournal) -> Hooked<MemoryJournal> {
    Hooked::new(journal.clone(), |call, when| {
        if (call, when) != (Call::Append, When::Before) {
            return go_on();
        }
        Box::pin(async {
            tokio::time::sleep(ms(3)).await;
            Ok(())
        })
    })
}

/// Does what a world says of its steps.
#[derive(Clone)]
struct Actor {
    steps: Arc<Vec<StepOf>>,
    noted: Arc<Mutex<Noted>>,
}

#[derive(Default)]
struct Noted {
    executions: BTreeMap<String, usize>,
    at_work: BTreeSet<String>,
    most_at_work: usize,
    /// Steps that were at work twice at once.
    doubled: Vec<String>,
    /// Steps whose turn is one and that were at work at once.
    collided: Vec<String>,
}

impl Actor {
    fn new(world: &World) -> Self {
        Self { steps: Arc::new(world.steps.clone()), noted: Arc::default() }
    }

    fn of(&self, step: &str) -> &StepOf {
        &self.steps[step[1..].parse::<usize>().unwrap()]
    }
}

struct AtWork(String, Arc<Mutex<Noted>>);

impl Drop for AtWork {
    fn drop(&mut self) {
        self.1.lock().unwrap().at_work.remove(&self.0);
    }
}

impl StepExecutor for Actor {
    fn capabilities(&self, step: &PlanStep) -> Option<Capabilities> {
        let of = self.of(step.id.as_str());
        let mut capabilities = Capabilities::new();
        capabilities.placement = of.placement;
        Some(if of.serial { capabilities.serial("one") } else { capabilities })
    }

    async fn execute(&self, _: StepInput, ctx: StepContext) -> Result<StepOutcome, ExecutorError> {
        let (id, of) = (ctx.step().id.as_str().to_owned(), self.of(ctx.step().id.as_str()));
        {
            let mut noted = self.noted.lock().unwrap();
            *noted.executions.entry(id.clone()).or_default() += 1;
            if of.serial && noted.at_work.iter().any(|other| self.of(other).serial) {
                noted.collided.push(id.clone());
            }
            if !noted.at_work.insert(id.clone()) {
                noted.doubled.push(id.clone());
            }
            noted.most_at_work = noted.most_at_work.max(noted.at_work.len());
        }
        let _at_work = AtWork(id.clone(), Arc::clone(&self.noted));
        let attempt = usize::try_from(ctx.attempt()).unwrap();
        match *of.acts.get(attempt - 1).or(of.acts.last()).unwrap() {
            Act::Asks if ctx.answer().is_none() => return Ok(StepOutcome::asked("which one?")),
            Act::Done | Act::Asks => {}
            Act::Slow(time) => tokio::select! {
                () = tokio::time::sleep(ms(time)) => {}
                () = ctx.cancellation().cancelled() => return Ok(StepOutcome::Cancelled),
            },
            Act::Deaf(time) => tokio::time::sleep(ms(time)).await,
            Act::Fails => return Err(ExecutorError::new(format!("{id} is broken"))),
            Act::Panics => panic!("{id} panics"),
            Act::Blocked { retryable } => {
                return Ok(StepOutcome::Blocked { reason: "not now".to_owned(), retryable });
            }
        }
        Ok(format!("did {id}").into())
    }
}

/// How a process ends.
#[derive(Clone, Copy, Debug)]
enum End {
    /// When the run does.
    Whole,
    /// The run is cancelled after so many milliseconds.
    Cancelled(u64),
    /// The process is killed after so many milliseconds.
    Killed(u64),
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![Just(End::Whole), (0..60_u64).prop_map(End::Cancelled), (0..60_u64).prop_map(End::Killed)]
}

/// Runs in a runtime of its own, with which all that goes on in it ends, as with a process.
fn process<T>(doing: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    runtime.unwrap().block_on(doing)
}

/// A journal that has these records of the plan.
async fn journal_of(records: &[Record]) -> MemoryJournal {
    let journal = MemoryJournal::new();
    if records.is_empty() {
        return journal;
    }
    journal.create(&log()).await.unwrap();
    let claim = journal.claim(&log(), &OwnerId::new("copy").unwrap(), ms(1)).await.unwrap();
    let commit = Commit::new("copy".try_into().unwrap(), claim.token, Sequence::START);
    journal.append(&log(), commit.with_records(records.to_vec())).await.unwrap();
    journal.release(&log(), claim.token).await.unwrap();
    journal
}

async fn records_of(journal: &MemoryJournal) -> Vec<Record> {
    // A process may be killed before there is a log.
    journal.read(&log(), ReadFrom::Latest).await.map_or_else(|_| Vec::new(), |contents| contents.records)
}

/// One process that runs or resumes the plan; what it has left, and what the run came to.
fn run(world: &World, actor: &Actor, records: &[Record], end: End) -> (Vec<Record>, Option<PlanRun>) {
    process(async {
        let journal = journal_of(records).await;
        let runner = world.runner(actor, &journal);
        let work = || match records {
            [] => world.plan().into(),
            _ => convoke_planning::PlanWork::from(id()),
        };
        let mut handle = runner.start(work(), RunOptions::new());
        let run = match end {
            End::Whole => Some(tokio::time::timeout(PATIENCE, handle).await.expect("the run ends")),
            End::Cancelled(time) => {
                tokio::time::sleep(ms(time)).await;
                handle.cancel();
                Some(tokio::time::timeout(ms(500), handle).await.expect("the run ends soon"))
            }
            End::Killed(time) => tokio::time::timeout(ms(time), &mut handle).await.ok(),
        };
        let run = match run {
            Some(Err(PlanError::Unreadable { source: UnreadableLog::Incomplete, .. })) => None,
            run => run.map(Result::unwrap),
        };
        if let Some(run) = &run {
            // What was written is what has become of it.
            let status = runner.status(&id()).await.unwrap();
            let steps: Vec<_> = run.steps.iter().map(|step| step.status).collect();
            assert_eq!(
                (status.steps, status.pending, status.stop),
                (steps, run.pending.clone(), Some(run.stop))
            );
        }
        (records_of(&journal).await, run)
    })
}

/// What the records of a log say, by rules that are written down here once more, in the plainest way.
struct Told<'a> {
    world: &'a World,
    statuses: BTreeMap<String, StepStatus>,
    starts: BTreeMap<String, usize>,
    detached: BTreeSet<String>,
}

impl<'a> Told<'a> {
    fn new(world: &'a World) -> Self {
        let name = |step: usize| (format!("s{step}"), StepStatus::Pending);
        let statuses = (0..world.edges.len()).map(name).collect();
        Self { world, statuses, starts: BTreeMap::new(), detached: BTreeSet::new() }
    }

    fn of(world: &'a World, records: &[Record]) -> Self {
        let mut told = Self::new(world);
        for record in entries(records) {
            told.read(&record);
        }
        told
    }

    fn read(&mut self, record: &Value) {
        let Some((kind, fields)) = record.as_object().and_then(|record| record.iter().next()) else { return };
        let Some(step) = fields.get("step").and_then(Value::as_str) else { return };
        let now = self.statuses[step];
        let next = match kind.as_str() {
            "started" => {
                assert_eq!(now, StepStatus::Pending, "{record}");
                assert!(self.is_ready(step), "{record}");
                *self.starts.entry(step.to_owned()).or_default() += 1;
                StepStatus::Running
            }
            "completed" => from_running(now, StepStatus::Completed, record),
            "failed" => {
                if fields.get("execution_detached") == Some(&Value::Bool(true)) {
                    self.detached.insert(step.to_owned());
                }
                from_running(now, StepStatus::Failed, record)
            }
            "blocked" => {
                assert!(matches!(now, StepStatus::Pending | StepStatus::Running), "{record}");
                StepStatus::Blocked
            }
            "skipped" => {
                assert_eq!(now, StepStatus::Pending, "{record}");
                StepStatus::Skipped
            }
            "attempt_failed" | "rejected" | "released" | "interrupted" | "asked" => {
                from_running(now, StepStatus::Pending, record)
            }
            "worked" | "detached" | "outcome_unknown" => from_running(now, StepStatus::Running, record),
            "detached_ended" => {
                assert!(self.detached.remove(step) || now == StepStatus::Running, "{record}");
                now
            }
            "approval_required" | "approved" | "answered" => {
                assert_eq!(now, StepStatus::Pending, "{record}");
                now
            }
            kind => panic!("{kind}"),
        };
        self.statuses.insert(step.to_owned(), next);
    }

    fn is_ready(&self, step: &str) -> bool {
        self.world.edges[step[1..].parse::<usize>().unwrap()].iter().all(|(source, wait)| {
            let source = self.statuses[&format!("s{source}")];
            match wait {
                Wait::Completed => source == StepStatus::Completed,
                Wait::Ended => source.is_terminal(),
            }
        })
    }
}

fn from_running(now: StepStatus, next: StepStatus, record: &Value) -> StepStatus {
    assert_eq!(now, StepStatus::Running, "{record}");
    next
}

fn entries(records: &[Record]) -> Vec<Value> {
    let entry = |record: &Record| {
        let mut entry: Value = serde_json::from_slice(record.as_bytes()).ok()?;
        entry.get_mut("record").map(Value::take)
    };
    records.iter().filter_map(entry).collect()
}

/// Where the entries begin.
fn head(records: &[Record]) -> usize {
    records.len() - entries(records).len()
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, max_shrink_iters: 400, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config(96))]

    #[test]
    fn whatever_happens_the_rules_of_a_plan_hold(world in world(), ends in vec(end(), 1..4)) {
        let mut records = Vec::new();
        let mut executions: BTreeMap<String, usize> = BTreeMap::new();
        for end in ends.into_iter().chain([End::Whole]) {
            let actor = Actor::new(&world);
            let (left, run) = run(&world, &actor, &records, end);
            records = left;
            let told = Told::of(&world, &records);
            if let Some(run) = &run {
                for (step, report) in run.plan.steps().iter().zip(&run.steps) {
                    prop_assert_eq!(report.status, told.statuses[step.id.as_str()], "{:?}", &step.id);
                }
                let unfinished = run.steps.iter().any(|step| !step.status.is_terminal());
                prop_assert!(run.stop != StopReason::Completed || !unfinished);
            }
            let noted = actor.noted.lock().unwrap();
            prop_assert!(noted.most_at_work <= usize::try_from(world.parallel).unwrap(), "{} at work at once", noted.most_at_work);
            prop_assert!(noted.doubled.is_empty(), "{:?} ran beside themselves", noted.doubled);
            prop_assert!(noted.collided.is_empty(), "{:?} did not wait their turn", noted.collided);
            for (step, count) in &noted.executions {
                *executions.entry(step.clone()).or_default() += count;
            }
            if world.durability == Durability::Strict {
                for (step, count) in &executions {
                    prop_assert!(*count <= told.starts.get(step).copied().unwrap_or_default(), "{step}");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(config(48))]

    /// A failure stops others or not by who is first, and a time-out comes or not by who is slow: those that may differ are
    /// left out.
    #[test]
    fn a_plan_comes_to_the_same_wherever_its_log_was_cut(world in world()) {
        let world = World { goes_on: true, step_timeout: None, ..world };
        let (records, whole) = run(&world, &Actor::new(&world), &[], End::Whole);
        let whole = whole.unwrap();
        for cut in head(&records)..records.len() {
            let kept = &records[..cut];
            let actor = Actor::new(&world);
            let (left, run) = run(&world, &actor, kept, End::Whole);
            let run = run.unwrap();
            prop_assert_eq!(run.stop, whole.stop, "cut after {} records", cut);
            prop_assert_eq!(standing(&run), standing(&whole), "cut after {} records", cut);
            Told::of(&world, &left);
            let before = Told::of(&world, kept);
            for step in actor.noted.lock().unwrap().executions.keys() {
                prop_assert!(!before.statuses[step].is_terminal(), "`{step}` ran again");
            }
        }
    }
}

/// The bytes of all files below a folder, by path.
fn bytes_of(folder: &std::path::Path) -> BTreeMap<std::path::PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = std::fs::read(&path).unwrap();
                found.insert(path, bytes);
            }
        }
    }
    found
}

async fn reader(folder: &std::path::Path) -> PlanRunner {
    let executor =
        convoke_planning::FunctionStepExecutor::new(
            |_, ctx| async move { Ok(ctx.step().id.as_str().to_owned()) },
        );
    let journal = FileJournal::open(folder).await.unwrap();
    PlanRunner::builder().executor(executor).journal(journal).build().unwrap()
}

/// What may be said of a log that was changed from outside.
fn is_clear(error: &PlanError) -> bool {
    match error {
        PlanError::Journal { source, .. } => source.kind() == JournalErrorKind::Damaged,
        // Nothing of it is left.
        PlanError::Unreadable { source: UnreadableLog::Incomplete, .. } | PlanError::NotFound { .. } => true,
        _ => false,
    }
}

#[tokio::test]
async fn no_byte_of_a_finished_log_can_change_what_is_read_from_it() {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let folder = folder.path();
    let whole = reader(folder).await.run_plan(plan([step("a"), step("b").input_from("a")])).await.unwrap();
    assert_eq!(whole.stop, StopReason::Completed);
    let written = bytes_of(folder);

    // What may be read: the state after any of the records.
    let contents =
        FileJournal::open(folder).await.unwrap().read(&log(), ReadFrom::Latest).await.unwrap().records;
    let mut states = Vec::new();
    for kept in head(&contents)..=contents.len() {
        let journal = journal_of(&contents[..kept]).await;
        let runner = PlanRunner::builder()
            .executor(convoke_planning::FunctionStepExecutor::new(|_, _| async { Ok("") }))
            .journal(journal);
        states.push(runner.build().unwrap().status(&id()).await.unwrap());
    }

    let (mut read, mut refused, mut resumed) = (0, 0, 0);
    for (path, bytes) in &written {
        for place in 0..bytes.len() {
            let flipped = |by: u8| {
                let mut bytes = bytes.clone();
                bytes[place] ^= by;
                bytes
            };
            for (what, changed) in [
                ("cut", bytes[..place].to_vec()),
                ("flipped", flipped(1 << (place % 8))),
                ("inverted", flipped(0xff)),
            ] {
                let what = format!("`{}`, byte {place} {what}", path.display());
                std::fs::write(path, &changed).unwrap();
                let before = bytes_of(folder);
                match reader(folder).await.status(&id()).await {
                    Ok(found) => {
                        read += 1;
                        assert!(states.contains(&found), "{what}: {found:?}");
                    }
                    Err(error) => {
                        refused += 1;
                        assert!(is_clear(&error), "{what}: {error:?}");
                    }
                }
                assert_eq!(bytes_of(folder), before, "{what}: reading changed a file");
                match reader(folder).await.resume(&id()).await {
                    Ok(run) => {
                        resumed += 1;
                        assert_eq!((run.stop, standing(&run)), (whole.stop, standing(&whole)), "{what}");
                    }
                    Err(error) => {
                        assert!(is_clear(&error), "{what}: {error:?}");
                        let segment = |path: &std::path::Path| {
                            path.file_name().unwrap().to_str().unwrap().starts_with("segment")
                        };
                        let mut after = bytes_of(folder);
                        after.retain(|path, _| segment(path));
                        assert!(after.iter().all(|(path, bytes)| before.get(path) == Some(bytes)), "{what}");
                    }
                }
                for path in bytes_of(folder).keys() {
                    std::fs::remove_file(path).unwrap();
                }
                for (path, bytes) in &written {
                    std::fs::write(path, bytes).unwrap();
                }
            }
        }
    }
    assert!(
        read > 100 && refused > 100 && resumed > 100,
        "{read} read, {refused} refused, {resumed} resumed"
    );
}
