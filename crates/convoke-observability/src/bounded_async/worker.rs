//! The thread of a bounded sink.

#[cfg(test)]
mod tests;

use std::{convert::Infallible, task::Waker, thread, time::Duration};

use parking_lot::MutexGuard;

use super::{
    End, Rest, Shared,
    queue::{Handed, Next},
};
use crate::{AnySink, drop_isolated, is_taken, publish_isolated};

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

/// How long the thread dozes before it sleeps.
const DOZE: Duration = Duration::from_millis(1);

fn pass_on(shared: &Shared, sink: &AnySink) {
    let mut state = shared.state.lock();
    let mut has_dozed = false;
    loop {
        match state.queue.next() {
            Next::Hand(event) => {
                has_dozed = false;
                let result = MutexGuard::unlocked(&mut state, || publish_isolated(sink, event));
                state.queue.finish(if result.is_ok() { Handed::Delivered } else { Handed::Failed });
                let replaced = result.err().and_then(|failure| state.last_failure.replace(failure));
                let reached = state.reached();
                if replaced.is_some() || !reached.is_empty() {
                    MutexGuard::unlocked(&mut state, || {
                        drop_isolated(replaced);
                        wake(reached);
                    });
                }
            }
            Next::End => return,
            Next::Wait if has_dozed => {
                state.rest = Rest::Sleeps;
                shared.work.wait(&mut state);
                state.rest = Rest::Awake;
            }
            Next::Wait => {
                has_dozed = true;
                state.rest = Rest::Dozes;
                shared.work.wait_for(&mut state, DOZE);
                state.rest = Rest::Awake;
            }
        }
    }
}

fn wake(wakers: Vec<Waker>) {
    for waker in wakers {
        is_taken::<Infallible>(|| {
            waker.wake();
            Ok(())
        });
    }
}
