//! The one compare-and-set of an attempt: how it ended is decided once.
//!
//! Two sides race: the work, which ends when it ends, and the watch that a stop begins, which asks it to stop and gives up
//! after a grace.
//! Whoever comes first decides; the other side learns what was decided.
//!
//! ```text
//! Running ──stop──► Stopping(cause) ──give_up──► Abandoned(cause)
//!    │                   │
//!    └──────end──────────┴───► Ended(cause, if it was asked to stop before)
//! ```

use std::sync::atomic::{AtomicU8, Ordering};

/// Why an attempt was asked to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopCause {
    /// The caller gave up, or the runtime is gone.
    Cancelled,
    /// The deadline has passed.
    Deadline,
}

/// What the work learns when it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It ended before anybody gave up; the cause says whether it had been asked to stop.
    Ended(Option<StopCause>),
    /// It was given up before: the work is detached.
    Abandoned,
}

const RUNNING: u8 = 0;
const STOPPING_CANCELLED: u8 = 1;
const STOPPING_DEADLINE: u8 = 2;
const ENDED: u8 = 3;
const ABANDONED: u8 = 4;

/// How an attempt ended, or that it has not yet.
#[derive(Debug, Default)]
pub(crate) struct Ending(AtomicU8);

impl Ending {
    /// The watch asks for a stop. Too late if the work has ended; a second cause changes nothing.
    pub(crate) fn stop(&self, cause: StopCause) {
        let stopping = match cause {
            StopCause::Cancelled => STOPPING_CANCELLED,
            StopCause::Deadline => STOPPING_DEADLINE,
        };
        // A failure means that somebody was first, which is all that there is to know.
        let _ = self.0.compare_exchange(RUNNING, stopping, Ordering::AcqRel, Ordering::Acquire);
    }

    /// The work has ended.
    pub(crate) fn end(&self) -> End {
        match self.decide(ENDED) {
            Ok(STOPPING_CANCELLED) => End::Ended(Some(StopCause::Cancelled)),
            Ok(STOPPING_DEADLINE) => End::Ended(Some(StopCause::Deadline)),
            Ok(_) => End::Ended(None),
            Err(_) => End::Abandoned,
        }
    }

    /// The watch gives up waiting; `false` if the work has ended, and its result is on its way.
    pub(crate) fn give_up(&self) -> bool {
        self.decide(ABANDONED).is_ok()
    }

    /// Moves to a final state if none is reached, and answers the state before.
    fn decide(&self, decision: u8) -> Result<u8, u8> {
        self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, |now| (now < ENDED).then_some(decision))
    }
}

#[cfg(test)]
mod tests;
