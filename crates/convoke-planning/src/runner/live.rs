//! Work that goes on in this process though its run is over.

use std::{
    collections::HashMap,
    sync::{LazyLock, Mutex, PoisonError},
};

use convoke_core::RunId;
use tokio_util::sync::CancellationToken;

/// What was left behind, by run and number of the start. The token is signalled once it has ended.
///
/// One for the process: whoever resumes a plan here must know, whichever runner left the work behind. Run ids are made
/// once and for ever, so that two journals never mean the same by one.
static LIVE: LazyLock<Mutex<HashMap<(RunId, u64), CancellationToken>>> = LazyLock::new(Mutex::default);

fn with<T>(act: impl FnOnce(&mut HashMap<(RunId, u64), CancellationToken>) -> T) -> T {
    act(&mut LIVE.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Says that a start goes on; ends when it is dropped.
#[derive(Debug)]
pub(super) struct Live {
    key: (RunId, u64),
}

impl Live {
    pub(super) fn new(run: RunId, start: u64) -> Self {
        let key = (run, start);
        with(|live| live.insert(key.clone(), CancellationToken::new()));
        Self { key }
    }

    pub(super) fn start(&self) -> u64 {
        self.key.1
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        if let Some(ended) = with(|live| live.remove(&self.key)) {
            ended.cancel();
        }
    }
}

/// Signalled when the work of a start has ended; `None` where it does not run here.
pub(super) fn ended(run: &RunId, start: u64) -> Option<CancellationToken> {
    with(|live| live.get(&(run.clone(), start)).cloned())
}
