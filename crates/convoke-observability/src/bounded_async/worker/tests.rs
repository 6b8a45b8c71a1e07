//! What no sink and no waiter can bring about from outside.

use std::{
    fmt,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
};

use parking_lot::Mutex;

use super::{
    super::{
        BoundedAsyncSink, Shared, WhenFull,
        queue::{Next, Queue},
    },
    run,
};
use crate::{AnySink, Event, EventId, EventSink, Failure, MemorySink, SinkError};

fn event(number: u64) -> Event {
    Event::new(EventId::new("runtime", number), 0, "team", "started", "draft")
}

/// Whether somebody was woken.
#[derive(Default)]
struct Woken(Mutex<bool>);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        *self.0.lock() = true;
    }
}

/// The queue's own check is what panics here, which a release build leaves out.
#[cfg(debug_assertions)]
#[test]
fn a_thread_that_unwinds_leaves_nobody_waiting() {
    let mut queue = Queue::new(9, WhenFull::DropNewest);
    queue.push(event(0)).unwrap();
    assert!(matches!(queue.next(), Next::Hand(_)));
    let sink = BoundedAsyncSink { shared: Arc::new(Shared::new(queue)) };

    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut cx = Context::from_waker(&waker);
    let mut waiting = pin!(sink.flush());
    assert!(waiting.as_mut().poll(&mut cx).is_pending());

    let shared = Arc::clone(&sink.shared);
    let thread = std::thread::spawn(move || run(&shared, AnySink::new(MemorySink::new())));
    // Whether it unwinds to its end is its own affair.
    let _ = thread.join();
    assert!(*woken.0.lock());
    for poll in
        [waiting.as_mut().poll(&mut cx), pin!(sink.flush()).poll(&mut cx), pin!(sink.close()).poll(&mut cx)]
    {
        let Poll::Ready(Err(error)) = poll else { panic!("{poll:?}") };
        assert_eq!(
            error.to_string(),
            "bounded sink lost its thread to a panic; what waited is not passed on"
        );
    }
    assert!(sink.publish(event(1)).is_err());
}

#[test]
fn a_last_failure_that_nobody_took_harms_nobody() {
    #[derive(Debug)]
    struct Bomb;

    impl fmt::Display for Bomb {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("handle with care")
        }
    }

    impl std::error::Error for Bomb {}

    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }

    let shared = Shared::new(Queue::new(1, WhenFull::DropNewest));
    let error = SinkError::new("collector refused").with_source(Bomb);
    shared.state.lock().last_failure = Some(Failure::Returned(error));
    drop(shared);
}
