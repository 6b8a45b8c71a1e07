//! The contract of what turns results into a verdict.

use std::{borrow::Cow, collections::BTreeSet, fmt, sync::Arc};

use futures_util::future::BoxFuture;

use convoke_core::{AgentId, ExecutorError, Metadata, Scope, TaskId, TaskOutput, TaskRequest};
use convoke_registry::TeamHandle;
use convoke_session::SessionSnapshot;
use serde_json::Value;

use crate::{Counting, Results};

/// Turns what the participants answered into a verdict.
///
/// ```
/// use convoke_consensus::{Resolver, ResolverContext, Results, Verdict};
/// use convoke_core::ExecutorError;
///
/// /// The longest answer wins, of several that are as long the first by agent.
/// struct Longest;
///
/// impl Resolver for Longest {
///     async fn resolve(&self, results: Results, _ctx: ResolverContext) -> Result<Verdict, ExecutorError> {
///         let longest = results.successes().max_by_key(|(agent, output)| (output.text.len(), std::cmp::Reverse(*agent)));
///         Ok(match longest {
///             Some((agent, output)) => Verdict::agreed(output.text.as_str()).by([agent.clone()]),
///             None => Verdict::not_reached("nobody answered"),
///         })
///     }
/// }
/// ```
///
/// # Contract
///
/// - [`resolve`](Self::resolve) is called at most once for a consensus, when each participant has ended and enough of them
///   succeeded; it is given all of them, failures included, by id. The same results must give the same verdict.
/// - Where [`counting`](Self::counting) is given, votes are counted by that and by the rules of the request alone, and
///   `resolve` is not called: it is there for whoever resolves results by hand, and must give what the count gives.
/// - A verdict rests on participants that succeeded; where all failed there is none.
/// - What it asks the team for is nested in the consensus, and ends with it.
///
/// # Cancel safety
///
/// The future is dropped at an await point when the consensus is stopped.
///
/// # Errors
///
/// The consensus fails with the error's code, `execution_failed` as a rule, and can be tried again under its id. Where the
/// deadline has stopped what it asked the team for, and it says so ([`ExecutorError::cancelled`], or the
/// [`NotCompleted`](convoke_core::NotCompleted) of that by `?`), the consensus has timed out. The text is private to the caller, unless it was [declared public](ExecutorError::with_public).
///
/// # Panics
///
/// Taken as errors.
pub trait Resolver: Send + Sync + 'static {
    /// The verdict on all results.
    fn resolve(
        &self,
        results: Results,
        ctx: ResolverContext,
    ) -> impl Future<Output = Result<Verdict, ExecutorError>> + Send;

    /// How votes are counted, where this is a count; `None`, the default, where it decides by a rule of its own. Only what is
    /// counted can be decided early.
    fn counting(&self) -> Option<Counting> {
        None
    }

    /// Looks at the participants, and at the team where it asks that for more, before anything runs; the text says what to mend.
    /// Nothing to say by default.
    ///
    /// # Errors
    ///
    /// The consensus is refused with `invalid_request` and this text, which every observer may read.
    fn check(&self, participants: &[AgentId], team: &TeamHandle) -> Result<(), Cow<'static, str>> {
        let _ = (participants, team);
        Ok(())
    }
}

/// What a resolver decides.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    pub(crate) output: Result<TaskOutput, Cow<'static, str>>,
    pub(crate) voters: BTreeSet<AgentId>,
    pub(crate) spoilt: BTreeSet<AgentId>,
    pub(crate) notes: Metadata,
}

impl Verdict {
    fn new(output: Result<TaskOutput, Cow<'static, str>>) -> Self {
        Self { output, voters: BTreeSet::new(), spoilt: BTreeSet::new(), notes: Metadata::new() }
    }

    /// The participants agree on this.
    pub fn agreed(output: impl Into<TaskOutput>) -> Self {
        Self::new(Ok(output.into()))
    }

    /// They do not agree. Every observer may read the reason, of which 1,000 bytes are told: it says why, and nothing of what was
    /// answered.
    pub fn not_reached(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Err(reason.into()))
    }

    /// Says whose answers hold no vote, although they succeeded.
    #[must_use]
    pub fn with_spoilt(mut self, spoilt: impl IntoIterator<Item = AgentId>) -> Self {
        self.spoilt = spoilt.into_iter().collect();
        self
    }

    /// Says on whose answers it rests; one that did not succeed makes it a `contract_violation`.
    #[must_use]
    pub fn by(mut self, voters: impl IntoIterator<Item = AgentId>) -> Self {
        self.voters = voters.into_iter().collect();
        self
    }

    /// Adds a value to [`notes`](crate::ConsensusSummary::notes) of the summary, whether the consensus is reached or not.
    #[must_use]
    pub fn with_note(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.notes.insert(key.into(), value.into());
        self
    }

    /// What was agreed on; `None` where nothing was.
    pub fn output(&self) -> Option<&TaskOutput> {
        self.output.as_ref().ok()
    }

    /// Why nothing was agreed on.
    pub fn reason(&self) -> Option<&str> {
        self.output.as_ref().err().map(|reason| &**reason)
    }

    /// On whose answers it rests.
    pub fn voters(&self) -> &BTreeSet<AgentId> {
        &self.voters
    }

    /// Whose answers hold no vote.
    pub fn spoilt(&self) -> &BTreeSet<AgentId> {
        &self.spoilt
    }

    /// What the resolver noted.
    pub fn notes(&self) -> &Metadata {
        &self.notes
    }
}

/// What a resolver is given beside the results.
#[derive(Clone, Debug)]
pub struct ResolverContext {
    request: Arc<TaskRequest>,
    consensus: TaskId,
    round: u32,
    snapshot: SessionSnapshot,
    team: TeamHandle,
    scope: Scope,
}

impl ResolverContext {
    /// A context for round `round` of the task `consensus`, which asks `request`; for the tests of a resolver with
    /// [`TeamHandle::closed`] and [`Scope::root`].
    pub fn new(
        request: impl Into<Arc<TaskRequest>>,
        consensus: TaskId,
        round: u32,
        snapshot: SessionSnapshot,
        team: TeamHandle,
        scope: Scope,
    ) -> Self {
        Self { request: request.into(), consensus, round, snapshot, team, scope }
    }

    /// What the participants were asked.
    pub fn request(&self) -> &TaskRequest {
        &self.request
    }

    /// The task that the consensus is.
    pub fn consensus(&self) -> &TaskId {
        &self.consensus
    }

    /// Which call of that this is, from 1: the attempt of the task.
    pub fn round(&self) -> u32 {
        self.round
    }

    /// The session, with all that the participants left in it.
    pub fn snapshot(&self) -> &SessionSnapshot {
        &self.snapshot
    }

    /// The door to nested work.
    pub fn team(&self) -> &TeamHandle {
        &self.team
    }

    /// When the resolver must stop, and what it may spend.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }
}

/// Any resolver as one type, for choices that are made at run time. Cloning it is cheap.
#[derive(Clone)]
pub struct AnyResolver(Arc<dyn ErasedResolver>);

impl AnyResolver {
    /// Erases the type of `resolver`.
    pub fn new(resolver: impl Resolver) -> Self {
        Self(Arc::new(resolver))
    }
}

impl Resolver for AnyResolver {
    fn resolve(
        &self,
        results: Results,
        ctx: ResolverContext,
    ) -> impl Future<Output = Result<Verdict, ExecutorError>> + Send {
        self.0.resolve_boxed(results, ctx)
    }

    fn counting(&self) -> Option<Counting> {
        self.0.counting_erased()
    }

    fn check(&self, participants: &[AgentId], team: &TeamHandle) -> Result<(), Cow<'static, str>> {
        self.0.check_erased(participants, team)
    }
}

impl fmt::Debug for AnyResolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnyResolver").finish_non_exhaustive()
    }
}

/// The boxed twin of [`Resolver`].
trait ErasedResolver: Send + Sync + 'static {
    fn resolve_boxed(
        &self,
        results: Results,
        ctx: ResolverContext,
    ) -> BoxFuture<'_, Result<Verdict, ExecutorError>>;

    fn counting_erased(&self) -> Option<Counting>;

    fn check_erased(&self, participants: &[AgentId], team: &TeamHandle) -> Result<(), Cow<'static, str>>;
}

impl<R: Resolver> ErasedResolver for R {
    fn resolve_boxed(
        &self,
        results: Results,
        ctx: ResolverContext,
    ) -> BoxFuture<'_, Result<Verdict, ExecutorError>> {
        Box::pin(self.resolve(results, ctx))
    }

    fn counting_erased(&self) -> Option<Counting> {
        self.counting()
    }

    fn check_erased(&self, participants: &[AgentId], team: &TeamHandle) -> Result<(), Cow<'static, str>> {
        self.check(participants, team)
    }
}
