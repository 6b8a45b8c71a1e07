//! The count: pure, without a clock, and certain of what it says at each moment.

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};

use convoke_core::AgentId;

use crate::Answer;

/// How many votes an answer needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Agreement {
    /// More than half of the [`Basis`]. A half is not enough.
    #[default]
    StrictMajority,
    /// This many, and more than any other answer: two that are level do not agree. Where voters have weights, this much
    /// weight.
    AtLeast(u64),
}

/// What a strict majority is more than half of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Basis {
    /// The participants that succeeded; those that failed do not count.
    #[default]
    Successful,
    /// All participants; one that failed counts against each answer.
    Participants,
}

/// What a count must show before it decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rules {
    /// How many participants must succeed; 1 unless set. By head, also where voters have weights.
    pub minimum_successful_agents: usize,
    /// How many votes an answer needs; a strict majority unless set.
    pub agreement: Agreement,
    /// What a majority is counted of; the successful participants unless set.
    pub basis: Basis,
}

impl Default for Rules {
    fn default() -> Self {
        Self { minimum_successful_agents: 1, agreement: Agreement::default(), basis: Basis::default() }
    }
}

impl Rules {
    /// One success is enough, and a strict majority of the successful participants agrees.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how many participants must succeed.
    #[must_use]
    pub fn with_minimum_successful_agents(mut self, minimum: usize) -> Self {
        self.minimum_successful_agents = minimum;
        self
    }

    /// Sets how many votes an answer needs.
    #[must_use]
    pub fn with_agreement(mut self, agreement: Agreement) -> Self {
        self.agreement = agreement;
        self
    }

    /// Sets what a majority is counted of.
    #[must_use]
    pub fn with_basis(mut self, basis: Basis) -> Self {
        self.basis = basis;
        self
    }
}

/// What became of one participant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ballot {
    /// It succeeded, and voted for this.
    Vote(Answer),
    /// It succeeded, and its output holds no vote.
    Spoilt,
    /// It did not succeed.
    Failed,
}

/// What the ballots so far decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It depends on the ballots to come.
    Pending,
    /// The leading answer has it, whatever is still to come.
    Reached,
    /// No answer can have it any more, whatever is still to come.
    Impossible,
}

/// An answer, and who voted for it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AnswerVotes {
    /// The answer.
    pub answer: Answer,
    /// Who voted for it.
    pub voters: BTreeSet<AgentId>,
    /// What they weigh together: as many as they are, unless voters have weights.
    pub weight: u64,
}

/// A participant, and what it weighs until its ballot is in.
#[derive(Clone, Debug)]
struct Voter {
    id: AgentId,
    pending: Option<u64>,
}

/// An answer as it is counted: the places of its voters as they came, which a set would sort at each.
#[derive(Clone, Debug)]
struct Counted {
    answer: Answer,
    voters: Vec<usize>,
    weight: u64,
}

/// Counts the ballots of participants that are known beforehand.
///
/// Let *t* be the weight of the leading answer, *s* that of the second, *S* that of the successful participants, *p* that of
/// the ballots still to come, *E* that of all. With a strict majority of the successful ones the decision is
///
/// - reached when 2*t* > *S* + *p*: if all that are still to come voted for others, *t* would still be more than half;
/// - impossible when 2*t* + *p* ≤ *S*: if all voted for the leading answer, it would be at most half.
///
/// Of all participants: reached when 2*t* > *E*, impossible when 2(*t* + *p*) ≤ *E*. With at least *k*: reached when
/// *t* ≥ *k* and *t* − *s* > *p*, so that nobody can draw level; impossible when *t* + *p* < *k* or *t* + *p* ≤ *s*. Each also needs the
/// minimum of successes. With nothing to come, *p* is 0 and these are the rules of a count at its end; so what is decided
/// early is what the end would say, and a decision never changes.
///
/// A ballot costs a look-up among the participants and one among the answers, however many there are.
///
/// ```
/// use convoke_consensus::{Answer, Ballot, Decision, Rules, Tally};
/// use convoke_core::AgentId;
///
/// # fn main() -> Result<(), convoke_core::IdError> {
/// let voters = ["ada", "bob", "cy"].map(|id| AgentId::new(id).unwrap());
/// let mut tally = Tally::new(Rules::new(), voters.iter().map(|voter| (voter.clone(), 1)));
/// let yes = || Ballot::Vote(Answer::text("yes"));
/// assert_eq!(tally.record(&voters[0], yes()), Decision::Pending);
/// assert_eq!(tally.record(&voters[1], yes()), Decision::Reached);
/// assert_eq!(tally.leading().unwrap().answer.as_text(), "yes");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Tally {
    rules: Rules,
    /// By id, each once.
    voters: Vec<Voter>,
    /// How many of them have not answered.
    pending: usize,
    pending_weight: u64,
    succeeded: usize,
    succeeded_weight: u64,
    eligible_weight: u64,
    spoilt: BTreeSet<AgentId>,
    places: HashMap<Answer, usize>,
    votes: Vec<Counted>,
    /// The place of the answer that leads: of several that are level, the one that was there first.
    leading: usize,
    /// The weight of the best of the others.
    second: u64,
}

impl Tally {
    /// A count of the ballots of `participants`, each with its weight. One that is named twice counts once, with the
    /// weight that was said last.
    pub fn new(rules: Rules, participants: impl IntoIterator<Item = (AgentId, u32)>) -> Self {
        let voter = |(id, weight): (AgentId, u32)| Voter { id, pending: Some(weight.into()) };
        let mut voters: Vec<_> = participants.into_iter().map(voter).collect();
        voters.sort_by(|one, other| one.id.cmp(&other.id));
        voters.dedup_by(|later, first| {
            let is_same = later.id == first.id;
            if is_same {
                first.pending = later.pending;
            }
            is_same
        });
        let eligible_weight = voters.iter().filter_map(|voter| voter.pending).sum();
        Self {
            rules,
            pending: voters.len(),
            voters,
            pending_weight: eligible_weight,
            succeeded: 0,
            succeeded_weight: 0,
            eligible_weight,
            spoilt: BTreeSet::new(),
            places: HashMap::new(),
            votes: Vec::new(),
            leading: 0,
            second: 0,
        }
    }

    /// Counts the ballot of `participant`, and says what that decides. The first one counts: a second, or that of somebody
    /// who is no participant, changes nothing.
    pub fn record(&mut self, participant: &AgentId, ballot: Ballot) -> Decision {
        if let Ok(place) = self.voters.binary_search_by(|voter| voter.id.cmp(participant)) {
            self.record_at(place, ballot);
        }
        self.decision()
    }

    /// As [`record`](Self::record), for whoever knows the place of the participant among all, by id.
    pub(crate) fn record_at(&mut self, place: usize, ballot: Ballot) {
        let Some(voter) = self.voters.get_mut(place) else { return };
        let Some(weight) = voter.pending.take() else { return };
        self.pending -= 1;
        self.pending_weight -= weight;
        match ballot {
            Ballot::Vote(answer) => {
                self.succeed(weight);
                self.count(place, answer, weight);
            }
            Ballot::Spoilt => {
                self.spoilt.insert(voter.id.clone());
                self.succeed(weight);
            }
            Ballot::Failed => {}
        }
    }

    fn succeed(&mut self, weight: u64) {
        self.succeeded += 1;
        self.succeeded_weight += weight;
    }

    fn count(&mut self, voter: usize, answer: Answer, weight: u64) {
        let leader = self.leader();
        let place = self.place(answer);
        let Some(answer) = self.votes.get_mut(place) else { return };
        answer.voters.push(voter);
        answer.weight += weight;
        let now = answer.weight;
        if place == self.leading {
            return;
        }
        if now > leader {
            self.leading = place;
            self.second = leader;
        } else {
            self.second = self.second.max(now);
        }
    }

    /// Where an answer is counted.
    fn place(&mut self, answer: Answer) -> usize {
        // Most vote as the others do.
        if self.votes.get(self.leading).is_some_and(|leading| leading.answer == answer) {
            return self.leading;
        }
        *self.places.entry(answer).or_insert_with_key(|answer| {
            self.votes.push(Counted { answer: answer.clone(), voters: Vec::new(), weight: 0 });
            self.votes.len() - 1
        })
    }

    fn leader(&self) -> u64 {
        self.votes.get(self.leading).map_or(0, |votes| votes.weight)
    }

    /// What the ballots so far decide.
    pub fn decision(&self) -> Decision {
        let (top, pending, successes) = (self.leader(), self.pending_weight, self.succeeded_weight);
        let minimum = self.rules.minimum_successful_agents;
        let (is_certain, is_possible) = match (self.rules.agreement, self.rules.basis) {
            (Agreement::StrictMajority, Basis::Successful) => {
                (2 * top > successes + pending, 2 * top + pending > successes)
            }
            (Agreement::StrictMajority, Basis::Participants) => {
                (2 * top > self.eligible_weight, 2 * (top + pending) > self.eligible_weight)
            }
            (Agreement::AtLeast(least), _) => {
                let all = top + pending;
                (top >= least && top - self.second > pending, all >= least && all > self.second)
            }
        };
        if is_certain && self.succeeded >= minimum {
            Decision::Reached
        } else if is_possible && self.succeeded + self.pending >= minimum {
            Decision::Pending
        } else {
            Decision::Impossible
        }
    }

    /// The answer with the most weight; of several that are level, the one that was there first. `None` before the first vote.
    pub fn leading(&self) -> Option<AnswerVotes> {
        self.votes.get(self.leading).map(|counted| self.named(counted))
    }

    /// Each answer with its voters: the weightiest first, of several that are level the one whose first voter has the
    /// smallest id.
    pub fn votes(&self) -> Vec<AnswerVotes> {
        let mut votes: Vec<_> = self.votes.iter().map(|counted| self.named(counted)).collect();
        votes.sort_by(|one, other| {
            other.weight.cmp(&one.weight).then_with(|| one.voters.first().cmp(&other.voters.first()))
        });
        votes
    }

    /// With the names of its voters.
    fn named(&self, counted: &Counted) -> AnswerVotes {
        let mut places = counted.voters.clone();
        // Numbers are sorted faster than ids, and a set of what is sorted compares each id but with the next.
        places.sort_unstable();
        let voters = places.into_iter().filter_map(|place| self.voters.get(place));
        AnswerVotes {
            answer: counted.answer.clone(),
            voters: voters.map(|voter| voter.id.clone()).collect(),
            weight: counted.weight,
        }
    }

    /// Who succeeded without a vote in the output.
    pub fn spoilt(&self) -> &BTreeSet<AgentId> {
        &self.spoilt
    }

    /// The weight that decides, whatever is still to come. A majority of the successful participants is one of those that
    /// succeeded so far and of all that may still succeed.
    pub fn required(&self) -> u64 {
        let basis = match (self.rules.agreement, self.rules.basis) {
            (Agreement::AtLeast(least), _) => return least,
            (Agreement::StrictMajority, Basis::Successful) => self.succeeded_weight + self.pending_weight,
            (Agreement::StrictMajority, Basis::Participants) => self.eligible_weight,
        };
        basis / 2 + 1
    }
}
