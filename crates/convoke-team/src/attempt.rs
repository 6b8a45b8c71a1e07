//! The driver of one attempt: admission, dispatch, settlement. The work in between is in `work`.

use std::sync::Arc;

use convoke_core::{ErrorCode, TaskError, TaskReport, TaskStatus};
use convoke_observability::{drop_isolated, panic_detail};
use convoke_registry::{
    Coordination, CoordinationBody, CoordinationCheck, Lease, Refusal, SlotLease, SlotRequest, TaskDriver,
};
use convoke_session::{Admission, Admitted};

use crate::{
    ending::StopCause,
    execution::Work,
    outcome::Conclusion,
    prepared::{Answer, Coordinated, Prepared},
};

/// What is to be done.
pub(crate) enum Job {
    /// What an agent does.
    Agent,
    /// The body of a coordinated task, once its check has passed.
    Coordinated(Coordination),
}

/// What was waited for.
enum Granted {
    Lease(Lease),
    Slot(SlotLease),
}

impl Prepared {
    /// Runs one attempt to its report: admission, dispatch, work, settlement. `driver` shows how far it is.
    pub(crate) async fn run(mut self: Box<Self>, job: Job, driver: Option<&mut TaskDriver>) -> Answer {
        let body = match job {
            Job::Agent => self.defect().map_or(Ok(None), Err),
            Job::Coordinated(coordination) => self.coordinate(coordination).map(Some),
        };
        let body = match body {
            Ok(body) => body,
            Err(error) => return self.refuse(error),
        };
        let admitted = self.admit();
        if let Ok(Admitted::Attempt(admission)) = admitted {
            return self.dispatch(admission, body, driver).await;
        }
        // The caller's code, as all that is dropped so.
        drop_isolated(body);
        self.not_admitted(admitted)
    }

    /// The body of a coordinated task that nothing speaks against.
    fn coordinate(&mut self, coordination: Coordination) -> Result<CoordinationBody, TaskError> {
        let (check, body, events) = coordination.into_parts();
        self.origin.coordinated = Some(Coordinated { events });
        // What was cancelled before ends so, whatever else is wrong with it.
        let is_cancelled = self.is_stopped() == Some(StopCause::Cancelled);
        let refusal = match (self.defect(), check) {
            (None, Some(check)) if !is_cancelled => passes(check).err(),
            (defect, unasked) => {
                // The caller's code, as the body is.
                drop_isolated(unasked);
                defect
            }
        };
        match refusal {
            None => Ok(body),
            Some(error) => {
                drop_isolated(body);
                Err(error)
            }
        }
    }

    /// Answers where there is no attempt.
    fn not_admitted(self: Box<Self>, admitted: Result<Admitted, TaskError>) -> Answer {
        match admitted {
            // Whoever calls this has taken the attempts out; one that came here would end as given up.
            Ok(Admitted::Attempt(admission)) => {
                self.settle(admission, Conclusion::of_stop(StopCause::Cancelled, "before it was dispatched"))
            }
            Ok(Admitted::Recorded(report)) => self.recorded(report, false),
            Ok(Admitted::Accepted(report)) => self.recorded(report, true),
            Err(error) => self.refuse(error),
        }
    }

    /// Runs one attempt whose lease and slot are granted already: admission, work, settlement.
    pub(crate) async fn run_granted(mut self: Box<Self>, lease: Lease) -> Answer {
        let admitted = self.admit();
        let Ok(Admitted::Attempt(admission)) = admitted else {
            drop_isolated(lease);
            return self.not_admitted(admitted);
        };
        // The pause that it answers came after it had asked for an agent, and was another agent's.
        if admission.required_agent().is_some_and(|agent| agent != *lease.agent()) {
            drop_isolated(lease);
            // Boxed, since it is rare, and would make the future of each task of a batch larger.
            return Box::pin(self.dispatch(admission, None, None)).await;
        }
        self.work(admission, Work::Agent(lease), None).await
    }

    /// Waits for a slot, and for an agent unless there is a body, and works.
    async fn dispatch(
        self: Box<Self>,
        admission: Admission,
        body: Option<CoordinationBody>,
        driver: Option<&mut TaskDriver>,
    ) -> Answer {
        let stopped = self.is_stopped().map(|cause| cause.error("before it was dispatched"));
        let granted = match stopped.or_else(|| self.untold()) {
            Some(error) => Err(error),
            None => self.granted(&admission, body.is_some()).await,
        };
        let work = match (granted, body) {
            (Ok(Granted::Lease(lease)), _) => Work::Agent(lease),
            (Ok(Granted::Slot(slot)), body) => Work::Body(slot, body),
            (Err(error), body) => {
                drop_isolated(body);
                return self.settle(admission, Conclusion::of_error(error));
            }
        };
        self.work(admission, work, driver).await
    }

    /// Waits for what the work needs, or for a stop.
    async fn granted(&self, admission: &Admission, is_body: bool) -> Result<Granted, TaskError> {
        let paused_at = admission.required_agent();
        let granted = async {
            let slots = &self.shared.slots;
            Ok::<_, Refusal>(if is_body {
                let slot = SlotRequest::new(&self.subject.task).awaited_in(self.origin.awaited_in);
                Granted::Slot(slots.acquire_slot(slot).await?)
            } else {
                Granted::Lease(slots.acquire(self.wanted(paused_at.as_ref())).await?)
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
