//! Journals that fail at each of their calls, and runs that nobody waits for.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use convoke_core::{
    ExecutorError, Journal, JournalError, JournalErrorKind, LogId, Metadata, PlanId, ReadFrom, TaskOutput,
};
use convoke_journal::MemoryJournal;
use convoke_planning::{
    ApprovalDecision, Backoff, BoxError, FunctionStepExecutor, Plan, PlanError, PlanRun, PlanRunner,
    PlanStep, Review, RunOptions, StepContext, StepExecutor, StepOutcome, StepRequest, StepStatus,
    UnreadableLog,
    machine::{Capabilities, Durability, Finding, Placement, StepInput, StopReason},
};
use convoke_testkit::{HookAnswer, HookedJournal, JournalCall, JournalMoment, dropped_after, go_on};
use tokio::sync::Notify;

use super::support::{ms, policy, standing};
use crate::fixtures::{plan, step};

/// More than any run here takes.
const PATIENCE: Duration = Duration::from_mins(10);

/// More than a claim lasts that nobody gave back.
const CLAIM: Duration = Duration::from_secs(31);

fn id() -> PlanId {
    PlanId::new("plan").unwrap()
}

fn log() -> LogId {
    LogId::new("plan/plan").unwrap()
}

/// A step that fails first, one whose output is rejected first, one that is gated, two that the runner polls itself, and
/// outputs that are worth a snapshot.
fn mixed() -> Plan {
    plan([
        step("a"),
        step("large"),
        step("fails").after("a"),
        step("rejected").input_from("a"),
        step("gated").after("large").gated(),
        step("inline").after_end_of("fails").after("rejected"),
        step("larger").after("gated"),
        step("last").after("inline").after("larger"),
    ])
}

/// All keys under which the plan has an effect.
const KEYS: [&str; 9] = [
    "plan/a/0",
    "plan/fails/0",
    "plan/gated/0",
    "plan/inline/0",
    "plan/large/0",
    "plan/larger/0",
    "plan/last/0",
    "plan/rejected/0",
    "plan/rejected/1",
];

/// Notes its effects by key, and looks whether its starts were durable.
#[derive(Clone)]
struct Worker {
    journal: MemoryJournal,
    strict: bool,
    effects: Arc<Mutex<BTreeMap<String, usize>>>,
    executions: Arc<Mutex<BTreeMap<String, usize>>>,
    at_work: Arc<AtomicUsize>,
}

impl Worker {
    fn new(journal: &MemoryJournal, durability: Durability) -> Self {
        Self {
            journal: journal.clone(),
            strict: durability == Durability::Strict,
            effects: Arc::default(),
            executions: Arc::default(),
            at_work: Arc::default(),
        }
    }

    fn keys(&self) -> Vec<String> {
        self.effects.lock().unwrap().keys().cloned().collect()
    }

    fn executions(&self) -> usize {
        self.executions.lock().unwrap().values().sum()
    }

    async fn check_start(&self, step: &str, executions: usize) {
        // A snapshot says it in other words.
        let all = self.journal.read(&log(), ReadFrom::Record(convoke_core::Sequence::START)).await.unwrap();
        let started = format!(r#""record":{{"started":{{"step":"{step}""#);
        let is_start =
            |record: &&convoke_core::Record| record.len() < 500 && record.to_text().contains(&started);
        let starts = all.records.iter().filter(is_start).count();
        assert!(
            executions <= starts,
            "`{step}` runs for the {executions}. time with {starts} durable starts"
        );
    }
}

/// Counts a step at work.
struct AtWork(Arc<AtomicUsize>);

impl Drop for AtWork {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl StepExecutor for Worker {
    fn capabilities(&self, step: &PlanStep) -> Option<Capabilities> {
        let mut capabilities = Capabilities::new().cooperative();
        if matches!(step.id.as_str(), "inline" | "last") {
            capabilities.placement = Placement::Inline;
        }
        Some(capabilities)
    }

    async fn execute(&self, _: StepInput, ctx: StepContext) -> Result<StepOutcome, ExecutorError> {
        self.at_work.fetch_add(1, Ordering::Relaxed);
        let _at_work = AtWork(Arc::clone(&self.at_work));
        let id = ctx.step().id.as_str();
        let executions = {
            let mut executions = self.executions.lock().unwrap();
            let count = executions.entry(id.to_owned()).or_default();
            *count += 1;
            *count
        };
        if self.strict {
            self.check_start(id, executions).await;
        }
        tokio::select! {
            () = tokio::time::sleep(ms(5)) => {}
            () = ctx.cancellation().cancelled() => return Ok(StepOutcome::Cancelled),
        }
        if id == "fails" && ctx.attempt() == 1 {
            return Err(ExecutorError::new("not yet"));
        }
        *self.effects.lock().unwrap().entry(ctx.idempotency_key().to_owned()).or_default() += 1;
        let text = if id.starts_with("large") { "x".repeat(140_000) } else { format!("did {id}") };
        Ok(TaskOutput::text(text).into())
    }
}

async fn review(review: Review) -> Result<Finding, BoxError> {
    let is_rejected = review.step().id.as_str() == "rejected" && review.attempt == 1;
    Ok(if is_rejected { Finding::Retry("again".to_owned()) } else { Finding::Pass })
}

async fn grant(_: StepRequest) -> Result<ApprovalDecision, BoxError> {
    tokio::time::sleep(ms(1)).await;
    Ok(ApprovalDecision::Approve(Metadata::new()))
}

fn runner(worker: &Worker, journal: impl Journal, durability: Durability, limit: u64) -> PlanRunner {
    let policy = policy(|policy| {
        policy.max_parallel_steps(3).max_attempts(2).backoff(Backoff::none()).steps_per_run(limit)
    });
    let builder = PlanRunner::builder().executor(worker.clone()).journal(journal).policy(policy);
    builder.reflector(review).approvals(grant).durability(durability).build().unwrap()
}

async fn in_time<T>(doing: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, doing).await.expect("it ends")
}

/// The kinds of calls that are made of a journal. How those of several kinds follow each other is not the same in each run.
fn kinds() -> impl Iterator<Item = (JournalCall, JournalMoment)> {
    use JournalCall::{
        Append, Claim, Compact, Create, Flush, NextSignals, Read, Release, Renew, WaitingSignals,
    };
    let calls = [Create, Claim, Read, WaitingSignals, NextSignals, Append, Flush, Compact, Renew, Release];
    calls.into_iter().flat_map(|call| [(call, JournalMoment::Before), (call, JournalMoment::After)])
}

/// The calls that whoever writes to a log makes.
const CERTAIN: [JournalCall; 3] = [JournalCall::Claim, JournalCall::Append, JournalCall::Release];

/// Lets one call fail, or does something at it.
#[derive(Clone, Default)]
struct Calls {
    count: Arc<AtomicUsize>,
    met: Arc<AtomicBool>,
    /// A call of none of the [`kinds`].
    unlisted: Arc<Mutex<Option<JournalCall>>>,
}

impl Calls {
    /// Whether there was such a call.
    fn met(&self) -> bool {
        assert_eq!(*self.unlisted.lock().unwrap(), None);
        self.met.load(Ordering::Relaxed)
    }

    /// `act` happens at the call of this number among those of its kind.
    fn at(
        &self,
        kind: (JournalCall, JournalMoment),
        number: usize,
        journal: &MemoryJournal,
        act: impl Fn() -> HookAnswer + Send + Sync + 'static,
    ) -> HookedJournal<MemoryJournal> {
        let calls = self.clone();
        HookedJournal::new(journal.clone(), move |call, when| {
            if !kinds().any(|kind| kind == (call, when)) {
                *calls.unlisted.lock().unwrap() = Some(call);
            }
            if (call, when) != kind || calls.count.fetch_add(1, Ordering::Relaxed) != number {
                return go_on();
            }
            calls.met.store(true, Ordering::Relaxed);
            act()
        })
    }
}

fn fails(kind: JournalErrorKind) -> HookAnswer {
    Box::pin(async move { Err(JournalError::new(kind, &log(), "fails on purpose")) })
}

/// Runs what is left, as the next process would.
async fn finish(worker: &Worker, journal: &MemoryJournal, durability: Durability) -> PlanRun {
    let runner = runner(worker, journal.clone(), durability, u64::MAX);
    loop {
        let run = match in_time(runner.resume(&id())).await {
            Err(
                PlanError::NotFound { .. } | PlanError::Unreadable { source: UnreadableLog::Incomplete, .. },
            ) => in_time(runner.run_plan(mixed())).await,
            run => run,
        };
        match run {
            // The claim could not be given back, and ends by itself.
            Err(PlanError::Claimed { .. }) => tokio::time::sleep(CLAIM).await,
            run => return run.unwrap(),
        }
    }
}

/// The run that nothing disturbs.
async fn undisturbed() -> PlanRun {
    let journal = MemoryJournal::new();
    let worker = Worker::new(&journal, Durability::Strict);
    let run = finish(&worker, &journal, Durability::Strict).await;
    assert_eq!((run.stop, worker.keys()), (StopReason::Completed, KEYS.map(str::to_owned).to_vec()));
    run
}

/// Lets each call of a run or of a resumed run fail, one at a time, and runs the rest.
async fn fail_at_each_call(durability: Durability, error: JournalErrorKind, steps_before: Option<u64>) {
    let whole = undisturbed().await;
    let mut met = Vec::new();
    for kind in kinds() {
        let mut number = 0;
        while fail_at((kind, number), durability, error, steps_before, &whole).await {
            met.push(kind);
            number += 1;
        }
    }
    assert!(met.contains(&(JournalCall::Append, JournalMoment::Before)), "{met:?}");
    if durability != Durability::OnExit {
        assert!(met.contains(&(JournalCall::Compact, JournalMoment::After)), "{met:?}");
    }
    assert!(met.contains(&(JournalCall::Release, JournalMoment::Before)), "{met:?}");
}

/// Whether there was such a call, which failed.
async fn fail_at(
    (kind, number): ((JournalCall, JournalMoment), usize),
    durability: Durability,
    error: JournalErrorKind,
    steps_before: Option<u64>,
    whole: &PlanRun,
) -> bool {
    let (journal, calls) = (MemoryJournal::new(), Calls::default());
    let worker = Worker::new(&journal, durability);
    if let Some(steps) = steps_before {
        let first = runner(&worker, journal.clone(), durability, steps);
        assert_eq!(in_time(first.run_plan(mixed())).await.unwrap().stop, StopReason::StepBudget);
    }
    let hooked = calls.at(kind, number, &journal, move || fails(error));
    let failing = runner(&worker, hooked, durability, u64::MAX);
    let run = match steps_before {
        Some(_) => in_time(failing.resume(&id())).await,
        None => in_time(failing.run_plan(mixed())).await,
    };
    if !calls.met() {
        assert_eq!(run.unwrap().stop, StopReason::Completed);
        return false;
    }
    let what = format!("{durability:?}, {error:?} at {kind:?} {number}");
    match run {
        Err(PlanError::Journal { .. }) => {}
        Ok(run) if run.stop == StopReason::Completed => {
            assert!(matches!(kind.0, JournalCall::Release | JournalCall::NextSignals), "{what}");
        }
        Ok(run) => {
            assert_eq!(run.stop, StopReason::StoreFailed, "{what}");
            assert!(run.error.is_some(), "{what}");
        }
        run => panic!("{what}: {run:?}"),
    }
    assert_eq!(worker.at_work.load(Ordering::Relaxed), 0, "{what}");
    let run = finish(&worker, &journal, durability).await;
    let keys = KEYS.map(str::to_owned).to_vec();
    assert_eq!((run.stop, worker.keys(), standing(&run)), (whole.stop, keys, standing(whole)), "{what}");
    true
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_journal_fails_at_any_call_ends_and_the_next_one_completes_the_plan() {
    for durability in [Durability::Strict, Durability::Relaxed, Durability::OnExit] {
        fail_at_each_call(durability, JournalErrorKind::Io, None).await;
    }
    fail_at_each_call(Durability::Strict, JournalErrorKind::Poisoned, None).await;
}

#[tokio::test(start_paused = true)]
async fn so_does_a_resumed_one() {
    for durability in [Durability::Strict, Durability::Relaxed, Durability::OnExit] {
        fail_at_each_call(durability, JournalErrorKind::Io, Some(3)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_nobody_waits_for_ends_at_whatever_call_it_is() {
    let whole = undisturbed().await;
    for durability in [Durability::Strict, Durability::Relaxed, Durability::OnExit] {
        for kind in kinds() {
            let mut number = 0;
            while drop_at((kind, number), durability, &whole).await {
                number += 1;
            }
            assert!(number > 0 || !CERTAIN.contains(&kind.0), "{durability:?}, {kind:?}");
        }
    }
}

/// Whether there was such a call, in the middle of which the run was dropped.
async fn drop_at(
    (kind, number): ((JournalCall, JournalMoment), usize),
    durability: Durability,
    whole: &PlanRun,
) -> bool {
    let (journal, calls) = (MemoryJournal::new(), Calls::default());
    let (worker, reached) = (Worker::new(&journal, durability), Arc::new(Notify::new()));
    let notify = Arc::clone(&reached);
    let hooked = calls.at(kind, number, &journal, move || {
        notify.notify_one();
        // The other one has its turn in the middle of the call.
        Box::pin(async {
            tokio::task::yield_now().await;
            Ok(())
        })
    });
    let runner = runner(&worker, hooked, durability, u64::MAX);
    tokio::select! {
        biased;
        () = reached.notified() => {}
        run = in_time(runner.run_plan(mixed())) => assert_eq!(run.unwrap().stop, StopReason::Completed),
    }
    if !calls.met() {
        return false;
    }
    let what = format!("{durability:?}, dropped at {kind:?} {number}");
    let started = worker.executions();
    // The steps hear of it at once, and nothing starts any more.
    in_time(async {
        while tokio::runtime::Handle::current().metrics().num_alive_tasks() > 0 {
            tokio::time::sleep(ms(1)).await;
        }
    })
    .await;
    assert_eq!(worker.executions(), started, "{what}");
    assert_eq!(worker.at_work.load(Ordering::Relaxed), 0, "{what}");
    let begun = tokio::time::Instant::now();
    let run = finish(&worker, &journal, durability).await;
    assert!(begun.elapsed() < CLAIM, "{what}: the claim was kept");
    let keys = KEYS.map(str::to_owned).to_vec();
    assert_eq!((run.stop, worker.keys(), standing(&run)), (whole.stop, keys, standing(whole)), "{what}");
    true
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_never_waited_for_does_nothing() {
    let journal = MemoryJournal::new();
    let worker = Worker::new(&journal, Durability::Strict);
    let runner = runner(&worker, journal.clone(), Durability::Strict, u64::MAX);
    assert!(dropped_after(0, runner.run_plan(mixed())).await.is_none());
    tokio::time::sleep(ms(100)).await;
    assert!(journal.list("").await.unwrap().is_empty());
    // A handle is another matter: the run goes on without it.
    drop(runner.start(mixed(), RunOptions::new()));
    tokio::time::sleep(ms(100)).await;
    assert_eq!(runner.status(&id()).await.unwrap().stop, Some(StopReason::Completed));
}

#[tokio::test(start_paused = true)]
async fn a_fork_that_fails_at_any_call_may_be_made_again() {
    for kind in kinds() {
        let mut number = 0;
        while fork_at((kind, number)).await {
            number += 1;
        }
        assert!(number > 0 || !matches!(kind.0, JournalCall::Create | JournalCall::Compact), "{kind:?}");
    }
}

/// Whether there was such a call, which failed.
async fn fork_at((kind, number): ((JournalCall, JournalMoment), usize)) -> bool {
    let fork = PlanId::new("fork").unwrap();
    let (journal, calls) = (MemoryJournal::new(), Calls::default());
    let worker = Worker::new(&journal, Durability::OnExit);
    let whole = runner(&worker, journal.clone(), Durability::Strict, 3);
    let at = in_time(whole.run_plan(mixed())).await.unwrap();
    let hooked = calls.at(kind, number, &journal, || fails(JournalErrorKind::Io));
    let failing = runner(&worker, hooked, Durability::Strict, 3);
    let forked = in_time(failing.fork(&id(), 4, fork.clone())).await;
    let what = format!("{kind:?} {number}");
    assert_eq!(forked.is_err(), calls.met(), "{what}");
    if !calls.met() {
        return false;
    }
    // The original is as it was, and free.
    assert_eq!(whole.status(&id()).await.unwrap().stop, Some(at.stop), "{what}");
    match in_time(whole.fork(&id(), 4, fork.clone())).await {
        Err(PlanError::Claimed { .. }) => {
            tokio::time::sleep(CLAIM).await;
            in_time(whole.fork(&id(), 4, fork.clone())).await.unwrap();
        }
        // It was made, and only the answer was lost.
        Err(PlanError::BegunBefore { .. }) => {
            let is_made =
                kind == (JournalCall::Compact, JournalMoment::After) || kind.0 == JournalCall::Release;
            assert!(is_made, "{what}");
            tokio::time::sleep(CLAIM).await;
        }
        again => _ = again.unwrap(),
    }
    let rest = runner(&worker, journal.clone(), Durability::Strict, u64::MAX);
    assert_eq!(in_time(rest.resume(&fork)).await.unwrap().stop, StopReason::Completed, "{what}");
    assert_eq!(in_time(rest.resume(&id())).await.unwrap().stop, StopReason::Completed, "{what}");
    true
}

#[tokio::test(start_paused = true)]
async fn a_reset_that_fails_at_any_call_has_happened_whole_or_not_at_all() {
    for kind in kinds() {
        let mut number = 0;
        while reset_at((kind, number)).await {
            number += 1;
        }
        assert!(number > 0 || !CERTAIN.contains(&kind.0), "{kind:?}");
    }
}

/// Whether there was such a call, which failed.
async fn reset_at((kind, number): ((JournalCall, JournalMoment), usize)) -> bool {
    let (journal, calls) = (MemoryJournal::new(), Calls::default());
    let executor = FunctionStepExecutor::new(|_, ctx: StepContext| async move {
        let fails = ctx.step().id.as_str() == "fails" && ctx.idempotency_key().ends_with("/0");
        if fails { Err(ExecutorError::new("no")) } else { Ok("done") }
    });
    let builder = || PlanRunner::builder().executor(executor.clone());
    let runner = builder().journal(journal.clone()).build().unwrap();
    let steps = [step("fails"), step("last").after("fails")];
    assert_eq!(in_time(runner.run_plan(plan(steps))).await.unwrap().stop, StopReason::Failed);
    let hooked = calls.at(kind, number, &journal, || fails(JournalErrorKind::Io));
    let name = "fails".try_into().unwrap();
    let reset = in_time(builder().journal(hooked).build().unwrap().reset_step(&id(), &name)).await;
    let what = format!("{kind:?} {number}");
    if !calls.met() {
        reset.unwrap();
        return false;
    }
    assert!(matches!(reset, Err(PlanError::Journal { .. })), "{what}: {reset:?}");
    if kind.0 == JournalCall::Release || kind == (JournalCall::Claim, JournalMoment::After) {
        tokio::time::sleep(CLAIM).await;
    }
    let status = runner.status(&id()).await.unwrap().status("fails");
    let has_happened = status == Some(StepStatus::Pending);
    let is_in_log = kind == (JournalCall::Append, JournalMoment::After) || kind.0 == JournalCall::Release;
    assert_eq!(has_happened, is_in_log, "{what}");
    if !has_happened {
        in_time(runner.reset_step(&id(), &name)).await.unwrap();
    }
    assert_eq!(in_time(runner.resume(&id())).await.unwrap().stop, StopReason::Completed, "{what}");
    true
}
