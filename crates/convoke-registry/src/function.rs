//! An executor made of a function.

use std::fmt;

use futures_util::{FutureExt as _, TryFutureExt as _, future::lazy};

use convoke_core::{ExecutorError, TaskOutcome, TaskRequest};

use crate::{AgentExecutor, ExecutionContext, ExecutorCapabilities};

/// An executor made of an async function of the request and its context.
///
/// The function returns an outcome, an output, or just a text:
///
/// ```
/// use convoke_registry::FunctionExecutor;
///
/// let echo = FunctionExecutor::new(|request, _ctx| async move { Ok(request.input) });
/// # let _ = echo;
/// ```
#[derive(Clone)]
pub struct FunctionExecutor<F> {
    function: F,
    capabilities: ExecutorCapabilities,
}

impl<F, W, O> FunctionExecutor<F>
where
    F: Fn(TaskRequest, ExecutionContext) -> W + Send + Sync + 'static,
    W: Future<Output = Result<O, ExecutorError>> + Send,
    O: Into<TaskOutcome>,
{
    /// Wraps a function; it may be called several times at once.
    pub fn new(function: F) -> Self {
        Self { function, capabilities: ExecutorCapabilities::default() }
    }

    /// Says what the function can and cannot do.
    #[must_use]
    pub fn with_capabilities(mut self, capabilities: ExecutorCapabilities) -> Self {
        self.capabilities = capabilities;
        self
    }
}

impl<F, W, O> AgentExecutor for FunctionExecutor<F>
where
    F: Fn(TaskRequest, ExecutionContext) -> W + Send + Sync + 'static,
    W: Future<Output = Result<O, ExecutorError>> + Send,
    O: Into<TaskOutcome>,
{
    fn capabilities(&self) -> ExecutorCapabilities {
        self.capabilities
    }

    fn execute(
        &self,
        request: TaskRequest,
        ctx: ExecutionContext,
    ) -> impl Future<Output = Result<TaskOutcome, ExecutorError>> + Send {
        // No `async fn`, whose future has room for request and context twice.
        lazy(move |_| (self.function)(request, ctx)).flatten().map_ok(Into::into)
    }
}

impl<F> fmt::Debug for FunctionExecutor<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FunctionExecutor").field("capabilities", &self.capabilities).finish_non_exhaustive()
    }
}
