//! The body of a consensus: asks the participants, listens until it can decide, and makes the verdict.

use std::{future, sync::Arc};

use tokio::time::{Instant, sleep_until};

use convoke_core::{
    AgentId, CapacityPolicy, ErrorCode, ExecutorError, NotCompleted, TaskError, TaskId, TaskOutcome,
    TaskOutput, TaskReport, TaskRequest, TaskStatus, error_chain,
};
use convoke_observability::drop_isolated;
use convoke_registry::{CoordinatedContext, CoordinationError, DEFAULT_GRACE, RunOptions, TeamError};

use crate::{
    ConsensusRequest, ConsensusSummary, Decide, Decision, Resolver as _, ResolverContext, Verdict,
    collection::Collection,
    guard::{guarded, guarded_future},
    results::tally_verdict,
    summary::{KEY, Told},
};

/// How many bytes of a resolver's reason are told.
const MAX_REASON: usize = 1000;

/// Why nobody listens any more.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// It is certain what the count says.
    Decided,
    /// Each participant has ended.
    AllIn,
    /// The consensus itself is to stop.
    Stopped,
}

/// One round of a consensus.
pub(crate) struct Deliberation {
    ctx: CoordinatedContext,
    request: Arc<ConsensusRequest>,
    /// Where the caller finds the summary, without reading it from the report.
    told: Told,
    /// When the participants are stopped: a little before the consensus itself, so that it can still hear of them.
    cut: Option<Instant>,
}

impl Deliberation {
    pub(crate) fn new(ctx: CoordinatedContext, request: Arc<ConsensusRequest>, told: Told) -> Self {
        // Without a grace whoever waits for the consensus gives up at its deadline, and what is certain by then would be lost.
        let grace = if ctx.grace().is_zero() { DEFAULT_GRACE } else { ctx.grace() };
        let cut = ctx.scope().child_deadline(Instant::now(), grace);
        Self { ctx, request, told, cut }
    }

    /// Runs the round of these participants, each once and by id, to its verdict, or to why there is none.
    pub(crate) async fn run(self, participants: Vec<AgentId>) -> Result<TaskOutcome, CoordinationError> {
        let (told, resolver) = (Arc::clone(&self.told), self.request.resolver.clone());
        let round = self.round(participants).await;
        // Its destructor is its own, and so is a panic of that.
        drop_isolated(resolver);
        let (verdict, summary) = round?;
        let outcome = match verdict {
            Ok(output) => Ok(TaskOutcome::completed(with_summary(output, &summary))),
            Err(error) => {
                let output = with_summary(TaskOutput::default(), &summary);
                Err(CoordinationError::new(error).with_output(output))
            }
        };
        *told.lock() = Some(summary);
        outcome
    }

    async fn round(
        self,
        participants: Vec<AgentId>,
    ) -> Result<(Result<TaskOutput, TaskError>, ConsensusSummary), TaskError> {
        let counting = guarded(|| self.request.resolver.counting())?;
        let (task, round, rules) = (self.ctx.task(), self.ctx.attempt(), self.request.rules());
        let mut collected = Collection::new(task, round, rules, participants, counting)?;
        let end = self.collect(&mut collected).await;
        let mut summary = collected.summary(|| self.ctx.session().snapshot());
        let verdict = match (end, collected.tally()) {
            (Err(error), _) => Err(error),
            (Ok(_), Some(tally)) if tally.decision() == Decision::Reached => Ok(tally_verdict(tally)),
            (Ok(End::Stopped), _) => Err(stopped()),
            // It is certain that there is none, whoever was stopped since.
            (Ok(End::Decided), _) => Ok(Verdict::not_reached(why_not(&collected, &summary))),
            // All may be in because all were stopped with it.
            (Ok(_), _) if collected.is_cut_off() && self.ctx.scope().is_cancelled() => Err(stopped()),
            (Ok(_), _) if collected.is_cut_off() => Err(timed_out(&summary)),
            (Ok(_), tally) if tally.is_some() || collected.is_too_small() => {
                Ok(Verdict::not_reached(why_not(&collected, &summary)))
            }
            (Ok(_), _) => self.resolve(collected, &summary).await,
        };
        let output = verdict.and_then(|Verdict { output, voters, spoilt, notes }| {
            let matching = voters.len();
            summary.voters = voters;
            // A count has them already, also where it is not reached.
            summary.spoilt.extend(spoilt);
            summary.notes = notes;
            match output {
                Ok(output) => Ok(output.with_metadata("matching_votes", matching)),
                Err(reason) => {
                    let reason = reason.get(..reason.floor_char_boundary(MAX_REASON)).unwrap_or_default();
                    let text = format!("consensus was not reached, {reason}: {summary}");
                    Err(TaskError::new(ErrorCode::ConsensusNotReached, text))
                }
            }
        });
        Ok((output, summary))
    }

    /// Asks, and listens until it can be decided. What has not answered by then is stopped as this returns.
    async fn collect(&self, collected: &mut Collection) -> Result<End, TaskError> {
        let mut options = RunOptions::new();
        options.deadline = self.cut;
        let requests = collected.asked().map(|(agent, task)| self.asked(agent, task));
        let mut answers = self.ctx.team().run_each(requests, options);
        let stop = self.ctx.scope().cancellation();
        // Made once, as the other is: each answer wakes this.
        let stopped = stop.cancelled();
        let cut = async {
            match self.cut {
                Some(cut) => sleep_until(cut).await,
                None => future::pending().await,
            }
        };
        tokio::pin!(stopped, cut);
        let mut is_cut = false;
        loop {
            tokio::select! {
                biased;
                answer = answers.next_shared() => {
                    let Some((index, answer)) = answer else { return Ok(End::AllIn) };
                    is_cut |= self.cut.is_some_and(|cut| cut <= Instant::now());
                    let report = match answer {
                        Ok(report) => report,
                        Err(TeamError::Telemetry { report }) => Arc::new(*report),
                        Err(error) => Arc::new(self.lost(collected.task(index), &error)),
                    };
                    collected.take(index, report, is_cut || stop.is_cancelled())?;
                }
                () = &mut stopped => return Ok(End::Stopped),
                () = &mut cut, if !is_cut => is_cut = true,
            }
            // At the deadline what is certain is decided, whatever was asked for.
            let is_decided = match collected.decision() {
                Decision::Reached => is_cut || self.request.decide == Decide::Early,
                Decision::Impossible => self.request.decide == Decide::Early,
                Decision::Pending => false,
            };
            if is_decided {
                return Ok(End::Decided);
            }
        }
    }

    /// What a participant is asked: the same as each.
    fn asked(&self, agent: &AgentId, task: &TaskId) -> TaskRequest {
        let mut request = self.request.task.clone();
        request.id = Some(task.clone());
        request.preferred_agent = Some(agent.clone());
        request.capacity = CapacityPolicy::Wait;
        request
    }

    /// The report of a task that has none.
    fn lost(&self, task: Option<&TaskId>, error: &TeamError) -> TaskReport {
        let (task, session) = (task.unwrap_or(self.ctx.task()), self.ctx.session().session_id());
        let mut report = TaskReport::new(task.clone(), session.clone(), TaskStatus::Failed);
        let lost = TaskError::new(ErrorCode::ExecutionFailed, "answer was lost");
        report.error = Some(lost.with_detail(error.to_string()));
        report
    }

    /// Lets the resolver decide, until the consensus is to stop.
    async fn resolve(self, collected: Collection, summary: &ConsensusSummary) -> Result<Verdict, TaskError> {
        let Self { ctx, request, cut, .. } = self;
        let resolver_ctx = ResolverContext::new(
            Arc::new(request.task.clone()),
            ctx.task().clone(),
            ctx.attempt(),
            ctx.session().snapshot(),
            ctx.team().clone(),
            ctx.scope().clone(),
        );
        let (results, stop) = (collected.into_results(), ctx.scope().cancellation());
        let resolve = async { request.resolver.resolve(results.clone(), resolver_ctx).await };
        let mut resolving = Box::pin(guarded_future(resolve));
        let verdict = tokio::select! {
            biased;
            verdict = &mut resolving => Some(verdict?),
            () = stop.cancelled() => None,
        };
        drop_isolated(resolving);
        let Some(verdict) = verdict else { return Err(stopped()) };
        let stranger =
            |verdict: &Verdict| verdict.voters.iter().find(|voter| !results.is_success(voter)).cloned();
        if let Some(stranger) = verdict.as_ref().ok().and_then(stranger) {
            let text = format!("resolver rests its verdict on `{stranger}`, which did not succeed");
            return Err(TaskError::new(ErrorCode::ContractViolation, text));
        }
        // What it asks for is stopped with the participants, and its error may be no more than that.
        verdict.map_err(|error| match cut {
            _ if stop.is_cancelled() => stopped(),
            Some(cut) if cut <= Instant::now() && says_stopped(&error) => timed_out(summary),
            _ => guarded(|| resolver_error(&error)).unwrap_or_else(|panicked| panicked),
        })
    }
}

/// The runtime knows why, and says that.
fn stopped() -> TaskError {
    TaskError::new(ErrorCode::Cancelled, "consensus was stopped")
}

fn timed_out(summary: &ConsensusSummary) -> TaskError {
    let text = format!("deadline passed before there was a verdict; allow more time: {summary}");
    TaskError::new(ErrorCode::TimedOut, text)
}

fn with_summary(output: TaskOutput, summary: &ConsensusSummary) -> TaskOutput {
    match serde_json::to_value(summary) {
        Ok(summary) => output.with_metadata(KEY, summary),
        // It has no map whose keys are no strings, which is what else could not be written.
        Err(_) => output,
    }
}

/// Why there is no verdict.
fn why_not(collected: &Collection, summary: &ConsensusSummary) -> &'static str {
    if collected.is_too_small() {
        return "too few participants succeeded";
    }
    match summary.votes.as_slice() {
        [] => "no participant voted",
        [first, second, ..] if first.weight == second.weight => "the votes are level",
        _ => "no answer has the votes",
    }
}

/// Whether a resolver says that it, or what it asked for, was stopped.
fn says_stopped(error: &ExecutorError) -> bool {
    let nested = error.as_error().and_then(|source| source.downcast_ref::<NotCompleted>());
    let is_stopped = |nested: &NotCompleted| {
        matches!(nested.report().status, TaskStatus::Cancelled | TaskStatus::TimedOut)
    };
    error.code() == ErrorCode::Cancelled || nested.is_some_and(is_stopped)
}

/// The error of a resolver as a report carries it.
fn resolver_error(error: &ExecutorError) -> TaskError {
    let code = match error.code() {
        // Nobody asked it to stop.
        ErrorCode::Cancelled => ErrorCode::ExecutionFailed,
        code => code,
    };
    let text = error.public().map_or_else(|| "resolver returned an error".to_owned(), str::to_owned);
    match error.as_error() {
        Some(source) => TaskError::new(code, text).with_detail(error_chain(source)),
        None => TaskError::new(code, text),
    }
}
