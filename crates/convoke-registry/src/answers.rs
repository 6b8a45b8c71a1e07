//! The answers of many tasks, each as it comes.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use futures_util::{
    StreamExt as _,
    stream::{BoxStream, Stream},
};

use crate::TeamAnswer;

/// The answers of many tasks as they come, each with the index of its request; a stream too.
///
/// Whoever polls it awaits all of them, from the first poll until the last answer is taken, also between two polls.
///
/// # Cancel safety
///
/// [`next`](Self::next) loses nothing where it is dropped. Dropping this after its first poll cancels what has not
/// answered yet, and waits for none of it; what runs is settled in its session.
pub struct Answers(BoxStream<'static, (usize, TeamAnswer)>);

impl Answers {
    /// The answers that `stream` gives.
    pub fn new(stream: impl Stream<Item = (usize, TeamAnswer)> + Send + 'static) -> Self {
        Self(stream.boxed())
    }

    /// The next answer; `None` once each request has had its own.
    pub async fn next(&mut self) -> Option<(usize, TeamAnswer)> {
        self.0.next().await
    }
}

impl Stream for Answers {
    type Item = (usize, TeamAnswer);

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_next_unpin(cx)
    }
}

impl fmt::Debug for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answers").finish_non_exhaustive()
    }
}
