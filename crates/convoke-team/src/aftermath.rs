//! Where detached work meets the settlement of its attempt: the two come in either order, and the second one tells of the
//! end of the work.

use parking_lot::Mutex;

/// A meeting of a settlement, which brings what the end is told with, and an end, which brings what came late.
pub(crate) struct Aftermath<S, E>(Mutex<Came<S, E>>);

/// Who came first, until the second one is there.
struct Came<S, E> {
    settlement: Option<S>,
    end: Option<E>,
}

impl<S, E> Aftermath<S, E> {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Came { settlement: None, end: None }))
    }

    /// The attempt is settled as detached; gives both where the work has ended before.
    pub(crate) fn settled(&self, settlement: S) -> Option<(S, E)> {
        let mut came = self.0.lock();
        if let Some(end) = came.end.take() {
            return Some((settlement, end));
        }
        came.settlement = Some(settlement);
        None
    }

    /// The work has ended after it was given up; gives both where the attempt is settled already.
    pub(crate) fn ended(&self, end: E) -> Option<(S, E)> {
        let mut came = self.0.lock();
        if let Some(settlement) = came.settlement.take() {
            return Some((settlement, end));
        }
        came.end = Some(end);
        None
    }
}
