//! Task reports: who did it, how it ended, what came out.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    AgentId, ErrorCode, Metadata, ResumeToken, SessionId, TaskError, TaskId, TaskOutput, TaskRequest,
    TaskStatus, json_is_too_deep,
};

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct TaskReport {
    /// The task.
    pub task: TaskId,
    /// The session that it belongs to.
    pub session: SessionId,
    /// Who had it; `None` where no agent was chosen.
    pub agent: Option<AgentId>,
    /// Which execution of the task this was, from 1; 0 where nothing was admitted.
    pub attempt: u32,
    /// How it ended.
    pub status: TaskStatus,
    /// What came out. In the session only where the status is completed or input required.
    pub output: Option<TaskOutput>,
    /// What a paused task asks for.
    pub pause: Option<Pause>,
    /// Why it did not complete.
    pub error: Option<TaskError>,
    /// Whether the work goes on although the caller has its answer; its lease stays held until it ends.
    pub detached: bool,
    /// How long it waited and ran.
    pub timing: Timing,
    /// What the request attached.
    pub metadata: Metadata,
    /// How many events an observer or a sink failed to take before this report was given.
    pub telemetry_errors: u32,
}

/// What a paused task asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Pause {
    /// What to ask, for a person.
    pub prompt: String,
    /// The same in a machine's form.
    pub request: Option<Value>,
    /// What the answer must carry.
    pub resume: Option<ResumeToken>,
}

impl Pause {
    /// What to ask.
    pub fn new(prompt: impl Into<String>, request: Option<Value>, resume: Option<ResumeToken>) -> Self {
        Self { prompt: prompt.into(), request, resume }
    }

    /// Whether data in it nests more than [`MAX_JSON_DEPTH`](crate::MAX_JSON_DEPTH) deep: no session keeps such a pause.
    pub fn is_too_deep(&self) -> bool {
        self.request.as_ref().is_some_and(json_is_too_deep)
            || self.resume.as_ref().is_some_and(ResumeToken::is_too_deep)
    }
}

/// How long an attempt waited and ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Timing {
    /// From the first poll to the start of the work, or to the end where it never started.
    pub queued: Duration,
    /// From the start of the work to its end or, where it is detached, to the report.
    pub executed: Duration,
}

impl Timing {
    /// The two durations.
    pub fn new(queued: Duration, executed: Duration) -> Self {
        Self { queued, executed }
    }
}

impl TaskReport {
    /// A report of `status` with nothing else; attempt 0.
    pub fn new(task: TaskId, session: SessionId, status: TaskStatus) -> Self {
        Self {
            task,
            session,
            agent: None,
            attempt: 0,
            status,
            output: None,
            pause: None,
            error: None,
            detached: false,
            timing: Timing::default(),
            metadata: Metadata::new(),
            telemetry_errors: 0,
        }
    }

    /// Whether the task completed.
    pub fn is_success(&self) -> bool {
        self.status == TaskStatus::Completed
    }

    /// Whether data in it nests more than [`MAX_JSON_DEPTH`](crate::MAX_JSON_DEPTH) deep: no session keeps such a report.
    pub fn is_too_deep(&self) -> bool {
        self.output.as_ref().is_some_and(TaskOutput::is_too_deep)
            || self.pause.as_ref().is_some_and(Pause::is_too_deep)
            || self.metadata.values().any(json_is_too_deep)
    }

    /// Why it did not complete, for a machine.
    pub fn code(&self) -> Option<ErrorCode> {
        self.error.as_ref().map(TaskError::code)
    }

    /// The request that answers what this paused task asks for; `None` where it is not paused.
    ///
    /// ```
    /// use convoke_core::{Pause, SessionId, TaskId, TaskReport, TaskStatus};
    ///
    /// # fn main() -> Result<(), convoke_core::IdError> {
    /// let mut report = TaskReport::new(TaskId::new("paint")?, SessionId::new("shop")?, TaskStatus::InputRequired);
    /// report.pause = Some(Pause::new("which colour?", None, None));
    /// let request = report.answering("green").unwrap();
    /// assert_eq!(request.id, Some(TaskId::new("paint")?));
    /// # Ok(())
    /// # }
    /// ```
    pub fn answering(&self, answer: impl Into<Value>) -> Option<TaskRequest> {
        let pause = self.pause.as_ref().filter(|_| self.status.is_paused())?;
        let token = pause.resume.clone().unwrap_or_else(ResumeToken::empty);
        let mut request = TaskRequest::default().resuming(token, answer);
        request.id = Some(self.task.clone());
        request.session = Some(self.session.clone());
        Some(request)
    }

    /// The text that came out; empty where nothing did.
    pub fn text(&self) -> &str {
        self.output.as_ref().map_or("", |output| output.text.as_str())
    }

    /// The output of a completed task.
    ///
    /// # Errors
    ///
    /// [`NotCompleted`], which keeps the report, for every other status.
    pub fn into_result(mut self) -> Result<TaskOutput, NotCompleted> {
        if self.is_success() {
            return Ok(self.output.take().unwrap_or_default());
        }
        Err(NotCompleted(Box::new(self)))
    }
}

/// What happened in one line, without what came out: ``task `draft` completed by `writer`, attempt 1``.
impl fmt::Display for TaskReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task `{}` {}", self.task, self.status)?;
        if let Some(agent) = &self.agent {
            write!(f, " by `{agent}`")?;
        }
        if self.attempt > 0 {
            write!(f, ", attempt {}", self.attempt)?;
        }
        if self.detached {
            f.write_str(", its work goes on detached")?;
        }
        match (&self.error, &self.pause) {
            (Some(error), _) => write!(f, ": {error}"),
            (None, Some(pause)) => write!(f, ": {}", pause.prompt),
            (None, None) => Ok(()),
        }
    }
}

/// A task that did not complete, as an error; holds the whole report.
#[derive(Clone, PartialEq)]
pub struct NotCompleted(Box<TaskReport>);

impl NotCompleted {
    /// The report.
    pub fn report(&self) -> &TaskReport {
        &self.0
    }

    /// The report.
    pub fn into_report(self) -> TaskReport {
        *self.0
    }
}

impl fmt::Display for NotCompleted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// As [`Display`](fmt::Display), with what the executor said, for the programs that return it from `main`.
impl fmt::Debug for NotCompleted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)?;
        match self.0.error.as_ref().and_then(TaskError::detail) {
            Some(detail) => write!(f, ": {detail}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for NotCompleted {}
