//! What a scripted executor does in one call.

use std::{fmt, time::Duration};

use futures_util::{FutureExt as _, future::BoxFuture};

use convoke_core::{ExecutorError, ResumeToken, TaskOutcome, TaskOutput, TaskRequest};
use convoke_registry::ExecutionContext;

use crate::Gate;

type Said = Result<TaskOutcome, ExecutorError>;
type Call = Box<dyn FnOnce(TaskRequest, ExecutionContext) -> BoxFuture<'static, Said> + Send>;

/// One call of a [`ScriptedExecutor`](crate::ScriptedExecutor): what it waits for, in the order in which the waits were
/// added, and what it says then.
///
/// | what a test wants | step |
/// |---|---|
/// | an answer | `Step::reply("done")` |
/// | an error, a panic, a pause | `Step::fail(error)`, `Step::panic("text")`, `Step::pause("which one?")` |
/// | block until the test says so | `Step::reply("done").after(&gate)` |
/// | take a while, whatever the cancellation says | `Step::reply("done").after_delay(duration)` |
/// | stop when asked to | `Step::cancelled()` |
/// | have its own word after being asked to stop | `Step::reply("done").once_cancelled()` |
/// | go on for a while after being asked to stop | `Step::cancelled().after_delay(duration)` |
/// | never end | `Step::never()` |
/// | anything else | `Step::call(..)` |
#[must_use = "a step does nothing outside a script"]
pub struct Step {
    waits: Vec<Wait>,
    end: End,
}

enum Wait {
    Gate(Gate),
    Delay(Duration),
    Cancellation,
}

enum End {
    Said(Box<Said>),
    Panic(String),
    Call(Call),
    Never,
}

impl Step {
    /// Completes, or ends in another outcome.
    pub fn reply(outcome: impl Into<TaskOutcome>) -> Self {
        Self::new(End::Said(Box::new(Ok(outcome.into()))))
    }

    /// Returns an error.
    pub fn fail(error: impl Into<ExecutorError>) -> Self {
        Self::new(End::Said(Box::new(Err(error.into()))))
    }

    /// Panics.
    pub fn panic(text: impl Into<String>) -> Self {
        Self::new(End::Panic(text.into()))
    }

    /// Asks for input.
    pub fn pause(prompt: impl Into<String>) -> Self {
        Self::reply(TaskOutcome::input_required(prompt))
    }

    /// Asks for input, and gives the token that the answer must carry.
    pub fn pause_with(prompt: impl Into<String>, token: ResumeToken) -> Self {
        Self::reply(TaskOutcome::InputRequired {
            prompt: prompt.into(),
            request: None,
            resume: Some(token),
            output: TaskOutput::default(),
        })
    }

    /// Stops once it is asked to, and says that it did.
    pub fn cancelled() -> Self {
        Self::fail(ExecutorError::cancelled()).once_cancelled()
    }

    /// Waits for ever.
    pub fn never() -> Self {
        Self::new(End::Never)
    }

    /// Calls a function.
    pub fn call<F, W, O>(function: F) -> Self
    where
        F: FnOnce(TaskRequest, ExecutionContext) -> W + Send + 'static,
        W: Future<Output = Result<O, ExecutorError>> + Send + 'static,
        O: Into<TaskOutcome>,
    {
        Self::new(End::Call(Box::new(|request, ctx| {
            let work = function(request, ctx);
            async move { Ok(work.await?.into()) }.boxed()
        })))
    }

    /// Waits at a gate first.
    pub fn after(self, gate: &Gate) -> Self {
        self.waiting(Wait::Gate(gate.clone()))
    }

    /// Waits so long first, on tokio's clock, whether it is asked to stop or not.
    pub fn after_delay(self, delay: Duration) -> Self {
        self.waiting(Wait::Delay(delay))
    }

    /// Waits to be asked to stop first.
    pub fn once_cancelled(self) -> Self {
        self.waiting(Wait::Cancellation)
    }

    fn new(end: End) -> Self {
        Self { waits: Vec::new(), end }
    }

    fn waiting(mut self, wait: Wait) -> Self {
        self.waits.push(wait);
        self
    }

    /// Does it.
    ///
    /// # Panics
    ///
    /// Where that is what it is for.
    pub(crate) async fn play(self, request: TaskRequest, ctx: ExecutionContext) -> Said {
        for wait in self.waits {
            match wait {
                Wait::Gate(gate) => gate.pass().await,
                Wait::Delay(delay) => tokio::time::sleep(delay).await,
                Wait::Cancellation => ctx.cancellation().cancelled().await,
            }
        }
        match self.end {
            End::Said(said) => *said,
            End::Panic(text) => panic_with(text),
            End::Call(call) => call(request, ctx).await,
            End::Never => std::future::pending().await,
        }
    }
}

#[expect(clippy::panic, reason = "a test has asked for it")]
fn panic_with(text: String) -> ! {
    std::panic::panic_any(text)
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end: &dyn fmt::Debug = match &self.end {
            End::Said(said) => said,
            End::Panic(text) => text,
            End::Call(_) => &"call",
            End::Never => &"never",
        };
        f.debug_struct("Step").field("waits", &self.waits.len()).field("end", end).finish()
    }
}
