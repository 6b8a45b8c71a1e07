//! What stops an attempt, and the watch over work that was begun.
//!
//! While nothing stops it, an attempt is one task: what may stop the work knows a waker instead of a second task. It wakes
//! that up to start a watch, which asks the work to stop and gives up after the grace, also where the work blocks the
//! thread that it is on.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Wake, Waker},
};

use futures_util::future::OptionFuture;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use convoke_core::Scope;
use convoke_observability::drop_isolated;

use crate::{begun::Begun, ending::StopCause, shared::Shared};

/// What stops an attempt, besides a caller that is gone.
#[derive(Clone)]
pub(crate) struct Stops {
    pub(crate) above: Above,
    /// The token of the run.
    pub(crate) cancellation: Option<CancellationToken>,
    pub(crate) deadline: Option<Instant>,
}

/// What an attempt ends with.
#[derive(Clone)]
pub(crate) enum Above {
    /// The runtime.
    Runtime,
    /// The task of this scope.
    Task(Scope),
    /// Whatever of the two it is, and the handle or the batch that it belongs to, which have a token of their own.
    Token(CancellationToken),
}

impl Above {
    fn token<'a>(&'a self, shared: &'a Shared) -> &'a CancellationToken {
        match self {
            Self::Runtime => shared.ended.token(),
            Self::Task(scope) => scope.cancellation(),
            Self::Token(token) => token,
        }
    }

    fn is_over(&self, shared: &Shared) -> bool {
        match self {
            Self::Runtime => shared.ended.is_set(),
            Self::Task(scope) => scope.is_cancelled(),
            Self::Token(token) => token.is_cancelled(),
        }
    }
}

impl Stops {
    /// Resolves when the attempt is to stop; cancellation comes first where both hold.
    pub(crate) async fn stopped(&self, shared: &Shared) -> StopCause {
        let above = self.above.token(shared).cancelled();
        if self.cancellation.is_none() && self.deadline.is_none() {
            above.await;
            return StopCause::Cancelled;
        }
        // Boxed, so that what has neither carries no room for them from step to step.
        Box::pin(async {
            let token = OptionFuture::from(self.cancellation.as_ref().map(CancellationToken::cancelled));
            let deadline = OptionFuture::from(self.deadline.map(sleep_until));
            tokio::select! {
                biased;
                () = above => StopCause::Cancelled,
                Some(()) = token => StopCause::Cancelled,
                Some(()) = deadline => StopCause::Deadline,
            }
        })
        .await
    }

    /// Whether the attempt is to stop, now.
    pub(crate) fn is_stopped(&self, shared: &Shared) -> Option<StopCause> {
        let cancelled = self.above.is_over(shared)
            || self.cancellation.as_ref().is_some_and(CancellationToken::is_cancelled);
        if cancelled {
            return Some(StopCause::Cancelled);
        }
        self.deadline.filter(|&deadline| deadline <= Instant::now()).map(|_| StopCause::Deadline)
    }
}

impl Begun {
    /// Lets a watch begin at a stop. Polls once: what is waited for keeps the waker.
    pub(crate) fn wake_at(self: &Arc<Self>, stopped: Pin<&mut impl Future<Output = StopCause>>) {
        let waker = Waker::from(Arc::clone(self));
        let mut cx = Context::from_waker(&waker);
        if self.poll_gone(&mut cx).is_ready() || stopped.poll(&mut cx).is_ready() {
            waker.wake();
        }
    }

    /// Asks the work to stop as soon as something says so, and gives up after the grace.
    async fn watch(&self) {
        let Some(mut is_over) = self.begin_watch() else { return };
        // Mostly at once; whoever wakes without a reason has it waited for here.
        let cause = tokio::select! {
            biased;
            _ = &mut is_over => return,
            () = poll_fn(|cx| self.poll_gone(cx)) => StopCause::Cancelled,
            cause = self.stops.stopped(&self.shared) => cause,
        };
        self.ending.stop(cause);
        self.scope.cancel();
        tokio::select! {
            biased;
            _ = &mut is_over => {}
            () = sleep(self.shared.grace) => self.give_up(cause).await,
        }
    }
}

impl Wake for Begun {
    fn wake(self: Arc<Self>) {
        let runtime = self.runtime.clone();
        drop(runtime.spawn(async move {
            self.watch().await;
            // It may hold the last copy of the runtime, and the host's code with that.
            drop_isolated(self);
        }));
    }
}
