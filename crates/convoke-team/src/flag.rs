//! What happens to a runtime once: asked about at every step of every task, and awaited now and then.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use tokio_util::sync::CancellationToken;

/// A token that can be asked without taking its lock. A clone is the same flag.
#[derive(Clone, Default)]
pub(crate) struct Flag(Arc<Inner>);

#[derive(Default)]
struct Inner {
    is_set: AtomicBool,
    token: CancellationToken,
}

impl Flag {
    pub(crate) fn set(&self) {
        self.0.is_set.store(true, Ordering::Release);
        self.0.token.cancel();
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.is_set.load(Ordering::Acquire)
    }

    /// The token, for whoever awaits it or hands it on. Nothing cancels it but [`set`](Self::set).
    pub(crate) fn token(&self) -> &CancellationToken {
        &self.0.token
    }
}

/// Sets a flag when it is dropped.
pub(crate) struct SetOnDrop(pub(crate) Flag);

impl Drop for SetOnDrop {
    fn drop(&mut self) {
        self.0.set();
    }
}
