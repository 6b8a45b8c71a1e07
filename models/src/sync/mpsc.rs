//! A channel for many values, without a bound.

use std::{
    collections::VecDeque,
    fmt,
    future::poll_fn,
    mem,
    sync::Arc,
    task::{Poll, Waker},
};

use crate::Mutex;

/// A channel.
pub fn unbounded_channel<T>() -> (UnboundedSender<T>, UnboundedReceiver<T>) {
    let state = State { values: VecDeque::new(), senders: 1, is_open: true, waker: None };
    let state = Arc::new(Mutex::new(state));
    (UnboundedSender(Arc::clone(&state)), UnboundedReceiver(state))
}

struct State<T> {
    values: VecDeque<T>,
    senders: usize,
    /// Whether the receiver is there.
    is_open: bool,
    waker: Option<Waker>,
}

/// Why a value was not sent: nobody can receive it any more.
#[derive(Debug)]
pub struct SendError<T>(pub T);

/// An end that sends.
pub struct UnboundedSender<T>(Arc<Mutex<State<T>>>);

impl<T> UnboundedSender<T> {
    /// Sends a value, if the other end is there.
    ///
    /// # Errors
    ///
    /// The value, where nobody can receive it any more.
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        let mut state = self.0.lock();
        if !state.is_open {
            return Err(SendError(value));
        }
        state.values.push_back(value);
        let waker = state.waker.take();
        drop(state);
        waker.into_iter().for_each(Waker::wake);
        Ok(())
    }
}

impl<T> Clone for UnboundedSender<T> {
    fn clone(&self) -> Self {
        self.0.lock().senders += 1;
        Self(Arc::clone(&self.0))
    }
}

impl<T> Drop for UnboundedSender<T> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.senders -= 1;
        let waker = if state.senders == 0 { state.waker.take() } else { None };
        drop(state);
        waker.into_iter().for_each(Waker::wake);
    }
}

impl<T> fmt::Debug for UnboundedSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UnboundedSender")
    }
}

/// The end that receives.
pub struct UnboundedReceiver<T>(Arc<Mutex<State<T>>>);

impl<T> UnboundedReceiver<T> {
    /// The next value; `None` once all senders are gone.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses no value.
    pub fn recv(&mut self) -> impl Future<Output = Option<T>> {
        poll_fn(|cx| {
            let mut state = self.0.lock();
            if let Some(value) = state.values.pop_front() {
                return Poll::Ready(Some(value));
            }
            if state.senders == 0 {
                return Poll::Ready(None);
            }
            state.waker = Some(cx.waker().clone());
            Poll::Pending
        })
    }
}

impl<T> Drop for UnboundedReceiver<T> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.is_open = false;
        let values = mem::take(&mut state.values);
        drop(state);
        // What was sent and not received is dropped here, outside the lock.
        drop(values);
    }
}

impl<T> fmt::Debug for UnboundedReceiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UnboundedReceiver")
    }
}
