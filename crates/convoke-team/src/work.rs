//! The beginning of the work of one attempt: what is told, what the work is given, and what it hands down.

use std::sync::Arc;

use tracing::field::display;

use convoke_core::{Lineage, Scope, TaskError, TaskStatus};
use convoke_observability::drop_isolated;
use convoke_registry::{LeaseMark, RunningTask};
use convoke_session::{Admission, LateWriteHook, Session, SessionHandle};

use crate::{
    TeamEventKind,
    answer::Asker,
    begun::{Begun, Given},
    caller::TaskSpan,
    execution::{Execution, Work},
    outcome::Conclusion,
    prepared::Prepared,
    settled::Settled,
};

impl Prepared {
    /// The work, begun; the answer where it may not begin.
    pub(crate) fn begin(
        mut self: Box<Self>,
        mut admission: Admission,
        granted: Result<Work, TaskError>,
    ) -> Result<Execution, Settled> {
        let started = granted.and_then(|work| match self.start(&mut admission, &work) {
            Ok(handle) => Ok((work, handle)),
            Err(error) => {
                // It may hold the last copy of the host's executor, or its body.
                drop_isolated(work);
                Err(error)
            }
        });
        let (work, handle) = match started {
            Ok(started) => started,
            Err(error) => return Err(self.settle(admission, Conclusion::of_error(error))),
        };
        let mark = work.mark();
        let scope = self.scope(&mark);
        let previous = admission.previous();
        let progress = self.asker.as_mut().and_then(Asker::progress);
        let given = Given { handle, previous, progress };
        Ok(Execution::new(work, Begun::new(admission, self, mark, scope, given)))
    }

    /// Starts the attempt in a session with a log before its work begins; where that may not, nothing was started.
    pub(crate) async fn start_recorded(
        &mut self,
        admission: &mut Admission,
        granted: Result<Work, TaskError>,
    ) -> Result<Work, TaskError> {
        let work = granted?;
        let started = match self.select(&work) {
            Ok(()) => admission.start_recorded(work.agent(), LateWriteHook::none()).await.map(drop),
            Err(error) => {
                drop_isolated(work);
                return Err(error);
            }
        };
        match started {
            Ok(()) => Ok(work),
            Err(error) => {
                drop_isolated(work);
                Err(error.to_task_error())
            }
        }
    }

    /// Says who has the attempt, once.
    fn select(&mut self, work: &Work) -> Result<(), TaskError> {
        if self.is_selected {
            return Ok(());
        }
        // The grant may have crossed a stop.
        if let Some(cause) = self.is_stopped() {
            return Err(cause.error("before it was started"));
        }
        if let Some(agent) = work.agent() {
            self.subject.span.record("agent", display(agent));
            self.subject.agent = Some(agent.clone());
        }
        self.tell(TeamEventKind::Selected, TaskStatus::Submitted, None);
        // Before the start, which would use up the pause that a request answers.
        self.untold().map_or(Ok(()), Err)?;
        self.is_selected = true;
        Ok(())
    }

    /// Says that the work begins; where it may not, nothing was started.
    fn start(&mut self, admission: &mut Admission, work: &Work) -> Result<SessionHandle, TaskError> {
        self.select(work)?;
        let late = self.late_writes(admission.session());
        let handle = match work.agent() {
            Some(agent) => admission.start(agent, late),
            None => admission.start_coordinated(late),
        };
        if let Some(asker) = &self.asker {
            asker.works();
        }
        self.tell(TeamEventKind::Started, TaskStatus::Working, None);
        self.untold().map_or(Ok(handle), Err)
    }

    /// What the work inherits, and hands down.
    fn scope(&mut self, mark: &LeaseMark) -> Scope {
        let Self { subject, shared, .. } = &*self;
        let mut entry = Lineage::new(subject.session.clone(), subject.task.clone(), subject.attempt);
        entry.agent.clone_from(&subject.agent);
        let (deadline, trace_id) = (self.stops.deadline, subject.trace_id.clone());
        let running = RunningTask::new(&shared.slots, mark);
        // Its token is its own, signalled by the watch and at the end alone: a stop is told only once its cause is known.
        let parent = self.origin.caller.scope();
        let scope = Scope::of_attempt(parent, entry, deadline, self.budget.take(), trace_id);
        let scope = scope.with_extension(running);
        if self.subject.span.is_none() {
            scope
        } else {
            scope.with_extension(TaskSpan(self.subject.span.clone()))
        }
    }

    fn late_writes(&self, session: &Session) -> LateWriteHook {
        if !self.shared.telemetry.is_on() {
            return LateWriteHook::none();
        }
        let (shared, subject, started) =
            (Arc::clone(&self.shared), self.subject.clone(), self.origin.started);
        let session = session.clone();
        LateWriteHook::new(move |write| {
            let Some(status) = session.snapshot().task(&write.task).map(|record| record.status) else {
                return;
            };
            shared.telemetry.tell(TeamEventKind::LateWriteRefused, &subject, status, None, started.elapsed());
        })
    }
}
