//! Processes that are killed while they run a plan. They run this very test, told by variables of the environment what to
//! do.

mod other;
mod worker;

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    thread,
};

use convoke_core::{Journal, LogId, Metadata, PlanId, ReadFrom};
use convoke_journal::FileJournal;
use convoke_planning::{
    ApprovalDecision, Backoff, BoxError, Plan, PlanDraft, PlanError, PlanRun, PlanRunner, PlanValidator,
    Review, RunOptions, StepRequest, StepStatus,
    machine::{Effects, Finding, StepErrorCode, StopReason},
};
use convoke_testkit::{HookedJournal, JournalCall, JournalMoment, go_on};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::support::{policy, standing};
use crate::fixtures::step;

use other::{FOLDER, Other, ROLE, say};
use worker::{Habit, Worker, effects, executions, lines};

/// How many steps the plan has.
const STEPS: usize = 50;

/// A step whose first attempt fails, one whose first output is rejected, one whose text is revised, one that is gated.
const FAILS: &str = "s10";
const REJECTED: &str = "s15";
const REVISED: &str = "s25";
const GATED: &str = "s20";

fn id() -> PlanId {
    PlanId::new("kill").unwrap()
}

fn log() -> LogId {
    LogId::new("plan/kill").unwrap()
}

fn name(step: usize) -> String {
    format!("s{step:02}")
}

/// Chains, forks and joins.
fn graph() -> Plan {
    let steps = (0..STEPS).map(|n| {
        let mut step = step(name(n));
        if n >= 4 {
            step = step.input_from(name(n - 4));
        }
        if n % 3 == 1 {
            step = step.after(name(n - 1));
        }
        if n >= 7 && n % 7 == 0 {
            step = step.after_end_of(name(n - 7));
        }
        if name(n) == GATED { step.gated() } else { step }
    });
    PlanValidator::default().validate(PlanDraft::new("goal").with_id("kill").with_steps(steps)).unwrap()
}

/// A new folder, in memory where there is such a place: what is killed here is processes, not machines.
fn folder() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

async fn review(review: Review) -> Result<Finding, BoxError> {
    Ok(match (review.step().id.as_str(), review.attempt) {
        (REJECTED, 1) => Finding::Retry("again".to_owned()),
        (REVISED, _) => Finding::Revise("revised".to_owned()),
        _ => Finding::Pass,
    })
}

async fn grant(_: StepRequest) -> Result<ApprovalDecision, BoxError> {
    Ok(ApprovalDecision::Approve(granted()))
}

fn granted() -> Metadata {
    [("by".to_owned(), json!("Ann"))].into_iter().collect()
}

fn runner(worker: Worker, journal: impl Journal, parallel: u32) -> PlanRunner {
    let policy =
        policy(|policy| policy.max_parallel_steps(parallel).max_attempts(3).backoff(Backoff::none()));
    let builder = PlanRunner::builder().executor(worker).journal(journal).policy(policy);
    builder.reflector(review).approvals(grant).build().unwrap()
}

async fn files(folder: &Path) -> FileJournal {
    FileJournal::open(folder.join("journal")).await.unwrap()
}

/// The file that the journal of one log writes to.
fn segment(folder: &Path) -> PathBuf {
    let mut found = Vec::new();
    let mut folders = vec![folder.join("journal")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.file_name().unwrap().to_str().unwrap().starts_with("segment") {
                found.push(path);
            }
        }
    }
    found.sort();
    found.pop().unwrap()
}

fn length(folder: &Path) -> u64 {
    fs::metadata(segment(folder)).unwrap().len()
}

/// A journal that tells where the commit of this number began once it is durable, and does not answer it; the first is the
/// plan itself.
fn waiting_after(commit: usize, folder: &Path, journal: FileJournal) -> HookedJournal<FileJournal> {
    let (appends, began, folder) = (AtomicUsize::new(0), AtomicU64::new(0), folder.to_owned());
    HookedJournal::new(journal, move |call, when| {
        let is_last = match (call, when) {
            (JournalCall::Append, JournalMoment::Before) => {
                began.store(length(&folder), Ordering::Relaxed);
                false
            }
            (JournalCall::Append, JournalMoment::After) => appends.fetch_add(1, Ordering::Relaxed) == commit,
            _ => false,
        };
        if !is_last {
            return go_on();
        }
        say("here", began.load(Ordering::Relaxed));
        Box::pin(std::future::pending())
    })
}

#[tokio::test]
async fn the_other_process() {
    let Ok(role) = env::var(ROLE) else { return };
    let folder = PathBuf::from(env::var(FOLDER).unwrap());
    let mut worker = Worker::new(&folder);
    let (role, number) = role.split_once(' ').unwrap();
    match role {
        "commits" | "records" => {
            let parallel = if role == "commits" { 4 } else { 1 };
            let journal = waiting_after(number.parse().unwrap(), &folder, files(&folder).await);
            let runner = runner(worker, journal, parallel);
            let run = match runner.run_plan(graph()).await {
                Err(PlanError::BegunBefore { .. }) => runner.resume(&id()).await,
                run => run,
            };
            assert_eq!(run.unwrap().stop, StopReason::Completed);
            say("done", 0);
        }
        "waits" | "dies" | "side-effect" => {
            worker.habit = if role == "dies" { Habit::Dies } else { Habit::Waits };
            if role == "side-effect" {
                worker.effects = Effects::SideEffect;
            }
            let runner = runner(worker, files(&folder).await, 4);
            let run = match runner.run_plan(single()).await {
                Err(PlanError::BegunBefore { .. }) => runner.resume(&id()).await,
                run => run,
            };
            panic!("{run:?}");
        }
        "reviews" => {
            // The plan, then begun and started, then the end of the work.
            let journal = waiting_after(2, &folder, files(&folder).await);
            let reflector = |_: Review| std::future::pending::<Result<Finding, BoxError>>();
            let builder = PlanRunner::builder().executor(worker).journal(journal).reflector(reflector);
            panic!("{:?}", builder.build().unwrap().run_plan(single()).await);
        }
        _ => panic!("{role}"),
    }
}

fn single() -> Plan {
    let draft = PlanDraft::new("goal").with_id("kill").with_step(step("s00"));
    PlanValidator::default().validate(draft).unwrap()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let path = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &path);
        } else {
            fs::copy(entry.path(), path).unwrap();
        }
    }
}

/// How often each step occurs.
fn count(steps: impl IntoIterator<Item = String>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for step in steps {
        *counts.entry(step).or_default() += 1;
    }
    counts
}

/// The starts that the log has, by step.
async fn started(journal: &FileJournal) -> BTreeMap<String, usize> {
    let contents = journal.read(&log(), ReadFrom::Latest).await.unwrap();
    let records = contents.records.iter().filter_map(|record| {
        let entry: Value = serde_json::from_slice(record.as_bytes()).ok()?;
        Some(entry.pointer("/record/started/step")?.as_str()?.to_owned())
    });
    count(records)
}

/// Goes on with what a killed process has left, and compares what it comes to.
async fn check_resumed(folder: &Path, whole: &PlanRun, what: &str) {
    let journal = files(folder).await;
    let runner = runner(Worker::new(folder), journal.clone(), 4);
    let before = lines(&executions(folder));
    let (run, completed) = match runner.status(&id()).await {
        // It was killed before there was a plan.
        Err(PlanError::NotFound { .. } | PlanError::Unreadable { .. }) => {
            assert!(before.is_empty(), "{what}: a step ran and there is no plan");
            (runner.run_plan(graph()).await.unwrap(), BTreeSet::new())
        }
        Err(error) => panic!("{what}: {error:?}"),
        Ok(status) => {
            let durable = started(&journal).await;
            for (step, times) in count(before.clone()) {
                let starts = durable.get(&step).copied().unwrap_or_default();
                assert!(times <= starts, "{what}: {step} ran {times} times and started {starts} times");
            }
            let is_completed = |step: &String| status.status(step) == Some(StepStatus::Completed);
            let completed: BTreeSet<_> = (0..STEPS).map(name).filter(is_completed).collect();
            (runner.resume(&id()).await.unwrap(), completed)
        }
    };
    assert_eq!((run.stop, &run.error), (StopReason::Completed, &None), "{what}");
    assert_eq!(standing(&run), standing(whole), "{what}: another state");
    let again: Vec<_> = lines(&executions(folder))
        .into_iter()
        .skip(before.len())
        .filter(|id| completed.contains(id))
        .collect();
    assert_eq!(again, Vec::<String>::new(), "{what}: completed steps ran again");
    let mut keys: Vec<_> = (0..STEPS).map(|n| format!("kill/{}/0", name(n))).collect();
    keys.push(format!("kill/{REJECTED}/1"));
    keys.sort();
    let mut done = lines(&effects(folder));
    done.sort();
    assert_eq!(done, keys, "{what}");
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// The run that nothing interrupts.
async fn undisturbed() -> PlanRun {
    let folder = folder();
    let runner = runner(Worker::new(folder.path()), files(folder.path()).await, 4);
    let run = runner.run_plan(graph()).await.unwrap();
    assert_eq!(run.stop, StopReason::Completed);
    assert_eq!(run.step(FAILS).unwrap().attempts, 2);
    assert_eq!(run.step(REJECTED).unwrap().attempts, 2);
    assert_eq!(run.text(REVISED), Some("revised"));
    assert_eq!(run.step(GATED).unwrap().approval, granted());
    run
}

/// Kills a process after each commit and inside of each.
fn kill_at_each(role: &str, fewest: usize) {
    let whole = block_on(undisturbed());
    let (next, ended) = (AtomicUsize::new(0), AtomicUsize::new(usize::MAX));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let commit = next.fetch_add(1, Ordering::Relaxed);
                    if commit >= ended.load(Ordering::Relaxed) {
                        return;
                    }
                    if !kill_at(role, commit, &whole) {
                        ended.fetch_min(commit, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let commits = ended.into_inner();
    assert!(commits >= fewest, "{commits}");
}

#[test]
fn a_process_may_be_killed_at_each_commit() {
    // Steps that run together end in one commit: four at a time.
    kill_at_each("commits", STEPS / 4);
}

/// One step at a time: few records share a commit.
#[test]
fn a_process_may_be_killed_at_each_transition() {
    kill_at_each("records", STEPS);
}

/// `false` where the plan had no commit of this number.
fn kill_at(role: &str, commit: usize, whole: &PlanRun) -> bool {
    let folder = folder();
    let killed = folder.path().join("killed");
    fs::create_dir(&killed).unwrap();
    let mut other = Other::start(&format!("{role} {commit}"), &killed);
    let Some(before) = other.here() else { return false };
    drop(other);
    let after = length(&killed);
    assert!(before < after, "commit {commit}");
    // Nothing follows a commit before it is answered, so a part of it is what a kill inside of the write leaves.
    let cut = before + 1 + (u64::try_from(commit).unwrap() * 37) % (after - before);
    for length in [after, cut] {
        let what = format!("commit {commit}, from {before} to {after}, {length} bytes kept");
        let copied = folder.path().join(length.to_string());
        copy(&killed, &copied);
        fs::OpenOptions::new().write(true).open(segment(&copied)).unwrap().set_len(length).unwrap();
        block_on(check_resumed(&copied, whole, &what));
    }
    true
}

#[test]
fn a_plan_comes_to_its_end_however_often_its_process_is_killed() {
    let whole = block_on(undisturbed());
    for commits in [7, 12] {
        let folder = folder();
        let mut kills = 0;
        while Other::start(&format!("records {commits}"), folder.path()).here().is_some() {
            kills += 1;
        }
        assert!(kills >= 3, "{kills}");
        let what = format!("killed {kills} times, after {commits} commits each");
        block_on(check_resumed(folder.path(), &whole, &what));
    }
}

#[test]
fn what_was_reviewed_by_nobody_is_reviewed_when_the_plan_goes_on() {
    let folder = folder();
    Other::start("reviews 0", folder.path()).here().unwrap();
    let reviews = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&reviews);
    let reflector = move |review: Review| {
        let step = review.step().id.to_string();
        let is_its_output = review.output.text.starts_with("s00 of ");
        noted.lock().unwrap().push((step, review.attempt, is_its_output));
        async { Ok::<_, BoxError>(Finding::Revise("reviewed".to_owned())) }
    };
    let run = block_on(async {
        let (worker, journal) = (Worker::new(folder.path()), files(folder.path()).await);
        let builder = PlanRunner::builder().executor(worker).journal(journal).reflector(reflector);
        let runner = builder.build().unwrap();
        assert_eq!(runner.status(&id()).await.unwrap().status("s00"), Some(StepStatus::Running));
        runner.resume(&id()).await.unwrap()
    });
    assert_eq!((run.stop, run.text("s00")), (StopReason::Completed, Some("reviewed")));
    assert_eq!(*reviews.lock().unwrap(), [("s00".to_owned(), 1, true)]);
    assert_eq!((run.executed, lines(&executions(folder.path())).len()), (0, 1));
}

#[test]
fn a_side_effect_whose_process_was_killed_is_not_repeated() {
    let folder = folder();
    Other::start("side-effect 0", folder.path()).here().unwrap();
    let run = block_on(async {
        let worker = Worker { effects: Effects::SideEffect, ..Worker::new(folder.path()) };
        runner(worker, files(folder.path()).await, 4).resume(&id()).await.unwrap()
    });
    assert_eq!((run.stop, run.step("s00").unwrap().outcome_unknown), (StopReason::NoReadyStep, true));
    assert_eq!(lines(&executions(folder.path())).len(), 1);
}

#[test]
fn a_step_that_ends_its_process_fails_at_the_fifth_time() {
    let folder = folder();
    for _ in 0..5 {
        assert_eq!(Other::start("dies 0", folder.path()).child.wait().unwrap().code(), Some(9));
    }
    let run = block_on(async {
        runner(Worker::new(folder.path()), files(folder.path()).await, 4).resume(&id()).await.unwrap()
    });
    let error = run.step("s00").unwrap().error.clone().unwrap();
    assert_eq!((run.stop, error.code), (StopReason::Failed, StepErrorCode::InterruptedRepeatedly));
    assert_eq!(lines(&executions(folder.path())).len(), 5);
    assert_eq!(lines(&effects(folder.path())), ["kill/s00/0"]);
}

#[test]
fn a_plan_has_one_runner_over_all_processes_until_that_one_dies() {
    let folder = folder();
    let mut other = Other::start("waits 0", folder.path());
    other.here().unwrap();
    block_on(async {
        let runner = runner(Worker::new(folder.path()), files(folder.path()).await, 4);
        let refused = runner.resume(&id()).await.unwrap_err();
        assert!(matches!(refused, PlanError::Claimed { .. }), "{refused:?}");
        let refused = runner.run_plan(single()).await.unwrap_err();
        assert!(matches!(refused, PlanError::BegunBefore { .. }), "{refused:?}");
        assert_eq!(runner.status(&id()).await.unwrap().status("s00"), Some(StepStatus::Running));
        assert_eq!(lines(&executions(folder.path())).len(), 1);
        drop(other);
        let handle = runner.start(id(), RunOptions::new());
        assert_eq!(handle.await.unwrap().stop, StopReason::Completed);
    });
    assert_eq!(lines(&effects(folder.path())), ["kill/s00/0"]);
}
