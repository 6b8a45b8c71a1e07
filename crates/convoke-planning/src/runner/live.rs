//! Work that goes on in this process though its run is over.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use convoke_core::{RunId, StepId};
use tokio_util::sync::CancellationToken;

/// What was left behind, by run and step.
///
/// One for the process: whoever resumes a plan here must know, whichever runner left the work behind. Run ids are made
/// once and for ever, so that two journals never mean the same by one.
static LIVE: LazyLock<Mutex<Entries>> = LazyLock::new(Mutex::default);

type Entries = HashMap<RunId, HashMap<StepId, Vec<Arc<Entry>>>>;

#[derive(Debug)]
struct Entry {
    /// The number of the start. Where it never became durable, another start has the number too.
    start: u64,
    /// Signalled once the work has ended.
    ended: CancellationToken,
}

fn with<T>(act: impl FnOnce(&mut Entries) -> T) -> T {
    act(&mut LIVE.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Says that a start goes on; ends when it is dropped.
#[derive(Debug)]
pub(super) struct Live {
    run: RunId,
    step: StepId,
    entry: Arc<Entry>,
}

impl Live {
    pub(super) fn new(run: RunId, step: StepId, start: u64) -> Self {
        let entry = Arc::new(Entry { start, ended: CancellationToken::new() });
        with(|live| {
            let of_run = live.entry(run.clone()).or_default();
            of_run.entry(step.clone()).or_default().push(Arc::clone(&entry));
        });
        Self { run, step, entry }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        with(|live| {
            let Some(of_run) = live.get_mut(&self.run) else { return };
            let Some(of_step) = of_run.get_mut(&self.step) else { return };
            of_step.retain(|entry| !Arc::ptr_eq(entry, &self.entry));
            if of_step.is_empty() {
                of_run.remove(&self.step);
            }
            if of_run.is_empty() {
                live.remove(&self.run);
            }
        });
        self.entry.ended.cancel();
    }
}

/// Whether anything of a run goes on here. What goes on is of runs that have ended.
pub(super) fn is_any(run: &RunId) -> bool {
    with(|live| live.contains_key(run))
}

/// Signalled when the work of a start of a step has ended; `None` where it does not run here.
pub(super) fn ended(run: &RunId, step: &StepId, start: u64) -> Option<CancellationToken> {
    of_step(run, step, |entry| entry.start == start).pop()
}

/// Signalled when the work of a step has ended, whichever start it is of; none where it does not run here.
pub(super) fn all_ended(run: &RunId, step: &StepId) -> Vec<CancellationToken> {
    of_step(run, step, |_| true)
}

fn of_step(run: &RunId, step: &StepId, meant: impl Fn(&Entry) -> bool) -> Vec<CancellationToken> {
    with(|live| {
        let of_step = live.get(run).and_then(|of_run| of_run.get(step)).into_iter().flatten();
        of_step.filter(|entry| meant(entry)).map(|entry| entry.ended.clone()).collect()
    })
}
