//! Calling what belongs to a resolver, so that its panic fails the consensus and nothing else.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
};

use futures_util::FutureExt as _;

use convoke_core::{ErrorCode, TaskError};
use convoke_observability::panic_detail;

/// Calls `call`.
pub(crate) fn guarded<T>(call: impl FnOnce() -> T) -> Result<T, TaskError> {
    catch_unwind(AssertUnwindSafe(call)).map_err(panicked)
}

/// Runs `future`.
pub(crate) async fn guarded_future<T>(future: impl Future<Output = T>) -> Result<T, TaskError> {
    AssertUnwindSafe(future).catch_unwind().await.map_err(panicked)
}

fn panicked(payload: Box<dyn Any + Send>) -> TaskError {
    let error = TaskError::new(ErrorCode::ExecutionFailed, "resolver panicked");
    match panic_detail(payload) {
        Some(detail) => error.with_detail(detail),
        None => error,
    }
}
