//! The steps of an attempt that wait for the journal of its session.

use std::sync::Arc;

use convoke_core::{ErrorCode, TaskError, TaskReport};
use convoke_observability::drop_isolated;
use convoke_session::{Admission, Session, SettleProblem};

use super::{Job, Ready, failed};
use crate::{
    answer::Reply,
    outcome::Conclusion,
    prepared::{Coordinated, Prepared},
    settled::Settled,
};

impl Prepared {
    /// As `admitted`, in a session that the journal has.
    pub(super) async fn admitted_recorded(mut self: Box<Self>, job: Job) -> Result<Ready, Settled> {
        // What is refused anyway is no reason to read a log.
        let opened = match self.defect() {
            None => self.opened().await,
            Some(error) => Err(Conclusion::of_refusal(error)),
        };
        let session = match opened {
            Ok(session) => session,
            Err(conclusion) => {
                self.forgo(job);
                return Err(Settled::Now(self.refuse_as(conclusion)));
            }
        };
        let need = match self.need(job) {
            Ok(need) => need,
            Err(error) => return Err(Settled::Now(self.refuse(error))),
        };
        let admitted = self.admit_recorded(&session).await;
        self.ready(admitted, need)
    }

    /// Takes no more of what is not done than where its events go.
    fn forgo(&mut self, job: Job) {
        match job {
            Job::Coordinated(coordination) => {
                let (check, body, events) = coordination.into_parts();
                self.origin.coordinated = Some(Coordinated { events });
                // The caller's code, as all that is dropped so.
                drop_isolated((check, body));
            }
            job => drop_isolated(job),
        }
    }

    /// The session, loaded where it has to be.
    async fn opened(&self) -> Result<Session, Conclusion> {
        let Self { shared, subject, stops, .. } = self;
        let Some(recorded) = &shared.recorded else {
            let error =
                TaskError::new(ErrorCode::StoreFailed, "runtime has no journal; run the task elsewhere");
            return Err(Conclusion::of_refusal(error));
        };
        tokio::select! {
            biased;
            opened = recorded.open(&shared.sessions, &subject.session) => {
                opened.map_err(|error| Conclusion::of_refusal(error.into_task_error()))
            }
            cause = stops.stopped(shared) => Err(Conclusion::of_stop(cause, "while its session was loaded")),
        }
    }

    /// As `commit`, and waits until it is in the log of the session. What the log did not take is reported as failed, and the
    /// session sees to the record.
    pub(super) async fn commit_recorded(
        self: Box<Self>,
        mut admission: Admission,
        report: TaskReport,
    ) -> Option<Reply> {
        let mut settled = admission.settle_recorded(report).await;
        if let Err(refused) = settled {
            settled = match refused.problem() {
                // Its start is not in the log, of which the report speaks already.
                SettleProblem::Ended { .. } => Ok(Arc::new(refused.into_report())),
                SettleProblem::Store { .. } => Ok(Arc::new(failed(refused))),
                _ => admission.settle_recorded(failed(refused)).await,
            };
        }
        let report = settled.unwrap_or_else(|refused| Arc::new(failed(refused)));
        self.finish(report)
    }
}
