//! An executor made of a function that blocks its thread.

use std::{
    fmt,
    panic::resume_unwind,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::task::spawn_blocking;

use convoke_core::{ExecutorError, TaskOutcome, TaskRequest};

use crate::{AgentExecutor, ExecutionContext, ExecutorCapabilities};

/// An executor made of an ordinary function of the request and its context, which may block: heavy work, a library that
/// knows no `async`. It runs on tokio's blocking pool.
///
/// The function returns an outcome, an output, or just a text. The scope of its attempt is the
/// [current](convoke_core::Scope::current) one on its thread.
///
/// It asks its team by `tokio::runtime::Handle::current().block_on(ctx.team().run(..))`: its thread waits meanwhile.
///
/// It sees a stop by [`ExecutionContext::is_cancelled`], and nothing else ends it: one that does not look works on,
/// detached, with its lease held. Work that has to end whatever it does belongs in a process of its own.
///
/// ```
/// use convoke_core::ExecutorError;
/// use convoke_registry::{BlockingExecutor, ExecutorCapabilities};
///
/// let sum = BlockingExecutor::new(|_request, ctx| {
///     let mut sum = 0_u64;
///     for number in 0..1_000_000 {
///         if ctx.is_cancelled() {
///             return Err(ExecutorError::cancelled());
///         }
///         sum += number;
///     }
///     Ok(sum.to_string())
/// })
/// .with_capabilities(ExecutorCapabilities::default().with_cooperative_cancellation());
/// # let _ = sum;
/// ```
///
/// The pool's threads are shared by everything that uses them (512 unless the tokio runtime was built with another
/// `max_blocking_threads`), and a call waits for a free one. A call that is asked to stop while it waits ends at once
/// with [`ExecutorError::cancelled`], and its function is never called.
///
/// # Cancel safety
///
/// A future that is dropped before the function began has called nothing and never will. Afterwards the function works
/// on, and nobody learns what it says; a runtime therefore waits for it: `abort_on_cancel` is never declared.
///
/// # Errors
///
/// The function's own; and one that says so where the tokio runtime ends before the function began.
///
/// # Panics
///
/// A panic of the function is the future's own. `execute` panics outside a tokio runtime.
pub struct BlockingExecutor<F> {
    function: Arc<F>,
    capabilities: ExecutorCapabilities,
}

impl<F, O> BlockingExecutor<F>
where
    F: Fn(TaskRequest, ExecutionContext) -> Result<O, ExecutorError> + Send + Sync + 'static,
    O: Into<TaskOutcome>,
{
    /// Wraps a function; it may be called several times at once.
    pub fn new(function: F) -> Self {
        Self { function: Arc::new(function), capabilities: ExecutorCapabilities::default() }
    }

    /// Says what the function can and cannot do. `abort_on_cancel` stays `false`: to drop the future would give the
    /// agent's lease away while the function still works.
    #[must_use]
    pub fn with_capabilities(mut self, capabilities: ExecutorCapabilities) -> Self {
        self.capabilities = ExecutorCapabilities { abort_on_cancel: false, ..capabilities };
        self
    }
}

impl<F, O> AgentExecutor for BlockingExecutor<F>
where
    F: Fn(TaskRequest, ExecutionContext) -> Result<O, ExecutorError> + Send + Sync + 'static,
    O: Into<TaskOutcome>,
{
    fn capabilities(&self) -> ExecutorCapabilities {
        self.capabilities
    }

    async fn execute(
        &self,
        request: TaskRequest,
        ctx: ExecutionContext,
    ) -> Result<TaskOutcome, ExecutorError> {
        let cancellation = ctx.cancellation().clone();
        let start = Start::default();
        let (function, ticket, scope) = (Arc::clone(&self.function), start.ticket(), ctx.scope().clone());
        let mut call = spawn_blocking(move || {
            if !ticket.take() {
                return Err(ExecutorError::cancelled());
            }
            // Made an outcome here, so that what the function returns need not be `Send`.
            scope.enter(|| function(request, ctx).map(Into::into))
        });
        let said = tokio::select! {
            biased;
            said = &mut call => said,
            () = cancellation.cancelled() => {
                if start.take() {
                    return Err(ExecutorError::cancelled());
                }
                call.await
            }
        };
        said.unwrap_or_else(|error| match error.try_into_panic() {
            Ok(payload) => resume_unwind(payload),
            Err(_) => Err(ExecutorError::new("tokio runtime ended before the blocking function began")),
        })
    }
}

impl<F> Clone for BlockingExecutor<F> {
    fn clone(&self) -> Self {
        Self { function: Arc::clone(&self.function), capabilities: self.capabilities }
    }
}

impl<F> fmt::Debug for BlockingExecutor<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockingExecutor").field("capabilities", &self.capabilities).finish_non_exhaustive()
    }
}

/// The right to start the function, which one side takes: the pool's thread to call it, or the future so that nobody
/// does. Dropping the future takes it.
///
/// Aborting the tokio task is not enough: a queued one is told of that only once a thread is free.
#[derive(Default)]
struct Start(Ticket);

#[derive(Clone, Default)]
struct Ticket(Arc<AtomicBool>);

impl Start {
    fn ticket(&self) -> Ticket {
        self.0.clone()
    }

    fn take(&self) -> bool {
        self.0.take()
    }
}

impl Ticket {
    /// Whether it was still there. One word that both sides swap has one order, however relaxed.
    fn take(&self) -> bool {
        !self.0.swap(true, Ordering::Relaxed)
    }
}

impl Drop for Start {
    fn drop(&mut self) {
        self.take();
    }
}
