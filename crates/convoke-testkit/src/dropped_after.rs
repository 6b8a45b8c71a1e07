//! Dropping a future midway, at a chosen place.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    task::Poll,
};

/// Polls `future` at most `polls` times, each time that it wakes, and then drops it; `None` if it was not ready by then.
///
/// A test that counts `polls` up until it gets the output has dropped the future at every place where that can happen.
///
/// ```
/// use convoke_testkit::{Gate, dropped_after};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let gate = Gate::closed();
/// assert_eq!(dropped_after(0, gate.pass()).await, None);
/// assert_eq!(gate.arrivals(), 0, "a future that is never polled does nothing");
/// assert_eq!(dropped_after(1, gate.pass()).await, None);
/// assert_eq!(gate.arrivals(), 1);
/// gate.open();
/// assert_eq!(dropped_after(1, gate.pass()).await, Some(()));
/// # }
/// ```
pub async fn dropped_after<F: Future>(polls: usize, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut left = polls;
    poll_fn(|cx| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}
