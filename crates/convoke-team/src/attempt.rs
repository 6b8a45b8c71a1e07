//! The driver of one attempt: admission, dispatch, settlement. The work in between is in `work`.

use std::sync::Arc;

use convoke_core::{ErrorCode, TaskError, TaskReport, TaskStatus};
use convoke_observability::panic_detail;
use convoke_registry::{CoordinationBody, CoordinationCheck, Lease, Refusal, SlotRequest, TaskDriver};
use convoke_session::{Admission, Admitted};

use crate::{
    execution::Work,
    outcome::Conclusion,
    prepared::{Answer, Prepared},
};

/// What is to be done.
pub(crate) enum Job {
    /// What an agent does.
    Agent,
    /// The body of a coordinated task, once its check has passed.
    Coordinated(CoordinationCheck, CoordinationBody),
}

impl Prepared {
    /// Runs one attempt to its report: admission, dispatch, work, settlement. `driver` shows how far it is.
    pub(crate) async fn run(mut self: Box<Self>, job: Job, driver: Option<&mut TaskDriver>) -> Answer {
        if let Some(error) = self.defect() {
            return self.refuse(error);
        }
        let body = match job {
            Job::Agent => None,
            Job::Coordinated(check, body) => match passes(check) {
                Ok(()) => Some(body),
                Err(error) => return self.refuse(error),
            },
        };
        match self.admit() {
            Ok(Admitted::Attempt(admission)) => self.dispatch(admission, body, driver).await,
            Ok(Admitted::Recorded(report)) => self.recorded(report, false),
            Ok(Admitted::Accepted(report)) => self.recorded(report, true),
            Err(error) => self.refuse(error),
        }
    }

    /// Runs one attempt whose lease and slot are granted already: admission, work, settlement.
    pub(crate) async fn run_granted(mut self: Box<Self>, lease: Lease) -> Answer {
        match self.admit() {
            // The pause that it answers came after it had asked for an agent, and was another agent's.
            Ok(Admitted::Attempt(admission))
                if admission.required_agent().is_some_and(|agent| agent != *lease.agent()) =>
            {
                drop(lease);
                // Boxed, since it is rare, and would make the future of each task of a batch larger.
                Box::pin(self.dispatch(admission, None, None)).await
            }
            Ok(Admitted::Attempt(admission)) => self.work(admission, Work::Agent(lease), None).await,
            Ok(Admitted::Recorded(report)) => {
                drop(lease);
                self.recorded(report, false)
            }
            Ok(Admitted::Accepted(report)) => {
                drop(lease);
                self.recorded(report, true)
            }
            Err(error) => {
                drop(lease);
                self.refuse(error)
            }
        }
    }

    /// Waits for a slot, and for an agent unless there is a body, and works.
    async fn dispatch(
        self: Box<Self>,
        admission: Admission,
        body: Option<CoordinationBody>,
        driver: Option<&mut TaskDriver>,
    ) -> Answer {
        if let Some(cause) = self.is_stopped() {
            return self.settle(admission, Conclusion::of_stop(cause, "before it was dispatched"));
        }
        if let Some(error) = self.untold() {
            return self.settle(admission, Conclusion::of_error(error));
        }
        match self.granted(&admission, body).await {
            Ok(work) => self.work(admission, work, driver).await,
            Err(error) => self.settle(admission, Conclusion::of_error(error)),
        }
    }

    /// Waits for what the work needs, or for a stop.
    async fn granted(
        &self,
        admission: &Admission,
        body: Option<CoordinationBody>,
    ) -> Result<Work, TaskError> {
        let paused_at = admission.required_agent();
        let granted = async {
            let slots = &self.shared.slots;
            Ok::<_, Refusal>(match body {
                None => Work::Agent(slots.acquire(self.wanted(paused_at.as_ref())).await?),
                Some(body) => {
                    let slot = SlotRequest::new(&self.subject.task).awaited_in(self.origin.awaited_in);
                    Work::Body(slots.acquire_slot(slot).await?, Some(body))
                }
            })
        };
        tokio::select! {
            biased;
            // First, since most need not wait; a stop that it crosses is seen before anything is started.
            granted = granted => granted.map_err(TaskError::from),
            cause = self.stopped() => Err(cause.error("while it waited for an agent")),
        }
    }

    pub(crate) fn settle(mut self: Box<Self>, admission: Admission, conclusion: Conclusion) -> Answer {
        let timing = self.waited();
        let report = self.report(conclusion, timing);
        self.commit(admission, report)
    }

    /// The one commit of the attempt. What the session refuses is reported as failed, with the output kept in the report.
    pub(crate) fn commit(self: Box<Self>, mut admission: Admission, report: TaskReport) -> Answer {
        let settled = admission.settle(report).or_else(|refused| {
            let error = refused.to_task_error();
            let mut failed = refused.into_report();
            failed.status = TaskStatus::Failed;
            failed.pause = None;
            failed.error = Some(error);
            admission.settle(failed)
        });
        match settled {
            Ok(report) => self.finish(report),
            // The session refuses a failed report only where the attempt is not its task's latest, which this one is.
            Err(refused) => self.finish(Arc::new(refused.into_report())),
        }
    }
}

/// Calls the check of a coordinated task, which is its caller's code.
fn passes(check: CoordinationCheck) -> Result<(), TaskError> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(check)).unwrap_or_else(|payload| {
        let error = TaskError::new(ErrorCode::ExecutorPanicked, "check of the coordinated task panicked");
        Err(match panic_detail(payload) {
            Some(text) => error.with_detail(text),
            None => error,
        })
    })
}
