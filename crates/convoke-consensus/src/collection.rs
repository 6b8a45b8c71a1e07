//! The results of a round as they come in, and the count of them.

use std::{cell::LazyCell, sync::Arc};

use convoke_core::{AgentId, TaskError, TaskId, TaskReport, TaskStatus};
use convoke_session::SessionSnapshot;

use crate::{
    ConsensusSummary, Counting, Decision, FailedParticipant, Results, Rules, Tally, VoteCount,
    guard::guarded, results::ballot,
};

/// A participant in a round.
struct Participant {
    agent: AgentId,
    task: TaskId,
    report: Option<Arc<TaskReport>>,
    /// Whether it was the end of the round that stopped it: then it counts as if it were still to come.
    is_cut_off: bool,
}

/// The results of a round.
pub(crate) struct Collection {
    round: u32,
    rules: Rules,
    /// By agent, as the count has them.
    participants: Vec<Participant>,
    succeeded: usize,
    cut_off: usize,
    /// Where votes are counted.
    count: Option<(Counting, Tally)>,
}

impl Collection {
    /// Nothing yet of `participants`, each once and by id, whose tasks are those of this round of `consensus`.
    pub(crate) fn new(
        consensus: &TaskId,
        round: u32,
        rules: Rules,
        participants: Vec<AgentId>,
        counting: Option<Counting>,
    ) -> Result<Self, TaskError> {
        let participant = |agent: AgentId| {
            let task = TaskId::of_attempt(consensus, round, &agent);
            Participant { agent, task, report: None, is_cut_off: false }
        };
        let participants: Vec<_> = participants.into_iter().map(participant).collect();
        let tally = |counting: Counting| {
            let voters = participants.iter().map(|one| (one.agent.clone(), counting.weight(&one.agent)));
            let tally = Tally::new(rules, voters);
            (counting, tally)
        };
        let count = guarded(|| counting.map(tally))?;
        Ok(Self { round, rules, participants, succeeded: 0, cut_off: 0, count })
    }

    /// The participants and their tasks.
    pub(crate) fn asked(&self) -> impl Iterator<Item = (&AgentId, &TaskId)> {
        self.participants.iter().map(|one| (&one.agent, &one.task))
    }

    /// The task of the participant at a place.
    pub(crate) fn task(&self, index: usize) -> Option<&TaskId> {
        self.participants.get(index).map(|one| &one.task)
    }

    /// Takes the report of a participant; `is_over` says that the round was at its end by then, so that what was stopped was
    /// stopped by that.
    pub(crate) fn take(
        &mut self,
        index: usize,
        report: Arc<TaskReport>,
        is_over: bool,
    ) -> Result<(), TaskError> {
        let Some(participant) = self.participants.get_mut(index) else { return Ok(()) };
        let is_stopped = matches!(report.status, TaskStatus::Cancelled | TaskStatus::TimedOut);
        participant.is_cut_off = is_over && is_stopped;
        let report = participant.report.insert(report);
        self.succeeded += usize::from(report.is_success());
        self.cut_off += usize::from(participant.is_cut_off);
        if let Some((counting, tally)) = self.count.as_mut().filter(|_| !participant.is_cut_off) {
            let ballot = guarded(|| ballot(counting, report))?;
            tally.record_at(index, ballot);
        }
        Ok(())
    }

    /// What is certain by now; pending where nothing is counted.
    pub(crate) fn decision(&self) -> Decision {
        self.count.as_ref().map_or(Decision::Pending, |(_, tally)| tally.decision())
    }

    /// The count, where there is one.
    pub(crate) fn tally(&self) -> Option<&Tally> {
        self.count.as_ref().map(|(_, tally)| tally)
    }

    /// Whether too few succeeded.
    pub(crate) fn is_too_small(&self) -> bool {
        self.succeeded < self.rules.minimum_successful_agents
    }

    /// Whether the end of the round stopped any.
    pub(crate) fn is_cut_off(&self) -> bool {
        self.cut_off > 0
    }

    /// What there is, for a person and for a machine.
    pub(crate) fn summary(&self, snapshot: impl FnOnce() -> SessionSnapshot) -> ConsensusSummary {
        // Mostly all have a report.
        let snapshot = LazyCell::new(snapshot);
        let mut summary = ConsensusSummary {
            round: self.round,
            eligible: self.participants.len(),
            succeeded: self.succeeded,
            minimum_successful_agents: self.rules.minimum_successful_agents,
            ..ConsensusSummary::default()
        };
        for Participant { agent, task, report, is_cut_off } in &self.participants {
            // One that waited in line to the end has no record.
            let is_asked = match report {
                Some(report) => report.attempt > 0,
                None => snapshot.task(task).is_some(),
            };
            summary.asked += usize::from(is_asked);
            match report {
                Some(report) if !is_cut_off => match report.status {
                    TaskStatus::Completed => {}
                    TaskStatus::InputRequired => _ = summary.paused.insert(agent.clone()),
                    status => summary.failed.push(FailedParticipant {
                        agent: agent.clone(),
                        status,
                        code: report.code(),
                        text: report.error.as_ref().map(|error| error.message().to_owned()),
                    }),
                },
                _ => _ = summary.signalled.insert(agent.clone()),
            }
        }
        if let Some(tally) = self.tally() {
            summary.required = Some(tally.required());
            summary.spoilt.clone_from(tally.spoilt());
            summary.votes = tally
                .votes()
                .into_iter()
                .map(|votes| VoteCount {
                    text: votes.answer.as_text().to_owned(),
                    data: votes.answer.data().cloned(),
                    voters: votes.voters,
                    weight: votes.weight,
                })
                .collect();
        }
        summary
    }

    /// Everything that came in.
    pub(crate) fn into_results(self) -> Results {
        let reports = self.participants.into_iter().filter_map(|one| Some((one.agent, one.report?)));
        Results::of_shared(self.rules, reports)
    }
}
