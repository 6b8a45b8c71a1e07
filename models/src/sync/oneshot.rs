//! A channel for one value.

use std::{
    fmt, mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use crate::Mutex;

/// A channel.
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let state = Arc::new(Mutex::new(State::Waiting(None)));
    (Sender(Arc::clone(&state)), Receiver(state))
}

enum State<T> {
    /// Nothing was sent; somebody may wait.
    Waiting(Option<Waker>),
    Sent(T),
    /// One of both sides is gone, or the value was taken.
    Closed,
}

/// The end that sends.
pub struct Sender<T>(Arc<Mutex<State<T>>>);

impl<T> Sender<T> {
    /// Sends the value, if the other end is there.
    ///
    /// # Errors
    ///
    /// The value, where nobody can receive it any more.
    pub fn send(self, value: T) -> Result<(), T> {
        let mut state = self.0.lock();
        match mem::replace(&mut *state, State::Closed) {
            State::Waiting(waker) => {
                *state = State::Sent(value);
                drop(state);
                waker.into_iter().for_each(Waker::wake);
                Ok(())
            }
            _ => Err(value),
        }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        let waker = match &mut *state {
            State::Waiting(waker) => waker.take(),
            _ => return,
        };
        *state = State::Closed;
        drop(state);
        waker.into_iter().for_each(Waker::wake);
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sender")
    }
}

/// Nothing was sent, and nothing will be.
#[derive(Debug)]
pub struct RecvError;

/// The end that receives; a future of the value.
pub struct Receiver<T>(Arc<Mutex<State<T>>>);

impl<T> Future for Receiver<T> {
    type Output = Result<T, RecvError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.0.lock();
        match mem::replace(&mut *state, State::Closed) {
            State::Waiting(_) => {
                *state = State::Waiting(Some(cx.waker().clone()));
                Poll::Pending
            }
            State::Sent(value) => Poll::Ready(Ok(value)),
            State::Closed => Poll::Ready(Err(RecvError)),
        }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let state = mem::replace(&mut *self.0.lock(), State::Closed);
        // What was sent and not received is dropped here, outside the lock.
        drop(state);
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Receiver")
    }
}
