//! An attempt that is settled: at once, or once its session's log has it.

use futures_util::future::BoxFuture;

use crate::answer::Reply;

/// The end of an attempt, with the answer where somebody is to have it.
#[must_use = "an attempt whose end is not awaited is not settled"]
pub(crate) enum Settled {
    Now(Option<Reply>),
    /// In a session with a log. Boxed, so that others carry no room for it.
    Later(BoxFuture<'static, Option<Reply>>),
}

impl Settled {
    pub(crate) async fn reply(self) -> Option<Reply> {
        match self {
            Self::Now(reply) => reply,
            Self::Later(settled) => settled.await,
        }
    }
}
