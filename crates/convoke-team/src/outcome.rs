//! What a report says about an attempt's end: pure, from how the work ended and why it was stopped.

use std::fmt;

use convoke_core::{
    AgentId, ErrorCode, MAX_JSON_DEPTH, Pause, TaskError, TaskOutcome, TaskOutput, TaskStatus,
};

use crate::{ending::StopCause, execution::Said};

/// Who works on a task, for a text: an agent, or nobody in particular.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Worker<'a>(pub(crate) Option<&'a AgentId>);

impl fmt::Display for Worker<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(agent) => write!(f, "agent `{agent}`"),
            None => f.write_str("coordinated task"),
        }
    }
}

impl Worker<'_> {
    /// What a report says of its panic.
    pub(crate) fn panicked(self) -> String {
        match self.0 {
            Some(agent) => format!("executor of agent `{agent}` panicked"),
            None => "coordinated task panicked".into(),
        }
    }
}

impl StopCause {
    /// What a report says of a stop.
    pub(crate) fn error(self, while_doing: &'static str) -> TaskError {
        match self {
            Self::Cancelled => {
                TaskError::new(ErrorCode::Cancelled, format!("task was cancelled {while_doing}"))
            }
            Self::Deadline => {
                TaskError::new(ErrorCode::TimedOut, format!("deadline passed {while_doing}; allow more time"))
            }
        }
    }
}

/// How an attempt ended, as its report says it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Conclusion {
    pub(crate) status: TaskStatus,
    pub(crate) output: Option<TaskOutput>,
    pub(crate) pause: Option<Pause>,
    pub(crate) error: Option<TaskError>,
}

impl Conclusion {
    pub(crate) fn of_error(error: TaskError) -> Self {
        Self { status: error.code().status(), output: None, pause: None, error: Some(error) }
    }

    /// A refusal: blocked whatever its code says of attempts that fail by it, since there is none.
    pub(crate) fn of_refusal(error: TaskError) -> Self {
        Self { status: TaskStatus::Blocked, ..Self::of_error(error) }
    }

    /// A stop before the work began, or one that the work did not heed.
    pub(crate) fn of_stop(cause: StopCause, while_doing: &'static str) -> Self {
        Self::of_error(cause.error(while_doing))
    }

    /// The work's own word. Where it says that it stopped because it was asked to, the cause says what that makes of it;
    /// every other word is kept, also after a stop. Data that nests too deep is kept nowhere: what would be published with
    /// it has failed, and the text of the output stays.
    pub(crate) fn of_work(worker: Worker<'_>, said: Said, asked_to_stop: Option<StopCause>) -> Self {
        let mut ended = Self::of_word(worker, said, asked_to_stop);
        let is_too_deep = ended.output.as_ref().is_some_and(TaskOutput::is_too_deep)
            || ended.pause.as_ref().is_some_and(Pause::is_too_deep);
        if is_too_deep {
            ended.output = ended.output.map(|output| TaskOutput::text(output.text));
            if ended.error.is_none() {
                let text = format!(
                    "{worker} gave data that nests more than {MAX_JSON_DEPTH} levels deep; flatten it"
                );
                let error = TaskError::new(ErrorCode::ContractViolation, text);
                return Self { output: ended.output, ..Self::of_error(error) };
            }
        }
        ended
    }

    fn of_word(worker: Worker<'_>, said: Said, asked_to_stop: Option<StopCause>) -> Self {
        match said {
            Ok(TaskOutcome::Completed(output)) => {
                Self { status: TaskStatus::Completed, output: Some(output), pause: None, error: None }
            }
            Ok(TaskOutcome::InputRequired { prompt, request, resume, output }) => Self {
                status: TaskStatus::InputRequired,
                output: Some(output),
                pause: Some(Pause::new(prompt, request, resume)),
                error: None,
            },
            Ok(TaskOutcome::Blocked { reason, output }) => {
                let text = format!("{worker} cannot do it as things stand");
                Self::with_output(TaskError::new(ErrorCode::AgentBlocked, text).with_detail(reason), output)
            }
            Ok(TaskOutcome::TimedOut { output }) => {
                let text = format!("{worker} ran out of time by its own clock");
                Self::with_output(TaskError::new(ErrorCode::TimedOut, text), output)
            }
            Ok(TaskOutcome::Cancelled { output }) => {
                let mut stopped = Self::stopped(worker, asked_to_stop);
                stopped.output = Some(output);
                stopped
            }
            Err(error) => {
                let (error, output) = error.into_parts();
                let is_stop = error.code() == ErrorCode::Cancelled && asked_to_stop.is_some();
                let mut ended =
                    if is_stop { Self::stopped(worker, asked_to_stop) } else { Self::of_error(error) };
                ended.output = output;
                ended
            }
        }
    }

    fn stopped(worker: Worker<'_>, asked_to_stop: Option<StopCause>) -> Self {
        match asked_to_stop {
            Some(cause) => Self::of_stop(cause, "while it was worked on"),
            None => Self::of_error(TaskError::new(
                ErrorCode::Cancelled,
                format!("{worker} stopped although nobody asked for it"),
            )),
        }
    }

    fn with_output(error: TaskError, output: TaskOutput) -> Self {
        Self { output: Some(output), ..Self::of_error(error) }
    }
}

#[cfg(test)]
mod tests;
