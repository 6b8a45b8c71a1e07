//! What an admission does where a task is over already, and what is decided about work that was given up.

/// What becomes of a request whose task is completed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum IfCompleted {
    /// It is refused.
    #[default]
    Refuse,
    /// It gets the recorded report, and nothing is done again, where it asks for the same work: where its
    /// [digest](crate::Attempt::digest) is that of the completed attempt. Any other is refused.
    ///
    /// An id is a name within its session: a request that names no session is run in a new one each time, where its id
    /// guards nothing. A runtime refuses such a request.
    Return,
    /// It gets the next attempt.
    Again,
}

/// What is to become of a task that was given up while its work may have taken effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reconcile {
    /// A task that timed out may have a next attempt. What came late is dropped.
    Retry,
    /// The task is closed for good: it never has another attempt. What came late is dropped; a pause ends as cancelled.
    Abandon,
    /// What came late becomes the result, as if it had come in time.
    AcceptLate,
}

/// How [`Session::admit_with`](crate::Session::admit_with) treats a task that is over.
///
/// ```
/// use convoke_session::{AdmissionOptions, IfCompleted, Reconcile};
///
/// let options = AdmissionOptions::default().with_if_completed(IfCompleted::Return).with_late(Reconcile::Retry);
/// assert_eq!(options.late, Some(Reconcile::Retry));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AdmissionOptions {
    /// Where the task is completed; refused unless set.
    pub if_completed: IfCompleted,
    /// Where the task timed out or has a late report: what is decided about that in the same step; nothing unless set.
    /// [`Reconcile::Abandon`] is refused, since it leaves nothing to admit.
    pub late: Option<Reconcile>,
}

impl AdmissionOptions {
    /// Says what becomes of the request where the task is completed.
    #[must_use]
    pub fn with_if_completed(mut self, if_completed: IfCompleted) -> Self {
        self.if_completed = if_completed;
        self
    }

    /// Decides about late work in the same step.
    #[must_use]
    pub fn with_late(mut self, late: Reconcile) -> Self {
        self.late = Some(late);
        self
    }
}
