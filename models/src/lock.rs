//! Locks as `parking_lot` has them, whose every acquisition is a choice of the scheduler.

use std::{
    ops::{Deref, DerefMut},
    sync::PoisonError,
    thread::panicking,
};

use shuttle::{
    sync::{MutexGuard, RwLockReadGuard, RwLockWriteGuard},
    thread::yield_now,
};

/// A mutex that is not poisoned.
#[derive(Debug, Default)]
pub struct Mutex<T>(shuttle::sync::Mutex<T>);

impl<T> Mutex<T> {
    /// A mutex around `value`.
    pub fn new(value: T) -> Self {
        Self(shuttle::sync::Mutex::new(value))
    }

    /// Waits for the value.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A lock for many readers or one writer that is not poisoned.
#[derive(Debug, Default)]
pub struct RwLock<T>(shuttle::sync::RwLock<T>);

impl<T> RwLock<T> {
    /// Waits until nobody writes.
    pub fn read(&self) -> RwGuard<RwLockReadGuard<'_, T>> {
        RwGuard(Some(self.0.read().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Waits until nobody reads or writes.
    pub fn write(&self) -> RwGuard<RwLockWriteGuard<'_, T>> {
        RwGuard(Some(self.0.write().unwrap_or_else(PoisonError::into_inner)))
    }
}

/// A hold on an [`RwLock`]. Its end is a choice of the scheduler too: what comes after it may hold locks that the
/// scheduler does not know.
#[derive(Debug)]
pub struct RwGuard<G>(Option<G>);

impl<G: Deref> Deref for RwGuard<G> {
    type Target = G::Target;

    #[expect(clippy::expect_used, reason = "it is there until the guard is dropped")]
    fn deref(&self) -> &G::Target {
        self.0.as_ref().expect("held")
    }
}

impl<G: DerefMut> DerefMut for RwGuard<G> {
    #[expect(clippy::expect_used, reason = "it is there until the guard is dropped")]
    fn deref_mut(&mut self) -> &mut G::Target {
        self.0.as_mut().expect("held")
    }
}

impl<G> Drop for RwGuard<G> {
    fn drop(&mut self) {
        drop(self.0.take());
        if !panicking() {
            yield_now();
        }
    }
}
