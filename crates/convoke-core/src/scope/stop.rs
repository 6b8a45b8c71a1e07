//! The stop of a scope: a token that is made when somebody asks for it.

#[cfg(test)]
mod tests;

use std::sync::{
    OnceLock,
    atomic::{AtomicBool, Ordering},
};

use tokio_util::sync::CancellationToken;

/// Whether work is to stop. Most work ends without being asked to, and without anybody who would wait for that.
#[derive(Debug, Default)]
pub(super) struct Stop {
    is_asked_for: AtomicBool,
    token: OnceLock<CancellationToken>,
}

impl Stop {
    pub(super) fn of(token: CancellationToken) -> Self {
        Self { is_asked_for: AtomicBool::new(false), token: OnceLock::from(token) }
    }

    pub(super) fn token(&self) -> &CancellationToken {
        if let Some(token) = self.token.get() {
            // Whoever made it may not have come to that.
            if self.is_asked_for.load(Ordering::Acquire) {
                token.cancel();
            }
            return token;
        }
        let token = self.token.get_or_init(CancellationToken::new);
        // A write, as that of `ask` is: of the two, the second sees what came before the first. A read alone might be
        // early, and `ask` might miss the token all the same.
        if self.is_asked_for.fetch_or(false, Ordering::AcqRel) {
            token.cancel();
        }
        token
    }

    pub(super) fn ask(&self) {
        self.is_asked_for.fetch_or(true, Ordering::AcqRel);
        if let Some(token) = self.token.get() {
            token.cancel();
        }
    }

    pub(super) fn is_asked_for(&self) -> bool {
        self.is_asked_for.load(Ordering::Acquire)
            || self.token.get().is_some_and(CancellationToken::is_cancelled)
    }
}

/// The copy is asked to stop with this one.
impl Clone for Stop {
    fn clone(&self) -> Self {
        Self::of(self.token().clone())
    }
}
