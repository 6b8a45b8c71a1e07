//! The tasks of a session: their admission, and what is left of them once their callers have an answer.

use std::sync::Arc;

use convoke_core::{TaskId, TaskReport};

use crate::{
    Admission, AdmissionError, AdmissionOptions, Admitted, Attempt, Reconcile, ReconcileError, Session,
    attempt::AttemptKey, machine::Answer, session::in_log,
};

impl Session {
    /// Admits the next attempt of a task.
    ///
    /// A task that is not known gets attempt 1; one that failed, was blocked or cancelled, or is paused, the next
    /// number, which is never used again. Room for the input is set aside, so that
    /// [`Admission::start`] cannot fail for lack of it; the messages appear when the work starts.
    ///
    /// A paused task that gave a resume token goes on only with that token, at [the same
    /// agent](Admission::required_agent). One that gave none goes on with a plain request, at any agent, or with the
    /// [empty token](convoke_core::ResumeToken::empty), at the same one. The answer to a coordinated task is
    /// [coordinated](Attempt::is_coordinated) too, and that to an agent is not. The token is consumed when the attempt
    /// starts; one that ends before puts the pause back, so that the request can be sent again.
    ///
    /// A task that is completed, timed out or closed is refused; [`admit_with`](Self::admit_with) takes a word about the
    /// first two.
    ///
    /// # Errors
    ///
    /// [`AdmissionError`] says why not and what to do; no record was touched.
    pub fn admit(&self, mut attempt: Attempt) -> Result<Admission, AdmissionError> {
        let opened = self.decide(|machine| machine.admit(&mut attempt)).0?;
        Ok(Admission::new(self.clone(), attempt.task, opened))
    }

    /// Admits the next attempt of a task, or answers with a report where the task is over and the caller says what is to
    /// become of it; all in one step, so that nothing comes in between.
    ///
    /// Where the task is completed, [`IfCompleted`](crate::IfCompleted) decides. Where it timed out or has a [late
    /// report](crate::TaskRecord::late), [`AdmissionOptions::late`] is carried out as by [`reconcile`](Self::reconcile)
    /// before the attempt is admitted: with [`Reconcile::AcceptLate`] there is none, and the late report is the answer.
    /// Elsewhere, and without options, this does what [`admit`](Self::admit) does. A next attempt drops a late report
    /// that nobody has decided about.
    ///
    /// ```
    /// use convoke_core::{AgentId, SessionId, TaskReport, TaskRequest, TaskStatus};
    /// use convoke_session::{AdmissionOptions, Admitted, Attempt, IfCompleted, LateWriteHook, Session};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let session = Session::new(SessionId::new("release-7")?);
    /// let request = TaskRequest::new("write the release notes").with_id("notes");
    /// let task = request.id.clone().ok_or("named above")?;
    ///
    /// let mut admission = session.admit(Attempt::of_request(task.clone(), &request))?;
    /// admission.start(&AgentId::new("writer")?, LateWriteHook::none());
    /// admission.settle(TaskReport::new(task.clone(), session.id().clone(), TaskStatus::Completed))?;
    ///
    /// let again = || Attempt::of_request(task.clone(), &request);
    /// assert!(session.admit(again()).is_err());
    /// let options = AdmissionOptions::default().with_if_completed(IfCompleted::Return);
    /// assert!(matches!(session.admit_with(again(), options)?, Admitted::Recorded(report) if report.attempt == 1));
    /// let options = AdmissionOptions::default().with_if_completed(IfCompleted::Again);
    /// assert!(matches!(session.admit_with(again(), options)?, Admitted::Attempt(next) if next.attempt() == 2));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`AdmissionError`] says why not and what to do; no record was touched, and nothing was decided.
    pub fn admit_with(
        &self,
        mut attempt: Attempt,
        options: AdmissionOptions,
    ) -> Result<Admitted, AdmissionError> {
        let answer = self.decide(|machine| machine.admit_with(&mut attempt, options)).0?;
        Ok(self.admitted(attempt.task, answer))
    }

    /// As [`admit_with`](Self::admit_with), and waits until it is in the log, where the session has one. The plain form
    /// returns before that.
    ///
    /// # Cancel safety
    ///
    /// Dropped after its first poll, it may have admitted the attempt, which ends as that of an [`Admission`] that is
    /// dropped.
    ///
    /// # Errors
    ///
    /// [`AdmissionError`], and [`AdmissionError::Store`] where it is not in the log: there is no attempt.
    pub async fn admit_recorded(
        &self,
        mut attempt: Attempt,
        options: AdmissionOptions,
    ) -> Result<Admitted, AdmissionError> {
        let task = attempt.task.clone();
        let refused = |problem| AdmissionError::Store { task: task.clone(), problem };
        self.sure().await.map_err(refused)?;
        let (answer, recorded) = self.decide(|machine| machine.admit_with(&mut attempt, options));
        // Before the wait, so that an attempt has its owner.
        let admitted = answer.map(|answer| self.admitted(task.clone(), answer));
        in_log(recorded, self).await.map_err(refused)?;
        admitted
    }

    fn admitted(&self, task: TaskId, answer: Answer) -> Admitted {
        match answer {
            Answer::Opened(opened) => Admitted::Attempt(Admission::new(self.clone(), task, opened)),
            Answer::Recorded(report) => Admitted::Recorded(report),
            Answer::Accepted(report) => Admitted::Accepted(report),
        }
    }

    /// Marks the end of work that went on after its attempt was settled as
    /// [detached](convoke_core::TaskReport::detached), so that the id can be admitted again. Gives `false`, and changes
    /// nothing, where no work of exactly this attempt is marked: after the first call or a [`forfeit`](Self::forfeit),
    /// say.
    ///
    /// `late` is how the work ended after all. It is kept in the [record](crate::TaskRecord::late) until somebody
    /// [decides](Self::reconcile) about it or a next attempt is admitted; nothing of it is published before. Its task,
    /// session, attempt and agent are the session's own, and its metadata is that of the report that the attempt had, as
    /// that of the request. One whose status is active is no end and is not kept; nor is
    /// one that [nests too deep](TaskReport::is_too_deep), nor any where the attempt had completed or paused, since its
    /// output is there.
    pub fn detached_ended(&self, task: &TaskId, attempt: u32, late: Option<TaskReport>) -> bool {
        let key = AttemptKey { task: task.clone(), attempt };
        self.decide(|machine| machine.detached_ended(&key, late)).0
    }

    /// Gives up detached work that may never end, so that its id can be used again: its mark goes, and what it gives
    /// late is refused. Gives `false`, and changes nothing, where no work of exactly this attempt is marked.
    pub fn forfeit(&self, task: &TaskId, attempt: u32) -> bool {
        self.detached_ended(task, attempt, None)
    }

    /// Decides what is to become of a task that was given up while its work may have taken effect, and gives the report
    /// that it has then. No work of it may be alive.
    ///
    /// | | of a task that |
    /// |---|---|
    /// | [`Retry`](Reconcile::Retry) | timed out: its next attempt is admitted like that of a failed one |
    /// | [`Abandon`](Reconcile::Abandon) | timed out, failed, was blocked or cancelled, or is paused, which makes it cancelled and its token void: no attempt is ever admitted again |
    /// | [`AcceptLate`](Reconcile::AcceptLate) | has a [late report](crate::TaskRecord::late): that becomes the result, in one commit, and its output is published as a settlement would have; what the attempt had staged before it was given up stays lost |
    ///
    /// ```
    /// use convoke_core::{AgentId, SessionId, TaskId, TaskReport, TaskStatus};
    /// use convoke_session::{Attempt, LateWriteHook, Reconcile, Session};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let session = Session::new(SessionId::new("release-7")?);
    /// let task = TaskId::new("notes")?;
    /// let report = |status| TaskReport::new(task.clone(), session.id().clone(), status);
    ///
    /// let mut admission = session.admit(Attempt::new(task.clone()))?;
    /// admission.start(&AgentId::new("writer")?, LateWriteHook::none());
    /// let mut timed_out = report(TaskStatus::TimedOut);
    /// timed_out.detached = true;
    /// admission.settle(timed_out)?;
    ///
    /// let mut late = report(TaskStatus::Completed);
    /// late.output = Some("14 changes".into());
    /// assert!(session.detached_ended(&task, 1, Some(late)));
    /// assert_eq!((session.activity().late, session.snapshot().messages().len()), (1, 0));
    ///
    /// let accepted = session.reconcile(&task, Reconcile::AcceptLate).await?;
    /// assert_eq!((accepted.status, accepted.text()), (TaskStatus::Completed, "14 changes"));
    /// assert_eq!(session.snapshot().messages().len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`ReconcileError`]: nothing was decided, and a late report is still there.
    pub fn reconcile(
        &self,
        task: &TaskId,
        decision: Reconcile,
    ) -> impl Future<Output = Result<Arc<TaskReport>, ReconcileError>> + Send + use<> {
        let (session, task) = (self.clone(), task.clone());
        async move {
            let refused = |problem| ReconcileError::Store { task: task.clone(), problem };
            session.sure().await.map_err(refused)?;
            let (report, recorded) = session.decide(|machine| machine.reconcile(&task, decision));
            in_log(recorded, &session).await.map_err(refused)?;
            report
        }
    }
}
