//! Waiting, as a future of any executor, until a bounded sink has come far enough.

use std::{
    pin::Pin,
    task::{Context, Poll, Waker},
};

use super::{End, Shared, State};
use crate::SinkError;

/// How far the sink must have come.
#[derive(Clone, Copy, Debug)]
pub(super) enum Goal {
    /// Every publication with a smaller number is settled.
    Below(u64),
    /// The thread has let go of the sink behind.
    Ended,
}

impl Goal {
    fn is_reached(self, settled_below: u64, end: Option<End>) -> bool {
        match self {
            Self::Below(number) => settled_below >= number,
            Self::Ended => end == Some(End::Orderly),
        }
    }
}

/// Who waits for what; one entry for each future that was polled and is alive.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    next_id: u64,
    waiting: Vec<Waiter>,
}

#[derive(Debug)]
struct Waiter {
    id: u64,
    goal: Goal,
    waker: Waker,
}

impl Waiters {
    fn wait(&mut self, id: Option<u64>, goal: Goal, waker: &Waker) -> u64 {
        if let Some(waiter) = self.waiting.iter_mut().find(|waiter| Some(waiter.id) == id) {
            waiter.waker.clone_from(waker);
            return waiter.id;
        }
        let id = self.next_id;
        self.next_id += 1;
        self.waiting.push(Waiter { id, goal, waker: waker.clone() });
        id
    }
}

impl State {
    /// The wakers of those whose goal is reached, or never will be, to be woken once the lock is released.
    pub(super) fn reached(&mut self) -> Vec<Waker> {
        if self.waiters.waiting.is_empty() {
            return Vec::new();
        }
        let (settled_below, end) = (self.queue.settled_below(), self.end);
        let reached = |waiter: &mut Waiter| end.is_some() || waiter.goal.is_reached(settled_below, end);
        self.waiters.waiting.extract_if(.., reached).map(|waiter| waiter.waker).collect()
    }
}

/// Ready once the goal is reached, or cannot be any more.
#[must_use = "futures do nothing unless awaited"]
pub(super) struct Settled<'a> {
    shared: &'a Shared,
    goal: Goal,
    id: Option<u64>,
}

impl<'a> Settled<'a> {
    pub(super) fn new(shared: &'a Shared, goal: Goal) -> Self {
        Self { shared, goal, id: None }
    }
}

impl Future for Settled<'_> {
    type Output = Result<(), SinkError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let shared = self.shared;
        let mut state = shared.state.lock();
        if self.goal.is_reached(state.queue.settled_below(), state.end) {
            return Poll::Ready(Ok(()));
        }
        if shared.is_worker() {
            return Poll::Ready(Err(SinkError::new(
                "bounded sink cannot be waited for by the sink behind it; flush and close it from elsewhere",
            )));
        }
        if state.end.is_some() {
            return Poll::Ready(Err(SinkError::new(
                "bounded sink lost its thread to a panic; what waited is not passed on",
            )));
        }
        self.id = Some(state.waiters.wait(self.id, self.goal, cx.waker()));
        drop(state);
        // One that dozes would let it wait for longer.
        shared.work.notify_one();
        Poll::Pending
    }
}

impl Drop for Settled<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.shared.state.lock().waiters.waiting.retain(|waiter| waiter.id != id);
        }
    }
}
