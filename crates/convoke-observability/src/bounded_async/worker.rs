//! The thread of a bounded sink.

#[cfg(test)]
mod tests;

use std::{convert::Infallible, task::Waker, thread};

use super::{
    End, Shared,
    queue::{Handed, Next},
};
use crate::{AnySink, Event, drop_isolated, is_taken, publish_isolated};

/// Hands events to `sink` until the queue is closed and empty, then lets go of the sink.
pub(super) fn run(shared: &Shared, sink: AnySink) {
    // Only this thread sets it, and only here.
    let _ = shared.worker.set(thread::current().id());
    // All that is foreign in there is isolated already. Should it unwind all the same, nobody is to wait for ever.
    let is_orderly = is_taken::<Infallible>(|| {
        pass_on(shared, &sink);
        Ok(())
    });
    // The sink's destructor is foreign code too; whoever awaits the end gets it whatever that does.
    drop_isolated(sink);
    let mut state = shared.state.lock();
    state.queue.close();
    state.end = Some(if is_orderly { End::Orderly } else { End::Unwound });
    let reached = state.reached();
    drop(state);
    wake(reached);
}

fn pass_on(shared: &Shared, sink: &AnySink) {
    while let Some(event) = next(shared) {
        let result = publish_isolated(sink, &event);
        let mut state = shared.state.lock();
        state.queue.finish(if result.is_ok() { Handed::Delivered } else { Handed::Failed });
        let replaced = result.err().and_then(|failure| state.last_failure.replace(failure));
        let reached = state.reached();
        drop(state);
        drop_isolated(replaced);
        wake(reached);
    }
}

/// Waits for the next event; `None` is the end.
fn next(shared: &Shared) -> Option<Event> {
    let mut state = shared.state.lock();
    loop {
        match state.queue.next() {
            Next::Hand(event) => return Some(event),
            Next::End => return None,
            Next::Wait => shared.work.wait(&mut state),
        }
    }
}

/// Wakes each of them, whatever the ones before do.
fn wake(wakers: Vec<Waker>) {
    for waker in wakers {
        is_taken::<Infallible>(|| {
            waker.wake();
            Ok(())
        });
    }
}
