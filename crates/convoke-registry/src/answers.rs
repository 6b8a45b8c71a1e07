//! The answers of many tasks, each as it comes.

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::{
    StreamExt as _,
    stream::{BoxStream, Stream},
};

use convoke_core::TaskReport;

use crate::{TeamAnswer, TeamError};

/// An answer that is shared with the record of its task, where the session keeps that.
type SharedAnswer = Result<Arc<TaskReport>, TeamError>;

/// The answers of many tasks as they come, each with the index of its request; a stream too.
///
/// Whoever polls it awaits all of them, from the first poll until the last answer is taken, also between two polls.
///
/// # Cancel safety
///
/// [`next`](Self::next) loses nothing where it is dropped. Dropping this after its first poll cancels what has not
/// answered yet, and waits for none of it; what runs is settled in its session.
pub struct Answers(BoxStream<'static, (usize, SharedAnswer)>);

impl Answers {
    /// The answers that `stream` gives.
    pub fn new(stream: impl Stream<Item = (usize, TeamAnswer)> + Send + 'static) -> Self {
        Self::of_shared(stream.map(|(index, answer)| (index, answer.map(Arc::new))))
    }

    /// The answers that `stream` gives, whose reports others may have too.
    pub fn of_shared(
        stream: impl Stream<Item = (usize, Result<Arc<TaskReport>, TeamError>)> + Send + 'static,
    ) -> Self {
        Self(stream.boxed())
    }

    /// The next answer; `None` once each request has had its own.
    pub async fn next(&mut self) -> Option<(usize, TeamAnswer)> {
        self.0.next().await.map(owned)
    }

    /// As [`next`](Self::next), without a copy of what the session keeps.
    pub async fn next_shared(&mut self) -> Option<(usize, Result<Arc<TaskReport>, TeamError>)> {
        self.0.next().await
    }
}

fn owned((index, answer): (usize, SharedAnswer)) -> (usize, TeamAnswer) {
    (index, answer.map(Arc::unwrap_or_clone))
}

impl Stream for Answers {
    type Item = (usize, TeamAnswer);

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_next_unpin(cx).map(|next| next.map(owned))
    }
}

impl fmt::Debug for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answers").finish_non_exhaustive()
    }
}
