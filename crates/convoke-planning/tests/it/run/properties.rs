//! Plans, outcomes, cancels and kills by chance.

mod damage;
mod told;
mod world;

use std::{collections::BTreeMap, time::Duration};

use convoke_core::{Commit, Journal, LogId, OwnerId, PlanId, ReadFrom, Record, Sequence};
use convoke_journal::MemoryJournal;
use convoke_planning::{
    PlanError, PlanRun, RunOptions, UnreadableLog,
    machine::{Durability, StopReason},
};
use proptest::{collection::vec, prelude::*};

use super::support::{ms, standing};

use told::{Told, head};
use world::{Actor, World, world};

/// More than any run here takes.
const PATIENCE: Duration = Duration::from_mins(10);

fn id() -> PlanId {
    PlanId::new("plan").unwrap()
}

fn log() -> LogId {
    LogId::new("plan/plan").unwrap()
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
