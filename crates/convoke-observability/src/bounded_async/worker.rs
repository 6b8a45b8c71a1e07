//! The thread of a bounded sink.

use std::{convert::Infallible, thread};

use super::{
    Shared,
    queue::{Handed, Next},
};
use crate::{AnySink, Event, call_isolated, publish_isolated};

/// Hands events to `sink` until the queue is closed and empty, then lets go of the sink.
pub(super) fn run(shared: &Shared, sink: AnySink) {
    // Only this thread sets it, and only here.
    let _ = shared.worker.set(thread::current().id());
    while let Some(event) = next(shared) {
        let result = publish_isolated(&sink, &event);
        let mut state = shared.state.lock();
        state.queue.finish(if result.is_ok() { Handed::Delivered } else { Handed::Failed });
        let replaced = result.err().and_then(|failure| state.last_failure.replace(failure));
        let reached = state.reached();
        drop(state);
        drop(replaced);
        reached.into_iter().for_each(std::task::Waker::wake);
    }
    // The sink's destructor is foreign code too; whoever awaits the end gets it whatever that does.
    let _ = call_isolated::<Infallible>(|| {
        drop(sink);
        Ok(())
    });
    let mut state = shared.state.lock();
    state.ended = true;
    let reached = state.reached();
    drop(state);
    reached.into_iter().for_each(std::task::Waker::wake);
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
