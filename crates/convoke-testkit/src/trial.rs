//! One call of an executor, without a runtime.

use std::{fmt, sync::Arc};

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use convoke_core::{
    AgentDescriptor, AgentId, ExecutorError, IdGenerator, TaskOutcome, TaskReport, TaskRequest, TaskStatus,
};
use convoke_registry::{AgentExecutor, ExecutionContext};
use convoke_session::{
    Admission, AdmissionError, Attempt, LateWriteHook, Session, SessionHandle, SettleError,
};

/// An attempt in a session of its own, for calling an executor the way a runtime does.
///
/// ```
/// use convoke_core::TaskRequest;
/// use convoke_testkit::{ScriptedExecutor, Trial};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let trial = Trial::new(TaskRequest::new("hello"))?;
/// let said = trial.call(&ScriptedExecutor::echo()).await;
/// assert_eq!(said.unwrap().output().text, "hello");
/// # Ok(())
/// # }
/// ```
pub struct Trial {
    request: TaskRequest,
    admission: Admission,
    agent: AgentId,
    handle: SessionHandle,
    cancellation: CancellationToken,
    late: Arc<Mutex<usize>>,
}

impl Trial {
    /// Admits and starts a first attempt for `request`, as the agent `agent`.
    ///
    /// # Errors
    ///
    /// [`AdmissionError`] where the input is too large or answers a pause that there is not.
    pub fn new(request: TaskRequest) -> Result<Self, AdmissionError> {
        let ids = IdGenerator::seeded(0);
        let session = Session::new(request.session.clone().unwrap_or_else(|| ids.session(0)));
        let task = request.id.clone().unwrap_or_else(|| ids.task(0));
        let mut admission = session.admit(Attempt::of_request(task, &request))?;

        let agent = AgentDescriptor::new("agent").id().clone();
        let late = Arc::new(Mutex::new(0));
        let count = Arc::clone(&late);
        let handle = admission.start(&agent, LateWriteHook::new(move |_| *count.lock() += 1));
        Ok(Self { request, admission, agent, handle, cancellation: CancellationToken::new(), late })
    }

    /// What the executor is given beside the request.
    pub fn context(&self) -> ExecutionContext {
        ExecutionContext::new(self.agent.clone(), self.handle.clone())
            .with_cancellation(self.cancellation.clone())
    }

    /// Calls an executor.
    ///
    /// # Errors
    ///
    /// The executor's own.
    pub async fn call(&self, executor: &impl AgentExecutor) -> Result<TaskOutcome, ExecutorError> {
        executor.execute(self.request.clone(), self.context()).await
    }

    /// Asks the executor to stop.
    pub fn cancel(&self) {
        self.cancellation.cancel();
    }

    /// The session.
    pub fn session(&self) -> &Session {
        self.admission.session()
    }

    /// How many writes came after [`settle`](Self::settle).
    pub fn late_writes(&self) -> usize {
        *self.late.lock()
    }

    /// Ends the attempt with what the executor said.
    ///
    /// # Errors
    ///
    /// [`SettleError`] where the output is not what it must be: an artifact's id twice, say.
    pub fn settle(
        &mut self,
        said: Result<TaskOutcome, ExecutorError>,
    ) -> Result<Arc<TaskReport>, SettleError> {
        let (task, session) = (self.admission.task().clone(), self.session().id().clone());
        let mut report = TaskReport::new(task, session, TaskStatus::Failed);
        match said {
            Ok(outcome) => {
                report.status = outcome.status();
                report.output = Some(outcome.output().clone());
            }
            Err(error) => {
                report.status = error.code().status();
                report.error = Some(error.into_task_error());
            }
        }
        self.admission.settle(report)
    }
}

impl fmt::Debug for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trial").field("admission", &self.admission).finish_non_exhaustive()
    }
}
