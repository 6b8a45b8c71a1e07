//! Admission: whether a task may have another attempt.

use std::sync::Arc;

use convoke_core::{AgentId, Message, Resume, ResumeToken, TaskId, TaskReport, TaskStatus};

use super::{
    Machine,
    open::{OpenAttempt, Phase, Waiting},
};
use crate::{AdmissionError, Attempt, SessionError, SessionUsage, TaskRecord};

/// What an admission found.
#[derive(Debug)]
pub(crate) struct Admitted {
    pub(crate) attempt: u32,
    pub(crate) previous: Option<Arc<TaskReport>>,
    pub(crate) required_agent: Option<AgentId>,
}

impl Machine {
    pub(crate) fn admit(&mut self, attempt: Attempt) -> Result<Admitted, AdmissionError> {
        let Attempt { task, input, resume, author } = attempt;
        let record = self.state.tasks.get(&task).map(Arc::as_ref);
        check_standing(&task, record)?;
        check_resume(&task, record, resume.as_ref())?;
        let reserved = self
            .check_input(&input)
            .map_err(|problem| AdmissionError::Input { task: task.clone(), problem })?;

        let number = record.map_or(1, |record| record.attempt + 1);
        let previous = record.and_then(|record| record.report.clone());
        let pause = record.filter(|record| record.status.is_paused()).cloned();
        let required_agent = resume.and(pause.as_ref()).and_then(|pause| pause.agent.clone());

        let submitted = TaskRecord {
            status: TaskStatus::Submitted,
            attempt: number,
            agent: None,
            report: previous.clone(),
            detached: false,
        };
        self.commit().put_record(task.clone(), submitted);
        self.reserved = self.reserved.plus(reserved);
        let phase = Phase::Waiting(Waiting { author, input, pause });
        self.open.insert(task, OpenAttempt { attempt: number, reserved, phase });
        Ok(Admitted { attempt: number, previous, required_agent })
    }

    /// The room that the input needs, so that the start cannot fail for lack of it.
    fn check_input(&self, input: &[Message]) -> Result<SessionUsage, SessionError> {
        let mut needed = SessionUsage::default();
        for message in input {
            needed = needed.plus(SessionUsage::message(self.check_message(message)?));
        }
        self.check_room(SessionUsage::default(), needed)?;
        Ok(needed)
    }
}

fn check_standing(task: &TaskId, record: Option<&TaskRecord>) -> Result<(), AdmissionError> {
    let Some(record) = record else { return Ok(()) };
    if !record.status.allows_next_attempt() {
        Err(AdmissionError::Status { task: task.clone(), status: record.status })
    } else if record.detached {
        Err(AdmissionError::StillDetached { task: task.clone(), attempt: record.attempt })
    } else {
        Ok(())
    }
}

fn check_resume(
    task: &TaskId,
    record: Option<&TaskRecord>,
    resume: Option<&Resume>,
) -> Result<(), AdmissionError> {
    let task = task.clone();
    match (record.filter(|record| record.status.is_paused()), resume) {
        (None, Some(_)) => {
            Err(AdmissionError::NotPaused { task, status: record.map(|record| record.status) })
        }
        (Some(pause), None) if pause.resume_token().is_some() => {
            Err(AdmissionError::TokenMissing { task, attempt: paused_in(pause) })
        }
        (_, None) => Ok(()),
        (Some(pause), Some(resume)) if is_answer(&resume.token, pause) => Ok(()),
        (Some(pause), Some(_)) => Err(AdmissionError::TokenMismatch { task, attempt: paused_in(pause) }),
    }
}

/// Whether the token is that of the pause; of one that gave none it is the empty one.
fn is_answer(token: &ResumeToken, pause: &TaskRecord) -> bool {
    match pause.resume_token() {
        Some(expected) => token == expected,
        None => *token == ResumeToken::empty(),
    }
}

/// The attempt that paused. The record's own number is higher where one in between did not get to work.
fn paused_in(pause: &TaskRecord) -> u32 {
    pause.report.as_ref().map_or(pause.attempt, |report| report.attempt)
}
