//! Calling what belongs to others, so that its failure stays its own.

use std::{
    any::Any,
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
};

use crate::{Event, EventSink, SinkError};

/// How a call into foreign code failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure<E> {
    /// It returned an error.
    #[error("call returned an error")]
    Returned(#[source] E),
    /// It panicked.
    #[error("call panicked")]
    Panicked {
        /// What the panic said. It may quote anything, so it is for the host alone and belongs in no event.
        detail: Option<String>,
    },
}

/// Calls `call`, and turns a panic into a failure.
///
/// For a runtime that calls an observer of its own kind. Where panics abort the process, there is nothing to isolate.
/// The error is the caller's, destructor and all; [`is_taken`] is for a caller that does not want it.
///
/// # Errors
///
/// The error that `call` returned, or that it panicked.
///
/// ```
/// use convoke_observability::{Failure, call_isolated};
///
/// assert!(call_isolated(|| Ok::<_, String>(())).is_ok());
/// assert!(matches!(call_isolated(|| Err("full")), Err(Failure::Returned("full"))));
/// assert!(matches!(call_isolated::<String>(|| panic!("bad state")), Err(Failure::Panicked { .. })));
/// ```
pub fn call_isolated<E>(call: impl FnOnce() -> Result<(), E>) -> Result<(), Failure<E>> {
    // Whatever the call left in disorder is its owner's; nothing of ours goes in but shared references.
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(Failure::Returned(error)),
        Err(payload) => Err(Failure::Panicked { detail: panic_detail(payload) }),
    }
}

/// Calls `call`, and tells whether it succeeded: neither its error nor what it threw comes out, nor what the destructor
/// of either throws in turn.
///
/// For a runtime that only counts failures.
///
/// ```
/// use convoke_observability::is_taken;
///
/// assert!(is_taken(|| Ok::<_, String>(())));
/// assert!(!is_taken(|| Err("full")));
/// assert!(!is_taken::<String>(|| panic!("bad state")));
/// ```
pub fn is_taken<E>(call: impl FnOnce() -> Result<(), E>) -> bool {
    // The error is dropped inside as well.
    match catch_unwind(AssertUnwindSafe(|| call().is_ok())) {
        Ok(is_taken) => is_taken,
        Err(payload) => {
            drop_isolated(payload);
            false
        }
    }
}

/// Drops what may have a destructor of others, which may panic; what that throws is leaked, so that it cannot panic in
/// turn.
pub fn drop_isolated<T>(value: T) {
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        mem::forget(second);
    }
}

/// Publishes one event, and turns an error or a panic of the sink into a failure for the runtime to keep.
///
/// One that only counts asks [`is_taken`] instead, as the destructor of the sink's error may panic too.
///
/// # Errors
///
/// The error that the sink returned, or that it panicked.
pub fn publish_isolated(sink: &(impl EventSink + ?Sized), event: Event) -> Result<(), Failure<SinkError>> {
    call_isolated(|| sink.publish(event))
}

/// What a panic said, from its payload, which is then dropped: a destructor that panics in turn harms nobody.
///
/// It may quote anything, so it is for the host alone and belongs in no event.
pub fn panic_detail(payload: Box<dyn Any + Send>) -> Option<String> {
    let payload = match payload.downcast::<String>() {
        Ok(text) => return Some(*text),
        Err(payload) => payload,
    };
    let text = payload.downcast_ref::<&'static str>().map(|text| (*text).to_owned());
    drop_isolated(payload);
    text
}
