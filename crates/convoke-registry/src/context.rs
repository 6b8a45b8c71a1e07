//! What an executor is given beside the request.

use std::{fmt, sync::Arc, time::Duration};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use convoke_core::{AgentId, Budget, Lineage, Scope, TaskId, TaskReport};
use convoke_session::SessionHandle;

use crate::{Progress, ProgressSender, TeamHandle};

/// How long work that was asked to stop has to end unless a host says otherwise: 50 ms.
pub const DEFAULT_GRACE: Duration = Duration::from_millis(50);

/// What an executor is given beside the request: the session, the deadline, a cancellation token and a budget.
///
/// Cloning it is cheap. A test builds one with [`ExecutionContext::new`].
#[derive(Clone)]
pub struct ExecutionContext(Box<Parts>);

/// Apart, since a context is moved from future to future.
#[derive(Clone)]
struct Parts {
    session: SessionHandle,
    scope: Scope,
    grace: Duration,
    agent: AgentId,
    team: TeamHandle,
    previous: Option<Arc<TaskReport>>,
    progress: Option<ProgressSender>,
}

impl ExecutionContext {
    /// A context for the attempt that `session` belongs to, without a deadline, a budget or a reader of its progress.
    ///
    /// ```
    /// use convoke_core::{AgentId, Message, SessionId, TaskId, TaskRequest};
    /// use convoke_registry::{AgentExecutor, ExecutionContext, FunctionExecutor};
    /// use convoke_session::{Attempt, LateWriteHook, Session};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let session = Session::new(SessionId::new("test")?);
    /// let mut admission = session.admit(Attempt::new(TaskId::new("draft")?).with_message(Message::user("hi")))?;
    /// let agent = AgentId::new("echo")?;
    /// let handle = admission.start(&agent, LateWriteHook::none());
    ///
    /// let echo = FunctionExecutor::new(|request, _ctx| async move { Ok(request.input) });
    /// let outcome = echo.execute(TaskRequest::new("hi"), ExecutionContext::new(agent, handle)).await;
    /// assert_eq!(outcome.unwrap().output().text, "hi");
    /// # Ok(())
    /// # }
    /// ```
    pub fn new(agent: AgentId, session: SessionHandle) -> Self {
        let attempt = Lineage::new(session.session_id().clone(), session.task().clone(), session.attempt());
        let scope = Scope::root().of(attempt.by(agent.clone()));
        Self::of_attempt(agent, session, scope)
    }

    /// A context for the attempt that `session` belongs to, in a scope that is made for it.
    pub fn of_attempt(agent: AgentId, session: SessionHandle, scope: Scope) -> Self {
        let team = TeamHandle::closed();
        let grace = DEFAULT_GRACE;
        Self(Box::new(Parts { session, scope, grace, agent, team, previous: None, progress: None }))
    }

    /// Sets the token that asks the work to stop.
    #[must_use]
    pub fn with_cancellation(mut self, token: CancellationToken) -> Self {
        self.0.scope = self.0.scope.with_cancellation(token);
        self
    }

    /// Sets when the work is asked to stop.
    #[must_use]
    pub fn with_deadline(mut self, deadline: impl Into<Option<Instant>>) -> Self {
        self.0.scope = self.0.scope.with_deadline(deadline);
        self
    }

    /// Sets how long the work has to end once it is asked to stop; 50 ms unless set.
    #[must_use]
    pub fn with_grace(mut self, grace: Duration) -> Self {
        self.0.grace = grace;
        self
    }

    /// Sets the last report of the same task.
    #[must_use]
    pub fn with_previous(mut self, report: impl Into<Option<Arc<TaskReport>>>) -> Self {
        self.0.previous = report.into();
        self
    }

    /// Sets what the work may spend.
    #[must_use]
    pub fn with_budget(mut self, budget: impl Into<Option<Budget>>) -> Self {
        self.0.scope = self.0.scope.with_budget(budget);
        self
    }

    /// Sets what nested work inherits, and with it the token, the deadline and the budget.
    #[must_use]
    pub fn with_scope(mut self, scope: Scope) -> Self {
        self.0.scope = scope;
        self
    }

    /// Sets the team that nested work is asked of; a handle of no runtime unless set.
    #[must_use]
    pub fn with_team(mut self, team: TeamHandle) -> Self {
        self.0.team = team;
        self
    }

    /// Sends progress to the updates of a handle; without one it goes nowhere.
    #[must_use]
    pub fn with_progress(mut self, progress: impl Into<Option<ProgressSender>>) -> Self {
        self.0.progress = progress.into();
        self
    }

    /// The session, as this attempt may use it.
    pub fn session(&self) -> &SessionHandle {
        &self.0.session
    }

    /// Signalled when the work is to stop: the caller gave up, or the deadline has passed. From the end of the work on it
    /// is signalled too, for what that has left behind.
    pub fn cancellation(&self) -> &CancellationToken {
        self.0.scope.cancellation()
    }

    /// Whether the work is to stop.
    pub fn is_cancelled(&self) -> bool {
        self.scope().is_cancelled()
    }

    /// When the work is asked to stop, on tokio's clock; `None` means never.
    pub fn deadline(&self) -> Option<Instant> {
        self.0.scope.deadline()
    }

    /// How long until the work is asked to stop; zero from then on, `None` where there is no deadline.
    pub fn remaining_time(&self) -> Option<Duration> {
        Some(self.deadline()?.saturating_duration_since(Instant::now()))
    }

    /// How long the work has to end once it is asked to stop: after that its caller goes on without it. What a runtime
    /// was built with, or 50 ms where nobody set it; zero gives it none.
    pub fn grace(&self) -> Duration {
        self.0.grace
    }

    /// The agent that this work is done as.
    pub fn agent(&self) -> &AgentId {
        &self.0.agent
    }

    /// The task.
    pub fn task(&self) -> &TaskId {
        self.0.session.task()
    }

    /// Which execution of the task this is, from 1.
    pub fn attempt(&self) -> u32 {
        self.0.session.attempt()
    }

    /// The last report of the same task, from its second attempt on.
    pub fn previous(&self) -> Option<&TaskReport> {
        self.0.previous.as_deref()
    }

    /// What the work may spend; `None` where the host set no budget. It is not closed at the end of the work: what is left
    /// behind can still spend.
    pub fn budget(&self) -> Option<&Budget> {
        self.0.scope.budget()
    }

    /// The door to nested work.
    pub fn team(&self) -> &TeamHandle {
        &self.0.team
    }

    /// Whose work this is, and what nested work inherits.
    pub fn scope(&self) -> &Scope {
        &self.0.scope
    }

    /// Says how far the work is. Costs nothing where nobody listens; never waits.
    pub fn emit(&self, progress: impl Into<Progress>) {
        if let Some(sender) = &self.0.progress {
            sender.send(progress.into());
        }
    }
}

impl fmt::Debug for ExecutionContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExecutionContext")
            .field("agent", &self.0.agent)
            .field("task", self.task())
            .field("attempt", &self.attempt())
            .field("deadline", &self.deadline())
            .finish_non_exhaustive()
    }
}

/// What the body of a coordinated task is given: as an executor's context, but of nobody in particular.
#[derive(Clone)]
pub struct CoordinatedContext {
    session: SessionHandle,
    scope: Scope,
    grace: Duration,
    team: TeamHandle,
    previous: Option<Arc<TaskReport>>,
}

impl CoordinatedContext {
    /// A context for the attempt that `session` belongs to; nested work is asked of `team`.
    pub fn new(
        session: SessionHandle,
        scope: Scope,
        team: TeamHandle,
        previous: Option<Arc<TaskReport>>,
    ) -> Self {
        Self { session, scope, grace: DEFAULT_GRACE, team, previous }
    }

    /// Sets how long the work has to end once it is asked to stop; 50 ms unless set.
    #[must_use]
    pub fn with_grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// The session, as this attempt may use it.
    pub fn session(&self) -> &SessionHandle {
        &self.session
    }

    /// Whose work this is, when it must stop, what it may spend, and what nested work inherits of that.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// How long the work, and what it asks for, have to end once they are asked to stop.
    pub fn grace(&self) -> Duration {
        self.grace
    }

    /// The door to nested work.
    pub fn team(&self) -> &TeamHandle {
        &self.team
    }

    /// The task.
    pub fn task(&self) -> &TaskId {
        self.session.task()
    }

    /// Which execution of the task this is, from 1.
    pub fn attempt(&self) -> u32 {
        self.session.attempt()
    }

    /// The last report of the same task, from its second attempt on.
    pub fn previous(&self) -> Option<&TaskReport> {
        self.previous.as_deref()
    }
}

impl fmt::Debug for CoordinatedContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CoordinatedContext")
            .field("task", self.task())
            .field("attempt", &self.attempt())
            .finish_non_exhaustive()
    }
}
