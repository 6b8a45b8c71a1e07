//! The body of a consensus: asks the participants, listens until it can decide, and makes the verdict.

use std::{future, sync::Arc};

use tokio::time::{Instant, sleep_until};

use convoke_core::{
    AgentId, CapacityPolicy, ErrorCode, ExecutorError, TaskError, TaskId, TaskOutcome, TaskOutput,
    TaskReport, TaskRequest, TaskStatus, derived_id, error_chain,
};
use convoke_registry::{CoordinatedContext, CoordinationError, RunOptions, TeamAnswer, TeamError};

use crate::{
    ConsensusRequest, ConsensusSummary, Decide, Decision, Resolver as _, ResolverContext, Verdict,
    collection::Collection,
    guard::{guarded, guarded_future},
    results::tally_verdict,
    summary::{KEY, Told},
};

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
    request: ConsensusRequest,
    participants: Vec<(AgentId, TaskId)>,
    /// Where the caller finds the summary, without reading it from the report.
    told: Told,
    /// When the participants are stopped: a little before the consensus itself, so that it can still hear of them.
    cut: Option<Instant>,
}

impl Deliberation {
    pub(crate) fn new(
        ctx: CoordinatedContext,
        request: ConsensusRequest,
        participants: &[AgentId],
        told: Told,
    ) -> Result<Self, CoordinationError> {
        let round = ctx.attempt().to_string();
        let task = |agent: &AgentId| {
            let id = TaskId::new(derived_id([ctx.task().as_str(), &round, agent.as_str()]))?;
            Ok::<_, CoordinationError>((agent.clone(), id))
        };
        let participants = participants.iter().map(task).collect::<Result<_, _>>()?;
        let now = Instant::now();
        let before = |deadline: Instant| {
            deadline.checked_sub(ctx.grace().min(deadline.saturating_duration_since(now) / 8))
        };
        let cut = ctx.scope().deadline().and_then(before);
        Ok(Self { ctx, request, participants, told, cut })
    }

    /// Runs the round to its verdict, or to why there is none.
    pub(crate) async fn run(self) -> Result<TaskOutcome, CoordinationError> {
        let told = Arc::clone(&self.told);
        let (verdict, summary) = self.round().await?;
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

    async fn round(self) -> Result<(Result<TaskOutput, TaskError>, ConsensusSummary), TaskError> {
        let counting = guarded(|| self.request.resolver.counting())?;
        let participants = self.participants.iter().cloned();
        let mut collected =
            Collection::new(self.ctx.attempt(), self.request.rules(), participants, counting)?;
        let end = self.collect(&mut collected).await;
        let mut summary = collected.summary(&self.ctx.session().snapshot());
        let verdict = match (end, collected.tally()) {
            (Err(error), _) => Err(error),
            (Ok(_), Some(tally)) if tally.decision() == Decision::Reached => Ok(tally_verdict(tally)),
            (Ok(End::Stopped), _) => Err(stopped()),
            // All may be in because all were stopped with it.
            (Ok(_), _) if collected.is_cut_off() && self.ctx.scope().cancellation().is_cancelled() => {
                Err(stopped())
            }
            (Ok(_), _) if collected.is_cut_off() => Err(timed_out(&summary)),
            (Ok(_), _) if collected.is_too_small() => {
                Ok(Verdict::not_reached("too few participants succeeded"))
            }
            (Ok(_), Some(_)) => Ok(Verdict::not_reached(no_votes(&summary))),
            (Ok(_), None) => self.resolve(collected, &summary).await,
        };
        let output = verdict.and_then(|Verdict { output, voters, notes }| {
            let matching = voters.len();
            summary.voters = voters;
            summary.notes = notes;
            match output {
                Ok(output) => Ok(output.with_metadata("matching_votes", matching)),
                Err(reason) => {
                    let text = format!("consensus was not reached, {reason}: {summary}");
                    Err(TaskError::new(ErrorCode::ConsensusNotReached, text))
                }
            }
        });
        Ok((output, summary))
    }

    /// Asks, and listens until it can be decided. What has not answered by then is stopped as this returns.
    async fn collect(&self, collected: &mut Collection) -> Result<End, TaskError> {
        let mut answers = self.ctx.team().run_each(self.requests(), RunOptions::new());
        let stop = self.ctx.scope().cancellation();
        let cut = async {
            match self.cut {
                Some(cut) => sleep_until(cut).await,
                None => future::pending().await,
            }
        };
        tokio::pin!(cut);
        let mut is_cut = false;
        loop {
            tokio::select! {
                biased;
                answer = answers.next() => {
                    let Some((index, answer)) = answer else { return Ok(End::AllIn) };
                    is_cut |= self.cut.is_some_and(|cut| cut <= Instant::now());
                    collected.take(index, self.report(index, answer), is_cut || stop.is_cancelled())?;
                }
                () = stop.cancelled() => return Ok(End::Stopped),
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

    /// The same task for each participant.
    fn requests(&self) -> Vec<TaskRequest> {
        let asked = |(agent, task): &(AgentId, TaskId)| {
            let mut request = self.request.task.clone();
            request.id = Some(task.clone());
            request.preferred_agent = Some(agent.clone());
            request.capacity = CapacityPolicy::Wait;
            request
        };
        self.participants.iter().map(asked).collect()
    }

    /// The report in an answer; one that says what went wrong where there is none.
    fn report(&self, index: usize, answer: TeamAnswer) -> TaskReport {
        let error = match answer {
            Ok(report) => return report,
            Err(TeamError::Telemetry { report }) => return *report,
            Err(error) => error,
        };
        let task =
            self.participants.get(index).map_or_else(|| self.ctx.task().clone(), |(_, task)| task.clone());
        let session = self.ctx.session().session_id().clone();
        let mut report = TaskReport::new(task, session, TaskStatus::Failed);
        let error =
            TaskError::new(ErrorCode::ExecutionFailed, "answer was lost").with_detail(error.to_string());
        report.error = Some(error);
        report
    }

    /// Lets the resolver decide, until the consensus is to stop.
    async fn resolve(self, collected: Collection, summary: &ConsensusSummary) -> Result<Verdict, TaskError> {
        let Self { ctx, request, cut, .. } = self;
        let resolver_ctx = ResolverContext::new(
            Arc::new(request.task),
            ctx.task().clone(),
            ctx.attempt(),
            ctx.session().snapshot(),
            ctx.team().clone(),
            ctx.scope().clone(),
        );
        let stop = ctx.scope().cancellation();
        let verdict = tokio::select! {
            biased;
            verdict = guarded_future(request.resolver.resolve(collected.into_results(), resolver_ctx)) => verdict?,
            () = stop.cancelled() => return Err(stopped()),
        };
        // What it asks for is stopped with the participants, and its error may be no more than that.
        verdict.map_err(|error| match cut {
            _ if stop.is_cancelled() => stopped(),
            Some(cut) if cut <= Instant::now() => timed_out(summary),
            _ => resolver_error(&error),
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

/// Why a count that is at its end has no winner.
fn no_votes(summary: &ConsensusSummary) -> &'static str {
    match summary.votes.as_slice() {
        [] => "no participant voted",
        [first, second, ..] if first.weight == second.weight => "the votes are level",
        _ => "no answer has the votes",
    }
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
