//! Settlement: one commit that ends an attempt.

use std::{collections::BTreeSet, sync::Arc};

use convoke_core::{
    AgentId, Artifact, AttemptPart, Message, MessageId, TaskId, TaskOutput, TaskReport, TaskStatus,
};

use super::{
    Machine,
    ahead::Redo,
    change::Edit,
    open::{OpenAttempt, Phase, Working, staged_message_id},
};
use crate::{Author, SessionArtifact, SessionError, SessionUsage, SettleProblem, attempt::AttemptKey};

/// What the output of a report publishes, copied before the lock is taken.
#[derive(Debug)]
pub(crate) struct Publication {
    answer: Option<Message>,
    further: Option<Box<Further>>,
}

/// What is published beside the answer; most outputs have nothing of it.
#[derive(Debug)]
struct Further {
    messages: Vec<Message>,
    artifacts: Vec<Artifact>,
}

impl Publication {
    pub(crate) fn of(report: &TaskReport) -> Self {
        let output = report.output.as_ref().filter(|_| publishes(report.status));
        Self { answer: output.and_then(answer), further: output.and_then(further) }
    }

    fn messages(&self) -> impl Iterator<Item = &Message> {
        let further = self.further.as_ref().map_or(&[][..], |further| &further.messages);
        self.answer.iter().chain(further)
    }

    fn artifacts(&self) -> &[Artifact] {
        self.further.as_ref().map_or(&[], |further| &further.artifacts)
    }

    fn is_empty(&self) -> bool {
        self.answer.is_none() && self.further.is_none()
    }
}

/// Whether an attempt that ends so has its output in the session.
pub(super) fn publishes(status: TaskStatus) -> bool {
    matches!(status, TaskStatus::Completed | TaskStatus::InputRequired)
}

/// The output message; an empty text without data leaves none.
fn answer(output: &TaskOutput) -> Option<Message> {
    if output.text.is_empty() && output.data.is_none() {
        return None;
    }
    let mut message = Message::agent(output.text.clone());
    message.data.clone_from(&output.data);
    Some(message)
}

fn further(output: &TaskOutput) -> Option<Box<Further>> {
    let TaskOutput { messages, artifacts, .. } = output;
    let is_empty = messages.is_empty() && artifacts.is_empty();
    (!is_empty).then(|| Box::new(Further { messages: messages.clone(), artifacts: artifacts.clone() }))
}

impl Machine {
    /// Whoever has the attempt is named in `report`.
    /// `publication` is none where the report nests too deep.
    pub(crate) fn settle(
        &mut self,
        key: &AttemptKey,
        report: &Arc<TaskReport>,
        publication: Option<Publication>,
    ) -> Result<(), SettleProblem> {
        let AttemptKey { task, attempt } = key;
        let attempt = *attempt;
        let status = report.status;
        let Some(open) = self.open_attempt(key) else {
            return Err(SettleProblem::Ended { task: task.clone(), attempt });
        };
        let from = open.status();
        // A settlement is an end, so a waiting attempt does not start by one.
        if status.is_active() || !from.can_become(status) {
            return Err(SettleProblem::Transition { task: task.clone(), attempt, from, to: status });
        }
        let Some(publication) = publication else {
            return Err(SettleProblem::TooDeep { task: task.clone(), attempt });
        };
        if let Err(problem) = self.check_open() {
            self.revoke(task);
            self.put_off(Redo::End(key.clone(), Arc::clone(report)));
            return Err(SettleProblem::Store { task: task.clone(), attempt, problem });
        }
        let has_output =
            |working: &Working| publishes(status) && !(working.is_empty() && publication.is_empty());
        if let Phase::Working(working) = &open.phase
            && has_output(working)
        {
            self.check_output(key, open.reserved, working, &publication)?;
        }
        let Some(phase) = self.revoke(task) else {
            return Err(SettleProblem::Ended { task: task.clone(), attempt });
        };

        let mut edit = self.commit();
        edit.redo(|| Redo::End(key.clone(), Arc::clone(report)));
        let mut staged = 0;
        match phase {
            Phase::Waiting(_) => {
                if edit.restore_pause(task) {
                    return Ok(());
                }
            }
            Phase::Working(working) => {
                staged = working.messages.len();
                if has_output(&working) {
                    publish(&mut edit, key, report.agent.as_ref(), working, publication, staged);
                }
            }
        }
        edit.change_task(task, |record| {
            record.status = status;
            record.detached = report.detached;
            record.report = Some(Arc::clone(report));
            record.staged = staged;
        });
        Ok(())
    }

    /// Takes the attempt out, which revokes its handles.
    fn revoke(&mut self, task: &TaskId) -> Option<Phase> {
        let OpenAttempt { reserved, phase, .. } = self.open.remove(task)?;
        self.reserved = self.reserved.minus(reserved);
        Some(phase)
    }

    /// Whether staged and returned output can be published together.
    pub(super) fn check_output(
        &self,
        key: &AttemptKey,
        reserved: SessionUsage,
        working: &Working,
        publication: &Publication,
    ) -> Result<(), SettleProblem> {
        let AttemptKey { task, attempt } = key;
        let (mut freed, mut needed) = (reserved, SessionUsage::default());
        let does_not_fit =
            |problem: SessionError| SettleProblem::Output { task: task.clone(), attempt: *attempt, problem };

        let mut ids = BTreeSet::new();
        for artifact in working.artifacts.iter().chain(publication.artifacts()) {
            if !ids.insert(&artifact.id) {
                let artifact = artifact.id.clone();
                return Err(SettleProblem::RepeatedArtifact {
                    task: task.clone(),
                    attempt: *attempt,
                    artifact,
                });
            }
            let size = self.check_artifact(artifact).map_err(does_not_fit)?;
            freed = freed.plus(self.artifact_usage(task, artifact));
            needed = needed.plus(SessionUsage::artifact(size));
        }
        let staged = working.messages.iter().map(|(_, message)| message);
        for message in staged.chain(publication.messages()) {
            let size = self.check_message(message).map_err(does_not_fit)?;
            needed = needed.plus(SessionUsage::message(size));
        }
        self.check_room(freed, needed).map_err(does_not_fit)
    }
}

/// In the order in which it entered: what was staged during the work, then the answer, then what came with it, numbered
/// after the `staged` messages that have their ids already. Without an `agent` it is the team's.
pub(super) fn publish(
    edit: &mut Edit<'_>,
    key: &AttemptKey,
    agent: Option<&AgentId>,
    working: Working,
    publication: Publication,
    staged: usize,
) {
    let AttemptKey { task, attempt } = key;
    let Working { messages, mut artifacts } = working;
    let author = || agent.cloned().map_or(Author::Team, Author::Agent);
    for (id, message) in messages {
        edit.push_message(id, author(), message);
    }
    if let Some(answer) = publication.answer {
        let id = MessageId::of_attempt(task, *attempt, AttemptPart::Output(0));
        edit.push_message(id, author(), answer);
    }
    if let Some(further) = publication.further {
        for (index, message) in further.messages.into_iter().enumerate() {
            let id = staged_message_id(task, *attempt, staged + index);
            edit.push_message(id, author(), message);
        }
        artifacts.extend(further.artifacts);
    }
    for artifact in artifacts {
        let (task, agent) = (task.clone(), agent.cloned());
        edit.put_artifact(SessionArtifact { task, attempt: *attempt, agent, artifact });
    }
}
