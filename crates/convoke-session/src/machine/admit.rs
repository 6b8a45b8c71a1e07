//! Admission: whether a task may have another attempt.

use std::{mem, sync::Arc};

use convoke_core::{AgentId, Message, ResumeToken, TaskId, TaskReport, TaskStatus};

use super::{
    Machine,
    open::{OpenAttempt, Phase, Waiting},
};
use crate::{
    AdmissionError, AdmissionOptions, Attempt, IfCompleted, Reconcile, SessionError, SessionUsage, TaskRecord,
};

/// What an admission found.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) attempt: u32,
    pub(crate) previous: Option<Arc<TaskReport>>,
    pub(crate) required_agent: Option<AgentId>,
    pub(crate) is_reconciled: bool,
}

/// An attempt that may be opened, with what it takes from the record of its task.
struct Next {
    opened: Opened,
    reserved: SessionUsage,
    pause: Option<Arc<TaskRecord>>,
}

/// What becomes of a request.
#[derive(Debug)]
pub(crate) enum Answer {
    Opened(Opened),
    Recorded(Arc<TaskReport>),
    Accepted(Arc<TaskReport>),
}

impl Machine {
    /// Admits a next attempt by the rules that hold without a word of the caller. One that is admitted is left without its
    /// input.
    pub(crate) fn admit(&mut self, attempt: &mut Attempt) -> Result<Opened, AdmissionError> {
        self.check_recorded(&attempt.task)?;
        let record = self.state.tasks.get(&attempt.task);
        let next = self.next(attempt, record, IfCompleted::Refuse, None)?;
        Ok(self.open(attempt, next))
    }

    /// Admits a next attempt, or answers with a report as the options say. One that is admitted is left without its input.
    pub(crate) fn admit_with(
        &mut self,
        attempt: &mut Attempt,
        options: AdmissionOptions,
    ) -> Result<Answer, AdmissionError> {
        let AdmissionOptions { if_completed, late } = options;
        if late == Some(Reconcile::Abandon) {
            return Err(AdmissionError::Abandon { task: attempt.task.clone() });
        }
        self.check_recorded(&attempt.task)?;
        let record = self.state.tasks.get(&attempt.task);
        if let Some(report) = record.and_then(|record| completed(record, if_completed)) {
            let recorded = record.and_then(|record| record.digest);
            return match attempt.digest {
                Some(digest) if recorded == Some(digest) => Ok(Answer::Recorded(report)),
                _ => {
                    Err(AdmissionError::OtherRequest { attempt: report.attempt, task: attempt.task.clone() })
                }
            };
        }
        let late = late.filter(|_| record.is_some_and(TaskRecord::is_late));
        if late == Some(Reconcile::AcceptLate) {
            return Ok(Answer::Accepted(self.reconcile(&attempt.task, Reconcile::AcceptLate)?));
        }
        let next = self.next(attempt, record, if_completed, late)?;
        Ok(Answer::Opened(self.open(attempt, next)))
    }

    /// Checks everything, the decision about late work included.
    fn next(
        &self,
        attempt: &Attempt,
        record: Option<&TaskRecord>,
        if_completed: IfCompleted,
        late: Option<Reconcile>,
    ) -> Result<Next, AdmissionError> {
        let Attempt { task, input, resume, .. } = attempt;
        check_standing(task, record, if_completed, late)?;
        check_resume(attempt, record)?;
        let reserved = self
            .check_input(input)
            .map_err(|problem| AdmissionError::Input { task: task.clone(), problem })?;

        let pause = record.filter(|record| record.status.is_paused());
        let opened = Opened {
            attempt: record.map_or(1, |record| record.attempt + 1),
            previous: record.and_then(|record| record.report.clone()),
            required_agent: resume.as_ref().and(pause).and_then(|pause| pause.agent.clone()),
            is_reconciled: late.is_some(),
        };
        Ok(Next { opened, reserved, pause: pause.cloned().map(Arc::new) })
    }

    fn check_recorded(&self, task: &TaskId) -> Result<(), AdmissionError> {
        self.check_open().map_err(|problem| AdmissionError::Store { task: task.clone(), problem })
    }

    /// Opens it in one commit.
    fn open(&mut self, attempt: &mut Attempt, next: Next) -> Opened {
        let Attempt { task, input, author, digest, .. } = attempt;
        let Next { opened, reserved, pause } = next;
        let submitted = TaskRecord {
            status: TaskStatus::Submitted,
            attempt: opened.attempt,
            agent: None,
            report: opened.previous.clone(),
            detached: false,
            digest: *digest,
            late: None,
            reconciled: None,
            staged: 0,
            pause,
        };
        self.commit().put_task(task.clone(), submitted);
        self.reserved = self.reserved.plus(reserved);
        let phase = Phase::Waiting(Waiting { author: mem::take(author), input: mem::take(input) });
        self.open.insert(task.clone(), OpenAttempt { attempt: opened.attempt, reserved, phase });
        opened
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

/// The report that a request gets instead of an attempt.
fn completed(record: &TaskRecord, if_completed: IfCompleted) -> Option<Arc<TaskReport>> {
    let is_answered = record.status == TaskStatus::Completed && if_completed == IfCompleted::Return;
    record.report.clone().filter(|_| is_answered)
}

fn check_standing(
    task: &TaskId,
    record: Option<&TaskRecord>,
    if_completed: IfCompleted,
    late: Option<Reconcile>,
) -> Result<(), AdmissionError> {
    let Some(record) = record else { return Ok(()) };
    let is_allowed = record.allows_next_attempt()
        || (record.status == TaskStatus::Completed && if_completed == IfCompleted::Again)
        || (record.status == TaskStatus::TimedOut && late == Some(Reconcile::Retry));
    if record.is_closed() {
        Err(AdmissionError::Closed { task: task.clone() })
    } else if !is_allowed {
        Err(AdmissionError::Status { task: task.clone(), status: record.status })
    } else if record.detached {
        Err(AdmissionError::StillDetached { task: task.clone(), attempt: record.attempt })
    } else {
        Ok(())
    }
}

fn check_resume(attempt: &Attempt, record: Option<&TaskRecord>) -> Result<(), AdmissionError> {
    let Attempt { task, resume, is_coordinated, .. } = attempt;
    match (record.filter(|record| record.status.is_paused()), resume) {
        (None, Some(_)) => {
            Err(AdmissionError::NotPaused { task: task.clone(), status: record.map(|record| record.status) })
        }
        (Some(pause), None) if pause.resume_token().is_some() => {
            Err(AdmissionError::TokenMissing { task: task.clone(), attempt: paused_in(pause) })
        }
        (Some(pause), Some(resume)) if !is_answer(&resume.token, pause) => {
            Err(AdmissionError::TokenMismatch { task: task.clone(), attempt: paused_in(pause) })
        }
        // Only the kind that gave the token knows what it stands for.
        (Some(pause), Some(_)) if pause.agent.is_none() != *is_coordinated => {
            let (attempt, agent) = (paused_in(pause), pause.agent.clone());
            Err(AdmissionError::OtherWorker { task: task.clone(), attempt, agent })
        }
        _ => Ok(()),
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
