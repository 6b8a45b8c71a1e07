//! The sink that takes events at once and passes them on from its own thread.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicUsize, Ordering},
        mpsc::{Sender, channel},
    },
    task::{Context, Poll, Wake, Waker},
    thread,
};

use parking_lot::Mutex;

use convoke_observability::{
    BoundedAsyncSink, Event, EventSink, Failure, FanOutSink, MemorySink, SinkCounters, SinkError, WhenFull,
};

use crate::support::{Bombing, Failing, Gate, Gated, Moody, event, in_time, lines, numbers};

/// Published, delivered, failed, dropped, waiting.
fn counts(sink: &BoundedAsyncSink) -> [u64; 5] {
    let SinkCounters { published, delivered, failed, dropped, waiting, .. } = sink.counters();
    [published, delivered, failed, dropped, waiting]
}

#[tokio::test]
async fn passes_every_event_on_in_order() {
    let memory = MemorySink::new();
    let sink = BoundedAsyncSink::builder(memory.clone()).start().unwrap();
    for number in 0..100 {
        sink.publish(event(number)).unwrap();
    }
    sink.flush().await.unwrap();
    assert_eq!(numbers(&memory.events()), (0..100).collect::<Vec<_>>());
    assert_eq!(counts(&sink), [100, 100, 0, 0, 0]);
    assert!(sink.take_last_failure().is_none());
}

#[tokio::test]
async fn a_sink_that_fails_or_panics_is_counted_and_goes_on() {
    let memory = MemorySink::new();
    let behind = FanOutSink::new().with_sink(memory.clone()).with_sink(Moody);
    let sink = BoundedAsyncSink::builder(behind).start().unwrap();
    for number in 0..9 {
        sink.publish(event(number)).unwrap();
    }
    sink.flush().await.unwrap();
    assert_eq!(counts(&sink), [9, 3, 6, 0, 0]);
    assert_eq!(numbers(&memory.events()), (0..9).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_panic_right_behind_it_is_counted_and_goes_on() {
    let sink = BoundedAsyncSink::builder(Moody).start().unwrap();
    for number in [2, 2, 0] {
        sink.publish(event(number)).unwrap();
    }
    sink.flush().await.unwrap();
    assert_eq!(counts(&sink), [3, 1, 2, 0, 0]);
    let Some(Failure::Panicked { detail }) = sink.take_last_failure() else {
        panic!("a panic was the last failure")
    };
    assert_eq!(detail.as_deref(), Some("no state for `runtime/2`"));
}

#[tokio::test]
async fn the_newest_failure_is_kept_once() {
    let sink = BoundedAsyncSink::builder(Failing).start().unwrap();
    sink.publish(event(0)).unwrap();
    sink.publish(event(1)).unwrap();
    sink.flush().await.unwrap();
    let failure = sink.take_last_failure().unwrap();
    assert_eq!(lines(&failure), ["call returned an error", "collector refused `runtime/1`"]);
    assert!(sink.take_last_failure().is_none());
}

/// What a future that needs no runtime resolves to.
fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

#[test]
fn errors_that_panic_where_they_are_dropped_leave_the_thread_alive() {
    let counts = in_time(|| {
        let sink = BoundedAsyncSink::builder(Bombing).start().unwrap();
        for number in 0..3 {
            sink.publish(event(number)).unwrap();
        }
        block_on(sink.flush()).unwrap();
        sink.publish(event(3)).unwrap();
        block_on(sink.close()).unwrap();
        counts(&sink)
    });
    assert_eq!(counts, [4, 0, 4, 0, 0]);
}

struct NoWake;

impl Wake for NoWake {
    fn wake(self: Arc<Self>) {
        panic!("executor is gone");
    }
}

/// One who waits for `future` and panics when woken, then one who is woken as it should be.
fn wake_two<F: Future<Output = Result<(), SinkError>> + Send>(futures: [F; 2], gate: Gate) {
    let [first, second] = futures;
    let mut first = pin!(first);
    let no_wake = Waker::from(Arc::new(NoWake));
    assert!(first.as_mut().poll(&mut Context::from_waker(&no_wake)).is_pending());
    let mut second = pin!(second);
    let mut gate = Some(gate);
    block_on(poll_fn(|cx| {
        let poll = second.as_mut().poll(cx);
        gate.take();
        poll
    }))
    .unwrap();
    block_on(first).unwrap();
}

#[test]
fn a_waker_that_panics_keeps_nobody_else_waiting() {
    let counts = in_time(|| {
        let start = || {
            let (gated, gate) = Gated::new();
            let sink = BoundedAsyncSink::builder(gated).start().unwrap();
            sink.publish(event(0)).unwrap();
            gate.entered.recv().unwrap();
            (sink, gate)
        };
        let (flushed, gate) = start();
        wake_two([flushed.flush(), flushed.flush()], gate);
        flushed.publish(event(1)).unwrap();
        block_on(flushed.close()).unwrap();

        let (closed, gate) = start();
        wake_two([closed.close(), closed.close()], gate);
        [counts(&flushed), counts(&closed)]
    });
    assert_eq!(counts, [[2, 2, 0, 0, 0], [1, 1, 0, 0, 0]]);
}

/// Publishes 0 to 9 while the sink behind blocks on 0 and four may wait.
async fn jam(when_full: WhenFull) -> Vec<u64> {
    let (gated, gate) = Gated::new();
    let memory = MemorySink::new();
    let behind = FanOutSink::new().with_sink(memory.clone()).with_sink(gated);
    let sink = BoundedAsyncSink::builder(behind).with_capacity(4).when_full(when_full).start().unwrap();

    sink.publish(event(0)).unwrap();
    assert_eq!(gate.entered.recv(), Ok(0));
    for number in 1..10 {
        sink.publish(event(number)).unwrap();
    }
    assert_eq!(
        counts(&sink),
        [10, 0, 0, 5, 5],
        "the publisher is through while the sink behind still blocks"
    );

    drop(gate);
    sink.flush().await.unwrap();
    assert_eq!(counts(&sink), [10, 5, 0, 5, 0]);
    numbers(&memory.events())
}

#[tokio::test]
async fn a_sink_that_blocks_costs_the_publisher_nothing_but_the_newest_events() {
    assert_eq!(jam(WhenFull::DropNewest).await, [0, 1, 2, 3, 4]);
    assert_eq!(jam(WhenFull::default()).await, [0, 1, 2, 3, 4]);
}

#[tokio::test]
async fn a_sink_that_blocks_costs_the_publisher_nothing_but_the_oldest_events() {
    assert_eq!(jam(WhenFull::DropOldest).await, [0, 6, 7, 8, 9]);
}

#[test]
fn waits_with_4096_events_unless_set_and_never_with_none() {
    let (gated, gate) = Gated::new();
    let sink = BoundedAsyncSink::builder(gated).start().unwrap();
    sink.publish(event(0)).unwrap();
    gate.entered.recv().unwrap();
    for number in 0..4_097 {
        sink.publish(event(number)).unwrap();
    }
    assert_eq!(counts(&sink), [4_098, 0, 0, 1, 4_097]);

    let error = BoundedAsyncSink::builder(MemorySink::new()).with_capacity(0).start().unwrap_err();
    assert_eq!(error.to_string(), "capacity of the bounded sink is 0; give it 1 or more");
}

struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn flush_waits_for_what_was_published_before_it_and_no_longer() {
    let (gated, gate) = Gated::new();
    let sink = BoundedAsyncSink::builder(gated).start().unwrap();
    sink.flush().await.unwrap();

    sink.publish(event(0)).unwrap();
    gate.entered.recv().unwrap();
    let [(first_woken, first_waker), (_, second_waker), (abandoned_woken, abandoned_waker)] =
        [(); 3].map(|()| {
            let woken = Arc::new(Woken(AtomicUsize::new(0)));
            (Arc::clone(&woken), Waker::from(woken))
        });
    let mut first = pin!(sink.flush());
    assert!(first.as_mut().poll(&mut Context::from_waker(&first_waker)).is_pending());
    sink.publish(event(1)).unwrap();
    let mut second = pin!(sink.flush());
    assert!(second.as_mut().poll(&mut Context::from_waker(&second_waker)).is_pending());
    {
        let abandoned = pin!(sink.flush());
        assert!(abandoned.poll(&mut Context::from_waker(&abandoned_waker)).is_pending());
    }

    gate.go.send(()).unwrap();
    // The worker has the next one only after it has woken who waited for the one before.
    assert_eq!(gate.entered.recv(), Ok(1));
    assert_eq!(first_woken.0.load(Ordering::SeqCst), 1);
    first.await.unwrap();
    assert!(second.as_mut().poll(&mut Context::from_waker(&second_waker)).is_pending());

    gate.go.send(()).unwrap();
    second.await.unwrap();
    sink.publish(event(2)).unwrap();
    assert_eq!(gate.entered.recv(), Ok(2));
    assert_eq!(abandoned_woken.0.load(Ordering::SeqCst), 0);
}

/// Tells what its own bounded sink answers when it is waited for from here.
struct Inward {
    own: Arc<OnceLock<Weak<BoundedAsyncSink>>>,
    said: Sender<[String; 2]>,
}

impl EventSink for Inward {
    fn publish(&self, _: Event) -> Result<(), SinkError> {
        let own = self.own.get().and_then(Weak::upgrade).unwrap();
        let mut cx = Context::from_waker(Waker::noop());
        let said = |poll| match poll {
            Poll::Ready(Err(error)) => SinkError::to_string(&error),
            other => format!("{other:?}"),
        };
        let flush = said(pin!(own.flush()).poll(&mut cx));
        let close = said(pin!(own.close()).poll(&mut cx));
        self.said.send([flush, close]).unwrap();
        Ok(())
    }
}

#[test]
fn the_sink_behind_cannot_wait_for_itself() {
    let (said, heard) = channel();
    let own = Arc::new(OnceLock::new());
    let inward = Inward { own: Arc::clone(&own), said };
    let sink = Arc::new(BoundedAsyncSink::builder(inward).start().unwrap());
    own.set(Arc::downgrade(&sink)).unwrap();
    sink.publish(event(0)).unwrap();
    let expected =
        "bounded sink cannot be waited for by the sink behind it; flush and close it from elsewhere";
    assert_eq!(heard.recv().unwrap(), [expected, expected]);
    assert!(sink.publish(event(1)).is_err(), "it is closed all the same");
}

/// Says when it is dropped, and may panic in doing so.
struct Dropped {
    memory: MemorySink,
    gone: Sender<usize>,
    panics: bool,
}

impl EventSink for Dropped {
    fn publish(&self, event: Event) -> Result<(), SinkError> {
        self.memory.publish(event)
    }
}

impl Drop for Dropped {
    fn drop(&mut self) {
        self.gone.send(self.memory.len()).unwrap();
        assert!(!self.panics, "on the way out");
    }
}

#[tokio::test]
async fn close_passes_on_what_waits_and_lets_go_of_the_sink_behind() {
    for panics in [false, true] {
        let (gone, is_gone) = channel();
        let memory = MemorySink::new();
        let behind = Dropped { memory: memory.clone(), gone, panics };
        let sink = BoundedAsyncSink::builder(behind).start().unwrap();
        for number in 0..50 {
            sink.publish(event(number)).unwrap();
        }
        sink.close().await.unwrap();
        assert_eq!(is_gone.try_recv(), Ok(50));
        assert_eq!(counts(&sink), [50, 50, 0, 0, 0]);

        let error = sink.publish(event(50)).unwrap_err();
        assert_eq!(error.to_string(), "bounded sink is closed; publish before it is");
        assert_eq!(counts(&sink), [50, 50, 0, 0, 0], "what is refused is not published");
        sink.close().await.unwrap();
        sink.flush().await.unwrap();
    }
}

#[test]
fn dropping_it_passes_on_what_waits_and_ends_the_thread() {
    let (gated, gate) = Gated::new();
    let (gone, is_gone) = channel();
    let memory = MemorySink::new();
    let behind =
        FanOutSink::new().with_sink(gated).with_sink(Dropped { memory: memory.clone(), gone, panics: false });
    let sink = BoundedAsyncSink::builder(behind).start().unwrap();
    for number in 0..5 {
        sink.publish(event(number)).unwrap();
    }
    gate.entered.recv().unwrap();
    drop(sink);
    assert!(is_gone.try_recv().is_err());
    drop(gate);
    assert_eq!(is_gone.recv(), Ok(5));
    assert_eq!(numbers(&memory.events()), [0, 1, 2, 3, 4]);
}

#[tokio::test]
async fn many_publishers_and_a_moody_sink_add_up_at_every_look() {
    for when_full in [WhenFull::DropNewest, WhenFull::DropOldest] {
        let sink = BoundedAsyncSink::builder(Moody).with_capacity(3).when_full(when_full).start().unwrap();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for number in 0..200 {
                        sink.publish(event(number)).unwrap();
                        let [published, delivered, failed, dropped, waiting] = counts(&sink);
                        assert_eq!(published, delivered + failed + dropped + waiting);
                        assert!(waiting <= 4);
                    }
                });
            }
        });
        sink.close().await.unwrap();
        let [published, delivered, failed, dropped, waiting] = counts(&sink);
        assert_eq!((published, waiting), (800, 0));
        assert_eq!(published, delivered + failed + dropped);
    }
}

#[tokio::test]
async fn a_waiter_that_moves_to_another_task_is_woken_there() {
    let (gated, gate) = Gated::new();
    let sink = Arc::new(BoundedAsyncSink::builder(gated).start().unwrap());
    sink.publish(event(0)).unwrap();
    gate.entered.recv().unwrap();
    let flushed = Arc::clone(&sink);
    let mut flush = Box::pin(async move { flushed.flush().await });
    assert!(flush.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let gate = Mutex::new(Some(gate));
    poll_fn(|cx| {
        let poll = flush.as_mut().poll(cx);
        gate.lock().take();
        poll
    })
    .await
    .unwrap();
}
