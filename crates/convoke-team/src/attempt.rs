//! One attempt from its admission to its answer: admission, dispatch, settlement. The work in between begins in `work`.

mod recorded;

use std::{future::poll_fn, sync::Arc, task::Poll};

use convoke_core::{ErrorCode, TaskError, TaskReport, TaskStatus};
use convoke_observability::{drop_isolated, panic_detail};
use convoke_registry::{
    Coordination, CoordinationBody, CoordinationCheck, Lease, Refusal, SlotLease, SlotRequest,
};
use convoke_session::{Admission, AdmissionOptions, Admitted, IfCompleted, Reconcile, SettleError};

use crate::{
    ending::StopCause,
    execution::Work,
    outcome::Conclusion,
    prepared::{Coordinated, Prepared, wanted},
    settled::Settled,
};

/// What is to be done.
pub(crate) enum Job {
    /// What an agent does.
    Agent,
    /// The same, for which lease and slot are granted already.
    Granted(Lease),
    /// The body of a coordinated task, once its check has passed.
    Coordinated(Coordination),
}

/// What admitted work needs.
enum Need {
    /// An agent and a slot.
    Lease,
    /// A slot.
    Slot(CoordinationBody),
    /// No more than it has.
    Nothing(Lease),
}

/// An attempt that was admitted, and what its work needs.
type Ready = (Box<Prepared>, Admission, Need);

/// What was waited for.
enum Granted {
    Lease(Lease),
    Slot(SlotLease),
}

impl Prepared {
    /// Runs one attempt to its report, and answers with that. It is the end of the task that it runs on.
    pub(crate) async fn run(self: Box<Self>, job: Job) {
        let shared = Arc::clone(&self.shared);
        let admitted = if self.is_in_journal() {
            // Boxed, here and below, so that whoever has no journal carries no room for it.
            Box::pin(self.admitted_recorded(job)).await
        } else {
            self.admitted(job)
        };
        let reply = match admitted {
            Ok((mut prepared, mut admission, need)) => {
                let mut granted = prepared.granted(&admission, need).await;
                if admission.session().is_recorded() {
                    granted = Box::pin(prepared.start_recorded(&mut admission, granted)).await;
                }
                match prepared.begin(admission, granted) {
                    Ok(execution) => execution.run().await,
                    Err(settled) => settled.reply().await,
                }
            }
            Err(settled) => settled.reply().await,
        };
        if let Some(reply) = reply {
            reply.send();
        }
        shared.release();
    }

    /// The attempt, and what its work needs; else the answer.
    fn admitted(mut self: Box<Self>, job: Job) -> Result<Ready, Settled> {
        let need = match self.need(job) {
            Ok(need) => need,
            Err(error) => return Err(Settled::Now(self.refuse(error))),
        };
        let admitted = self.admit();
        self.ready(admitted, need)
    }

    fn ready(self: Box<Self>, admitted: Result<Admitted, TaskError>, need: Need) -> Result<Ready, Settled> {
        match admitted {
            Ok(Admitted::Attempt(admission)) => Ok((self, admission, need)),
            admitted => {
                // The caller's code, as all that is dropped so.
                drop_isolated(need);
                Err(self.not_admitted(admitted))
            }
        }
    }

    /// What the work needs, where nothing speaks against it.
    fn need(&mut self, job: Job) -> Result<Need, TaskError> {
        let (need, check) = match job {
            Job::Agent => (Need::Lease, None),
            Job::Granted(lease) => (Need::Nothing(lease), None),
            Job::Coordinated(coordination) => {
                let (check, body, events) = coordination.into_parts();
                self.origin.coordinated = Some(Coordinated { events });
                (Need::Slot(body), check)
            }
        };
        let refusal = match (self.defect(), check) {
            (None, Some(check)) if !self.is_cancelled() && !self.is_recorded() => passes(check).err(),
            (defect, unasked) => {
                // The caller's code, as the body is.
                drop_isolated(unasked);
                defect
            }
        };
        match refusal {
            None => Ok(need),
            Some(error) => {
                drop_isolated(need);
                Err(error)
            }
        }
    }

    /// Whether it was cancelled before: then it ends so, whatever else is wrong with it.
    fn is_cancelled(&self) -> bool {
        self.is_stopped() == Some(StopCause::Cancelled)
    }

    /// Whether the record of the task is to answer: then nothing runs that could be checked.
    fn is_recorded(&self) -> bool {
        let status = match self.admission {
            AdmissionOptions { late: Some(Reconcile::AcceptLate), .. } => TaskStatus::TimedOut,
            AdmissionOptions { if_completed: IfCompleted::Return, .. } => TaskStatus::Completed,
            _ => return false,
        };
        let session = self.shared.sessions.get(self.subject.session.as_str());
        session.is_some_and(|session| {
            session.snapshot().task(&self.subject.task).is_some_and(|record| record.status == status)
        })
    }

    /// Answers where there is no attempt.
    fn not_admitted(self: Box<Self>, admitted: Result<Admitted, TaskError>) -> Settled {
        Settled::Now(match admitted {
            // Whoever calls this has taken the attempts out; one that came here would end as given up.
            Ok(Admitted::Attempt(admission)) => {
                let conclusion = Conclusion::of_stop(StopCause::Cancelled, "before it was dispatched");
                return self.settle(admission, conclusion);
            }
            Ok(Admitted::Recorded(report)) => self.recorded(report, false),
            Ok(Admitted::Accepted(report)) => self.recorded(report, true),
            Err(error) => self.refuse(error),
        })
    }

    /// Waits for what the work needs, or for a stop.
    async fn granted(&mut self, admission: &Admission, need: Need) -> Result<Work, TaskError> {
        let paused_at = admission.required_agent();
        let body = match need {
            // The pause that it answers may have come after it had asked for an agent, and be another agent's.
            Need::Nothing(lease) if paused_at.as_ref().is_some_and(|agent| agent != lease.agent()) => {
                drop_isolated(lease);
                None
            }
            Need::Nothing(lease) => return Ok(Work::Agent(lease)),
            Need::Lease => None,
            Need::Slot(body) => Some(body),
        };
        let stopped = self.is_stopped().map(|cause| cause.error("before it was dispatched"));
        if let Some(error) = stopped.or_else(|| self.untold()) {
            drop_isolated(body);
            return Err(error);
        }
        let Self { shared, request, origin, subject, stops, asker, .. } = self;
        let (slots, is_body) = (&shared.slots, body.is_some());
        let granted = async {
            Ok::<_, Refusal>(if is_body {
                let slot = SlotRequest::new(&subject.task).awaited_in(origin.awaited_in);
                Granted::Slot(slots.acquire_slot(slot).await?)
            } else {
                let wanted = wanted(request, &subject.task, origin, paused_at.as_ref());
                Granted::Lease(slots.acquire(wanted).await?)
            })
        };
        let gone = poll_fn(|cx| asker.as_mut().map_or(Poll::Pending, |asker| asker.poll_gone(cx)));
        let while_waiting = "while it waited for an agent";
        let granted = tokio::select! {
            biased;
            // First, since most need not wait; a stop that it crosses is seen before anything is started.
            granted = granted => granted.map_err(TaskError::from),
            () = gone => Err(StopCause::Cancelled.error(while_waiting)),
            cause = stops.stopped(shared) => Err(cause.error(while_waiting)),
        };
        match granted {
            Ok(Granted::Lease(lease)) => Ok(Work::Agent(lease)),
            Ok(Granted::Slot(slot)) => Ok(Work::Body(slot, body)),
            Err(error) => {
                drop_isolated(body);
                Err(error)
            }
        }
    }

    pub(crate) fn settle(mut self: Box<Self>, admission: Admission, conclusion: Conclusion) -> Settled {
        let timing = self.waited();
        let report = self.report(conclusion, timing);
        self.commit(admission, report)
    }

    /// The one commit of the attempt. What the session refuses is reported as failed, with the output kept in the report.
    pub(crate) fn commit(self: Box<Self>, mut admission: Admission, report: TaskReport) -> Settled {
        if admission.session().is_recorded() {
            return Settled::Later(Box::pin(self.commit_recorded(admission, report)));
        }
        let settled = admission.settle(report).or_else(|refused| admission.settle(failed(refused)));
        Settled::Now(match settled {
            Ok(report) => self.finish(report),
            // The session refuses a failed report only where the attempt is not its task's latest, which this one is.
            Err(refused) => self.finish(Arc::new(refused.into_report())),
        })
    }
}

/// The report of an attempt whose settlement was refused.
fn failed(refused: SettleError) -> TaskReport {
    let error = refused.to_task_error();
    let mut failed = refused.into_report();
    failed.status = TaskStatus::Failed;
    failed.pause = None;
    failed.error = Some(error);
    failed
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
