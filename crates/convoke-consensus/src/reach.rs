//! Asking for a consensus.

use std::sync::Arc;

use futures_util::{FutureExt as _, future::BoxFuture};

use convoke_core::TaskError;
use convoke_registry::{Coordination, RunOptions, TeamError, TeamHandle};

use crate::{
    ConsensusReport, ConsensusRequest,
    deliberation::Deliberation,
    eligible::eligible,
    event::{Eligible, Events},
    summary::Told,
};

/// Asks the participants of `request`, and answers with their verdict, or with why there is none.
///
/// The consensus is a task of `team`: it has a session, a record and a deadline, may be called again under its id when it
/// failed, and ends in one commit. The same call serves a host and an agent.
///
/// # Cancel safety
///
/// Dropping the future after its first poll cancels the consensus and all that it asked for.
///
/// # Errors
///
/// As [`TeamHandle::run`]. That there is no verdict is no error: it is in the report.
pub fn reach_consensus(
    team: &TeamHandle,
    request: ConsensusRequest,
) -> impl Future<Output = Result<ConsensusReport, TeamError>> + Send + use<> {
    reach_consensus_with(team, request, RunOptions::new())
}

/// The field of the metadata that tells two consensuses on one task apart.
const RULES: &str = "consensus_rules";

/// As [`reach_consensus`], with a token, a deadline or a budget, or a word about what ran under the id before.
/// [`IfCompleted::Return`](convoke_session::IfCompleted::Return) gives the recorded verdict where task, participants, agreement, basis
/// and minimum are the same; the resolver is not compared.
///
/// # Cancel safety
///
/// As [`reach_consensus`].
///
/// # Errors
///
/// As [`reach_consensus`].
pub fn reach_consensus_with(
    team: &TeamHandle,
    request: ConsensusRequest,
    options: RunOptions,
) -> impl Future<Output = Result<ConsensusReport, TeamError>> + Send + use<> {
    let asked = Eligible::default();
    let events = Events { observer: request.observer.clone(), eligible: Arc::clone(&asked) };
    let mut task = request.task.clone();
    // Without an id nobody can ask for it again.
    if task.id.is_some() {
        task = task.with_metadata(RULES, request.digested());
    }
    let request = Arc::new(request);
    let (finders, found, checked) = (team.clone(), Arc::clone(&asked), Arc::clone(&request));
    let check = move || {
        let participants = eligible(&checked, &finders)?;
        // Set once: a check is called once.
        let _ = found.set(participants);
        Ok::<_, TaskError>(())
    };
    let told = Told::default();
    let heard = Arc::clone(&told);
    let coordination = Coordination::new(move |ctx| async move {
        let participants = match asked.get() {
            Some(participants) => participants.clone(),
            // Unchecked, where the record was to answer and then could not.
            None => eligible(&request, ctx.team())?,
        };
        Deliberation::new(ctx, request, told).run(participants).await
    });
    team.coordinate(task, options, coordination.with_check(check).with_events(events))
        .map(move |answer| Ok(ConsensusReport::with_summary(answer?, heard.lock().take())))
}

/// Consensus as a method of a team's handle. Nobody else implements it.
///
/// ```
/// use convoke_consensus::{ConsensusRequest, ReachConsensus as _};
/// use convoke_core::TaskRequest;
/// use convoke_registry::{TeamError, TeamHandle};
///
/// # async fn ask(team: TeamHandle) -> Result<(), TeamError> {
/// let request = ConsensusRequest::new(TaskRequest::new("Ship 1.4?").requiring("review"));
/// let report = team.reach_consensus(request).await?;
/// println!("{report}");
/// # Ok(())
/// # }
/// ```
pub trait ReachConsensus {
    /// As [`reach_consensus`].
    fn reach_consensus(
        &self,
        request: ConsensusRequest,
    ) -> BoxFuture<'static, Result<ConsensusReport, TeamError>>;

    /// As [`reach_consensus_with`].
    fn reach_consensus_with(
        &self,
        request: ConsensusRequest,
        options: RunOptions,
    ) -> BoxFuture<'static, Result<ConsensusReport, TeamError>>;
}

impl ReachConsensus for TeamHandle {
    fn reach_consensus(
        &self,
        request: ConsensusRequest,
    ) -> BoxFuture<'static, Result<ConsensusReport, TeamError>> {
        reach_consensus(self, request).boxed()
    }

    fn reach_consensus_with(
        &self,
        request: ConsensusRequest,
        options: RunOptions,
    ) -> BoxFuture<'static, Result<ConsensusReport, TeamError>> {
        reach_consensus_with(self, request, options).boxed()
    }
}
