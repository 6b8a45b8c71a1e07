//! The contract of an executor: what does an agent's work.

use std::{fmt, pin::Pin, sync::Arc};

use convoke_core::{ExecutorError, TaskOutcome, TaskRequest};

use crate::ExecutionContext;

/// What an executor says about itself; a runtime stops and schedules it accordingly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExecutorCapabilities {
    /// It looks at [`ExecutionContext::cancellation`] and ends soon after. Information for people; every executor gets
    /// the same grace. `false` unless set.
    pub cooperative_cancellation: bool,
    /// It can work on several tasks at once. `true` unless set; an agent with `max_concurrency` above 1 needs it.
    pub concurrent_execution: bool,
    /// Its future may be dropped at an await point when it is asked to stop; it gets no grace to answer. `false` unless
    /// set: work that does not stop is left running, detached, with its lease held until it ends.
    pub abort_on_cancel: bool,
}

impl Default for ExecutorCapabilities {
    fn default() -> Self {
        Self { cooperative_cancellation: false, concurrent_execution: true, abort_on_cancel: false }
    }
}

impl ExecutorCapabilities {
    /// Says that it looks at the cancellation token.
    #[must_use]
    pub fn with_cooperative_cancellation(mut self) -> Self {
        self.cooperative_cancellation = true;
        self
    }

    /// Says that it works on one task at a time.
    #[must_use]
    pub fn without_concurrent_execution(mut self) -> Self {
        self.concurrent_execution = false;
        self
    }

    /// Says that its future may be dropped when it is asked to stop.
    #[must_use]
    pub fn with_abort_on_cancel(mut self) -> Self {
        self.abort_on_cancel = true;
        self
    }
}

/// Does an agent's work. [`FunctionExecutor`](crate::FunctionExecutor) makes one of a closure; [`AnyExecutor`] holds any.
///
/// ```
/// use convoke_core::{ExecutorError, TaskOutcome, TaskRequest};
/// use convoke_registry::{AgentExecutor, ExecutionContext, ExecutorCapabilities};
///
/// /// Counts words, and gives up as soon as it is asked to.
/// struct Counter;
///
/// impl AgentExecutor for Counter {
///     fn capabilities(&self) -> ExecutorCapabilities {
///         ExecutorCapabilities::default().with_cooperative_cancellation()
///     }
///
///     async fn execute(&self, request: TaskRequest, ctx: ExecutionContext) -> Result<TaskOutcome, ExecutorError> {
///         if ctx.is_cancelled() {
///             return Ok(TaskOutcome::cancelled());
///         }
///         Ok(TaskOutcome::completed(request.input.split_whitespace().count().to_string()))
///     }
/// }
/// ```
///
/// # Contract
///
/// - `execute` is called once per attempt, with the request as the host sent it. Several calls overlap only where
///   [`capabilities`](Self::capabilities) allow it.
/// - [`ExecutionContext::cancellation`] is signalled when the caller gives up or the deadline has passed. What the
///   executor returns within the grace is its own word and is kept; after the grace the caller has its answer, and the
///   work is detached: it keeps its lease until it ends, and its writes to the session are refused.
/// - The work is this future: what it has spawned has to end before it does. What is left behind is not counted: the lease
///   is free while it works. Its token is cancelled and its writes are refused, but its budget can still be spent.
/// - An executor that asks its team takes [`ExecutionContext::team`], or keeps a [`TeamHandle`](crate::TeamHandle). A
///   runtime that is kept by an executor of its own registry lives for ever.
/// - The future must not block a thread of the runtime: waiting belongs to `.await`, and heavy work to a thread of its
///   own.
///
/// # Cancel safety
///
/// The future is dropped midway only where `abort_on_cancel` says that it may be, or where the tokio runtime ends.
///
/// # Errors
///
/// An error ends the attempt as failed; its text stays private to the caller unless
/// [`with_public`](ExecutorError::with_public) declares it public.
///
/// # Panics
///
/// A panic, also of `execute` itself, ends the attempt as failed with `executor_panicked`, and nothing else.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no executor",
    note = "wrap a function with `FunctionExecutor::new`, or a choice made at run time with `AnyExecutor::new`"
)]
pub trait AgentExecutor: Send + Sync + 'static {
    /// What this executor says about itself; asked once, when the agent is registered.
    fn capabilities(&self) -> ExecutorCapabilities {
        ExecutorCapabilities::default()
    }

    /// Does the work of one attempt.
    fn execute(
        &self,
        request: TaskRequest,
        ctx: ExecutionContext,
    ) -> impl Future<Output = Result<TaskOutcome, ExecutorError>> + Send;
}

/// Any [`AgentExecutor`] as one type, for maps and for choices made at run time. Cloning shares it.
#[derive(Clone)]
pub struct AnyExecutor(Arc<dyn Erased>);

impl AnyExecutor {
    /// Wraps an executor.
    pub fn new(executor: impl AgentExecutor) -> Self {
        Self(Arc::new(executor))
    }
}

impl AgentExecutor for AnyExecutor {
    fn capabilities(&self) -> ExecutorCapabilities {
        self.0.capabilities_of()
    }

    fn execute(
        &self,
        request: TaskRequest,
        ctx: ExecutionContext,
    ) -> impl Future<Output = Result<TaskOutcome, ExecutorError>> + Send {
        self.0.execute_boxed(request, ctx)
    }
}

impl fmt::Debug for AnyExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AnyExecutor").field(&self.capabilities()).finish()
    }
}

type Executed<'a> = Pin<Box<dyn Future<Output = Result<TaskOutcome, ExecutorError>> + Send + 'a>>;

trait Erased: Send + Sync {
    fn capabilities_of(&self) -> ExecutorCapabilities;
    fn execute_boxed(&self, request: TaskRequest, ctx: ExecutionContext) -> Executed<'_>;
}

impl<E: AgentExecutor> Erased for E {
    fn capabilities_of(&self) -> ExecutorCapabilities {
        self.capabilities()
    }

    fn execute_boxed(&self, request: TaskRequest, ctx: ExecutionContext) -> Executed<'_> {
        Box::pin(self.execute(request, ctx))
    }
}
