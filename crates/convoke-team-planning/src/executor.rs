//! The executor: steps as tasks of a team.

use std::{fmt, sync::Arc};

use convoke_core::{ErrorCode, ExecutorError, PlanId, RunId, TaskError};
use convoke_planning::{
    PlanStep, StepContext, StepExecutor, StepOutcome,
    machine::{Capabilities, Effects, StepInput},
};
use convoke_registry::TeamHandle;
use convoke_session::{Session, SessionLimits};
use tokio::sync::Mutex;

use crate::{
    SessionRemoval, StepMark,
    outcome::{NotDone, outcome},
    question::PauseToken,
    request::{options, request},
    run_session::{self, id_of, task_of},
    standing::{Next, next},
};

/// Has the agents of a team do the steps of plans. Cloning shares it.
///
/// It takes the steps that name an agent or required skills; the team dispatches by both. Any other step is taken by nobody
/// here, and so is blocked: leave those to another executor by
/// [`CompositeStepExecutor`](convoke_planning::CompositeStepExecutor).
///
/// # What the agent gets
///
/// The input of the request is that of the step. Where the step has none, it is its description, or else its title, and
/// behind a blank line what came from other steps; `data` has that as JSON. What a reflector noted of a rejected output comes
/// as a message. The metadata are the step's, and the [`StepMark`].
///
/// Deadline, cancellation, trace and budget are those of the step. The agent's runtime keeps the deadline, and its word on it
/// decides: a step timeout of the plan ends the task by the runtime's grace.
///
/// # What becomes of the step
///
/// | task | step |
/// |---|---|
/// | completed | completed: text, JSON data, and all artifacts of the attempt |
/// | input required | a question; the answer continues the task at the same agent, under the same attempt, with what the agent put into its resume token and without the input |
/// | blocked | blocked; tried again while attempts remain where the [code](convoke_core::ErrorCode::is_retryable) allows it |
/// | failed, cancelled | failed |
/// | timed out | failed with `step_timeout`, detached until the work has really ended |
///
/// # Sessions
///
/// The tasks of a run share a session, `<plan>/<run>`, with the step's id as id. It is opened when a step first needs it, with
/// what the plan has by then: each completed step is a completed task with its output. So a plan that is resumed in another
/// process, or forked, finds what was there. It takes what any session takes by default, or 16 messages, 16 artifacts and
/// 256 KiB for each step of the plan where that is more; [`with_session_limits`](Self::with_session_limits) says otherwise.
/// It stays until it is removed: by [`session_removal`](Self::session_removal) once the plan is completed, or by
/// [`remove_session`](Self::remove_session).
///
/// # After a crash
///
/// A step that starts again under the same attempt and key takes what its task came to, where that is an output or a question
/// that was made for exactly this attempt: the agent is not asked again. What failed, or was stopped, is asked for again.
#[derive(Clone)]
pub struct TeamStepExecutor {
    team: TeamHandle,
    limits: Option<SessionLimits>,
    effects: Effects,
    /// Held while a session is opened, so that no step sees one that has not all that it begins with.
    opening: Arc<Mutex<()>>,
}

impl TeamStepExecutor {
    /// Has this team do the steps. Made inside an agent's task of [its handle](convoke_registry::ExecutionContext::team), the
    /// steps are nested in that.
    pub fn new(team: &TeamHandle) -> Self {
        Self { team: team.clone(), limits: None, effects: Effects::default(), opening: Arc::default() }
    }

    /// Sets what the session of each run takes.
    #[must_use]
    pub fn with_session_limits(mut self, limits: SessionLimits) -> Self {
        self.limits = Some(limits);
        self
    }

    /// Says what becomes of the world when a step runs twice; [`Effects::Idempotent`] unless set. Agents keep their effects
    /// under the key of the [`StepMark`], or their steps are [`Effects::SideEffect`].
    #[must_use]
    pub fn with_effects(mut self, effects: Effects) -> Self {
        self.effects = effects;
        self
    }

    /// An observer for the runner, which removes the session of a run once its plan is completed. Of a session that is in a
    /// journal the log stays; [`remove_session`](Self::remove_session) removes that too.
    pub fn session_removal(&self) -> SessionRemoval {
        SessionRemoval::new(self.team.sessions())
    }

    /// Removes the session of a run, for whoever [deletes](convoke_planning::PlanRunner::delete) its plan or gives it up; says
    /// whether the runtime had it.
    ///
    /// # Cancel safety
    ///
    /// Dropped, it may have removed the session from the runtime and not from its journal; the same call again does the rest.
    ///
    /// # Errors
    ///
    /// `invalid_request` where a task of it is active, paused, detached or late, and what the journal of the runtime says.
    pub async fn remove_session(&self, plan: &PlanId, run: &RunId) -> Result<bool, TaskError> {
        self.team.sessions().remove(&id_of(plan, run)?).await
    }

    /// The session of the run, with what it begins with.
    async fn session(&self, ctx: &StepContext) -> Result<Session, TaskError> {
        let id = id_of(ctx.plan().id(), ctx.run())?;
        let limits = self.limits.unwrap_or_else(|| run_session::limits_for(ctx.plan()));
        let _opening = self.opening.lock().await;
        let session = self.team.sessions().open(&id, limits).await?;
        run_session::seed(&session, ctx).await?;
        Ok(session)
    }

    /// What became of the step, where the team was asked or had been.
    async fn done(&self, input: StepInput, ctx: &StepContext) -> Result<StepOutcome, NotDone> {
        let pause = ctx.answer().map(|answer| PauseToken::read(&answer.question)).transpose()?;
        let mark = StepMark::of_attempt(ctx, pause.as_ref());
        let (session, task) = (self.session(ctx).await?, task_of(&ctx.step().id)?);
        let record = session.snapshot().task(&task).cloned();
        let report = match next(record.as_ref(), &mark) {
            Next::Take(report) => Arc::unwrap_or_clone(report),
            Next::Attempt { withdraw, restore } => {
                if let Some(record) = record.filter(|_| withdraw) {
                    run_session::withdraw(&session, &task, &record).await?;
                }
                if let (true, Some(answer), Some(pause), Some(asking)) =
                    (restore, ctx.answer(), &pause, mark.asking())
                {
                    let asked = (&*answer.question.prompt, pause);
                    run_session::restore(&session, &task, asked, &asking).await?;
                }
                let request = request((&session, &task), input, ctx, &mark, pause.as_ref());
                let answer = self.team.run_with(request, options(ctx)).await;
                answer.or_else(|error| {
                    let text = error.to_string();
                    error.into_report().ok_or_else(|| TaskError::new(ErrorCode::ExecutionFailed, text))
                })?
            }
        };
        outcome(&self.team, &session, report, &mark).await
    }
}

impl StepExecutor for TeamStepExecutor {
    fn capabilities(&self, step: &PlanStep) -> Option<Capabilities> {
        let mut agents = match &step.agent {
            Some(agent) => Vec::from_iter(self.team.agent(agent)),
            None if step.required_skills.is_empty() => return None,
            None => self.team.find_agents(&step.required_skills),
        }
        .into_iter()
        .peekable();
        // Whoever of them does it.
        let cooperative =
            agents.peek().is_some() && agents.all(|agent| agent.capabilities.cooperative_cancellation);
        let mut capabilities = Capabilities::new().with_effects(self.effects).owning_deadline();
        capabilities.cooperative_cancellation = cooperative;
        Some(capabilities)
    }

    async fn execute(&self, input: StepInput, ctx: StepContext) -> Result<StepOutcome, ExecutorError> {
        if ctx.step().agent.is_none() && ctx.step().required_skills.is_empty() {
            let text = "step names neither an agent nor skills; name one, or leave it to another executor";
            return Ok(StepOutcome::blocked(text));
        }
        self.done(input, &ctx).await.or_else(NotDone::into_outcome)
    }
}

impl fmt::Debug for TeamStepExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TeamStepExecutor")
            .field("team", &self.team)
            .field("limits", &self.limits)
            .field("effects", &self.effects)
            .finish_non_exhaustive()
    }
}
