//! What the participants answered.

use std::sync::Arc;

use convoke_core::{AgentId, TaskOutput, TaskReport};

use crate::{Ballot, Counting, Decision, Rules, Tally, Verdict};

/// What each participant answered, by its id; cloning it is cheap.
#[derive(Clone, Debug)]
pub struct Results(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    rules: Rules,
    /// By id, each agent once.
    reports: Vec<(AgentId, Arc<TaskReport>)>,
}

impl Results {
    /// The reports of participants, under the rules that they are counted by. Of several reports of one agent the first
    /// counts.
    pub fn new(rules: Rules, reports: impl IntoIterator<Item = (AgentId, TaskReport)>) -> Self {
        Self::of_shared(rules, reports.into_iter().map(|(agent, report)| (agent, Arc::new(report))))
    }

    /// As [`new`](Self::new), of reports that others may have too.
    pub(crate) fn of_shared(
        rules: Rules,
        reports: impl IntoIterator<Item = (AgentId, Arc<TaskReport>)>,
    ) -> Self {
        let mut reports: Vec<_> = reports.into_iter().collect();
        reports.sort_by(|(one, _), (other, _)| one.cmp(other));
        reports.dedup_by(|(later, _), (first, _)| later == first);
        Self(Arc::new(Inner { rules, reports }))
    }

    /// Who answered what, failures included, by id.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&AgentId, &TaskReport)> + ExactSizeIterator {
        self.0.reports.iter().map(|(agent, report)| (agent, &**report))
    }

    /// The outputs of those that completed, by id.
    pub fn successes(&self) -> impl DoubleEndedIterator<Item = (&AgentId, &TaskOutput)> {
        self.iter()
            .filter(|(_, report)| report.is_success())
            .filter_map(|(agent, report)| Some((agent, report.output.as_ref()?)))
    }

    /// Whether this participant completed.
    pub fn is_success(&self, agent: &AgentId) -> bool {
        let place = self.0.reports.binary_search_by(|(one, _)| one.cmp(agent));
        place.ok().and_then(|place| self.0.reports.get(place)).is_some_and(|(_, report)| report.is_success())
    }

    /// The rules of the request.
    pub fn rules(&self) -> Rules {
        self.0.rules
    }

    /// Counts the votes by the rules of the request.
    ///
    /// ```
    /// use convoke_consensus::{Counting, Results, Rules, Answer};
    ///
    /// let nobody = Results::new(Rules::new(), []);
    /// let verdict = nobody.count(&Counting::new(|output| Some(Answer::of(output))));
    /// assert!(verdict.output().is_none());
    /// ```
    pub fn count(&self, counting: &Counting) -> Verdict {
        let voters = self.iter().map(|(agent, _)| (agent.clone(), counting.weight(agent)));
        let mut tally = Tally::new(self.0.rules, voters);
        for (agent, report) in self.iter() {
            tally.record(agent, ballot(counting, report));
        }
        tally_verdict(&tally)
    }
}

/// What a participant's report is in a count.
pub(crate) fn ballot(counting: &Counting, report: &TaskReport) -> Ballot {
    match report.output.as_ref().filter(|_| report.is_success()) {
        None => Ballot::Failed,
        Some(output) => counting.read(output).map_or(Ballot::Spoilt, Ballot::Vote),
    }
}

/// The verdict of a count as it stands.
pub(crate) fn tally_verdict(tally: &Tally) -> Verdict {
    let verdict = match tally.leading().filter(|_| tally.decision() == Decision::Reached) {
        Some(votes) => Verdict { voters: votes.voters, ..Verdict::agreed(votes.answer.to_output()) },
        None => Verdict::not_reached("no answer has the votes"),
    };
    verdict.with_spoilt(tally.spoilt().iter().cloned())
}
