//! A journal that stops answering.

use std::{
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use convoke_journal::MemoryJournal;
use convoke_testkit::{HookedJournal, JournalCall, JournalMoment, go_on};

/// Says when a journal does not answer.
#[derive(Clone, Default)]
pub(crate) struct Stall(Arc<AtomicBool>);

impl Stall {
    pub(crate) fn set(&self, is_stalled: bool) {
        self.0.store(is_stalled, Ordering::Relaxed);
    }

    /// Appends, and never says so, and gives no claim, while that is set.
    pub(crate) fn journal(&self) -> HookedJournal<MemoryJournal> {
        let stall = self.clone();
        HookedJournal::new(MemoryJournal::new(), move |call, moment| match (call, moment) {
            (JournalCall::Append, JournalMoment::After) | (JournalCall::Claim, JournalMoment::Before)
                if stall.0.load(Ordering::Relaxed) =>
            {
                Box::pin(pending())
            }
            _ => go_on(),
        })
    }
}
