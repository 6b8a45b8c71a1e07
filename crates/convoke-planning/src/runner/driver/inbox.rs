//! How a run hears what is told to it.

use std::{
    collections::VecDeque,
    mem,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Waker},
};

use crate::{
    PlanError,
    runner::driver::{Told, workers::Seats},
};

/// Tells a run what has come. Cloning shares it.
#[derive(Clone, Default)]
pub(in crate::runner) struct Teller(Arc<Shared>);

/// Where a run hears what it is told. It is over with this.
#[derive(Default)]
pub(in crate::runner) struct Inbox(Teller);

#[derive(Default)]
struct Shared {
    /// Whether something was told and not heard yet: who has enough to do looks no further.
    has_come: AtomicBool,
    state: Mutex<State>,
}

/// What a run and its tasks have in common.
#[derive(Default)]
pub(super) struct State {
    told: VecDeque<Told>,
    /// Who found nothing when it looked.
    listener: Option<Waker>,
    pub(super) is_over: bool,
    pub(super) seats: Seats,
}

impl Teller {
    /// # Errors
    ///
    /// [`PlanError::Ended`] where the run is over.
    pub(in crate::runner) fn tell(&self, told: Told) -> Result<(), PlanError> {
        let state = self.lock();
        if state.is_over {
            return Err(PlanError::Ended);
        }
        self.tell_locked(state, told);
        Ok(())
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells what has come, and wakes who listens once the lock is free.
    pub(super) fn tell_locked(&self, mut state: MutexGuard<'_, State>, told: Told) {
        state.told.push_back(told);
        self.0.has_come.store(true, Ordering::Release);
        let listener = state.listener.take();
        drop(state);
        if let Some(listener) = listener {
            listener.wake();
        }
    }
}

impl Inbox {
    pub(in crate::runner) fn teller(&self) -> &Teller {
        &self.0
    }

    pub(super) fn has_come(&self) -> bool {
        self.0.0.has_come.load(Ordering::Acquire)
    }

    /// Takes all that has come, in its order; where that is nothing, what comes next wakes the task.
    pub(super) fn poll(&mut self, cx: &Context<'_>, came: &mut VecDeque<Told>) {
        let mut state = self.0.lock();
        self.0.0.has_come.store(false, Ordering::Release);
        if !state.told.is_empty() {
            return came.append(&mut state.told);
        }
        if !state.listener.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            state.listener = Some(cx.waker().clone());
        }
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.is_over = true;
        state.seats.dismiss();
        let unheard = (mem::take(&mut state.told), state.listener.take());
        drop(state);
        // Whoever waits for an answer hears that there is none, and may tell something at once.
        drop(unheard);
    }
}
