//! The ready steps, the first of them at hand at any time.
//!
//! A score changes with time, so no single heap can hold the steps. But it changes in one of three ways, and in none of
//! them do two steps change places:
//!
//! | where | remaining time `r`, horizon `H` | score × `H` | key that does not change |
//! |---|---|---|---|
//! | before | no deadline, or `r` ≥ `H` | base·H | base |
//! | inside | 0 < `r` < `H` | base·H + W·(H − r) | base·H − W·deadline |
//! | overdue | `r` ≤ 0 | base·H + W·H | base |
//!
//! Inside the horizon `r` = deadline − now, so a score × H is the key + W·(H + now), and that summand is the same for
//! all steps: weight W and horizon are the plan's. So there is a heap for each place, by key, then the earlier deadline,
//! then plan order; of equal keys in one heap the scores are equal at any time, so that these ties are the right ones.
//! The first step is the best of three tops, compared by score at that moment. All numbers are exact ([`fixed`]), so the
//! comparison of tops and that within a heap are one total order.
//!
//! Time never goes back, so a step moves on at most twice: a border takes one push, and one look at who is next. Who is
//! next is known by deadline, and by deadline alone, at both borders. So those that wait for a border are sorted once,
//! not kept in a heap ([`timers`]); and those that crossed the first go behind the others at the second, in the order in
//! which they came.
//!
//! An entry of a step that moved, was taken or was removed stays where it is and is thrown away when it comes first; what
//! has more of those than of others is swept. So nothing is larger than twice its steps and a constant, each step enters
//! at most five orders at O(log n) each, and a queue of n steps takes O(log n) a pick, averaged over the picks, whatever
//! the deadlines do.
//!
//! A [`Lane`] is all that. Steps that wait for a turn have a lane of their own for each turn, beside the one of which the
//! first step is asked for, so that the best of them is at hand at any time, too. A step is in one lane at a time.
//!
//! [`fixed`]: super::fixed

mod clock;
mod entry;
mod heap;
mod lane;
mod places;
mod timers;

use std::{
    collections::{HashMap, hash_map::Entry},
    fmt,
};

use crate::{
    Plan, Prioritization, PriorityScorer, ScoreError, StepIndex,
    priority::{
        fixed,
        queue::{
            clock::Clock,
            entry::{Moves, NO_DEADLINE, Ranked},
            lane::{First, Lane},
            places::Places,
        },
    },
};

/// So many entries out of date are never worth a sweep.
const SPARE: usize = 64;

/// The ready steps of a plan, the first of them at hand.
///
/// The order is that of [`Prioritization`]. Time is an input, in milliseconds since 1970-01-01T00:00:00Z; a time before
/// one that the queue has seen counts as that one. Queueing and taking a step costs O(log n) of n queued steps, averaged
/// over the calls, also while deadlines move scores.
///
/// ```
/// use convoke_planning::{PlanDraft, PlanValidator, Prioritization, PrioritySignals, ReadyQueue, StepDraft};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let draft = PlanDraft::new("triage")
///     .with_step(StepDraft::new("tidy").titled("Tidy up"))
///     .with_step(StepDraft::new("fix").titled("Fix").with_signals(PrioritySignals::new().with_priority(5.0)));
/// let plan = PlanValidator::default().validate(draft)?;
///
/// let mut ready = ReadyQueue::new(&plan, Prioritization::default());
/// for step in plan.indices() {
///     ready.push(&plan, step, 0)?;
/// }
/// assert_eq!(ready.pop(0), plan.index_of("fix"));
/// assert_eq!(ready.pop(0), plan.index_of("tidy"));
/// assert_eq!(ready.pop(0), None);
/// # Ok(())
/// # }
/// ```
pub struct ReadyQueue {
    scorer: Option<Box<dyn PriorityScorer>>,
    clock: Clock,
    places: Places,
    /// A step alone among those of which the first is asked for: it needs no place in an order.
    sole: Option<Moves>,
    /// The others of those, where there are several.
    open: Lane,
    /// Those that wait for a turn, by its number.
    aside: HashMap<u32, Lane>,
}

/// A step that was taken out, and what it is ordered by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken(First);

impl Taken {
    pub(crate) fn step(self) -> StepIndex {
        self.0.step()
    }
}

impl ReadyQueue {
    /// An empty queue for the steps of a plan.
    pub fn new(plan: &Plan, prioritization: impl Into<Prioritization>) -> Self {
        let weights = match prioritization.into() {
            Prioritization::PlanOrder => None,
            Prioritization::ByScore(weights) => Some(weights),
        };
        let of_deadline = weights.unwrap_or_default();
        Self {
            scorer: weights.map(|weights| Box::new(weights) as Box<dyn PriorityScorer>),
            clock: Clock {
                now: 0,
                horizon: of_deadline.horizon_millis(),
                // A weight is within the range by its construction.
                weight: fixed::from_f64(of_deadline.deadline()).unwrap_or_default(),
            },
            places: Places::new(plan.steps().len()),
            sole: None,
            open: Lane::default(),
            aside: HashMap::new(),
        }
    }

    /// Asks another scorer for the score without the deadline term; weight and horizon of that stay. A queue in plan order
    /// asks nobody.
    #[must_use]
    pub fn with_scorer(mut self, scorer: impl PriorityScorer) -> Self {
        if self.scorer.is_some() {
            self.scorer = Some(Box::new(scorer));
        }
        self
    }

    /// Empties the queue for another revision of the plan. What time it is stays known.
    pub fn restart(&mut self, plan: &Plan) {
        self.places = Places::new(plan.steps().len());
        self.sole = None;
        self.open = Lane::default();
        self.aside.clear();
    }

    /// Queues a step; one that is queued already is scored anew. A place that the plan does not have is ignored.
    ///
    /// # Errors
    ///
    /// [`ScoreError`] where its score orders nothing. The step is not queued then.
    pub fn push(&mut self, plan: &Plan, step: StepIndex, now_unix_millis: u64) -> Result<(), ScoreError> {
        self.clock.set(now_unix_millis);
        let Some(definition) = plan.step(step) else { return Ok(()) };
        let (score, deadline) = match &self.scorer {
            None => (0.0, NO_DEADLINE),
            Some(scorer) => {
                // The last moment of all is later than any that comes, and stands for none.
                let deadline = definition.signals.deadline_unix_millis;
                (
                    scorer.base(plan, definition),
                    deadline.map_or(NO_DEADLINE, |deadline| deadline.min(NO_DEADLINE - 1)),
                )
            }
        };
        self.remove(step);
        let base = fixed::from_f64(score).ok_or_else(|| ScoreError::new(definition.id.clone(), score))?;
        self.put(Moves { deadline, base, step, generation: 0 }, None);
        Ok(())
    }

    /// The first step at a moment, which stays in the queue.
    pub fn peek(&mut self, now_unix_millis: u64) -> Option<StepIndex> {
        self.clock.set(now_unix_millis);
        let sole = self.sole.map(|sole| sole.step);
        sole.or_else(|| self.open.first(&mut self.places, &self.clock).map(First::step))
    }

    /// Takes the first step at a moment.
    pub fn pop(&mut self, now_unix_millis: u64) -> Option<StepIndex> {
        self.take(now_unix_millis).map(Taken::step)
    }

    /// Takes the first step at a moment, so that it can be put aside.
    pub(crate) fn take(&mut self, now_unix_millis: u64) -> Option<Taken> {
        self.clock.set(now_unix_millis);
        if let Some(sole) = self.sole.take() {
            return Some(Taken(First::of(sole, &self.clock)));
        }
        if self.open.is_empty() {
            return None;
        }
        let first = self.open.first(&mut self.places, &self.clock)?;
        self.open.take(first, &mut self.places);
        Some(Taken(first))
    }

    /// Puts a step aside, to wait for a turn. It is among the queued ones, and not the first of them before it is recalled.
    pub(crate) fn put_aside(&mut self, taken: Taken, turn: u32) {
        self.put(taken.0.item(&self.clock), Some(turn));
    }

    /// Puts the best of those that wait for a turn back among the others, and says which it is.
    pub(crate) fn recall(&mut self, turn: u32, now_unix_millis: u64) -> Option<StepIndex> {
        self.clock.set(now_unix_millis);
        let best = self.take_aside(turn, None)?;
        self.put(best.item(&self.clock), None);
        Some(best.step())
    }

    /// The best of a step and those that wait for the turn that it may take. If it is not the step, that goes back among
    /// the others.
    pub(crate) fn best_of(&mut self, taken: Taken, turn: u32) -> Taken {
        match self.take_aside(turn, Some(taken.0.rank(&self.clock))) {
            Some(better) => {
                self.put(taken.0.item(&self.clock), None);
                Taken(better)
            }
            None => taken,
        }
    }

    /// Takes a step out; `false` where it was not in.
    pub fn remove(&mut self, step: StepIndex) -> bool {
        if self.sole.take_if(|sole| sole.step == step).is_some() {
            return true;
        }
        let Some(place) = self.places.leave(step) else { return false };
        match self.places.aside(step) {
            None => self.open.left(place, &self.places),
            Some(turn) => {
                if let Entry::Occupied(mut lane) = self.aside.entry(turn) {
                    lane.get_mut().left(place, &self.places);
                    if lane.get().is_empty() {
                        lane.remove();
                    }
                }
            }
        }
        true
    }

    /// Whether a step is queued.
    pub fn contains(&self, step: StepIndex) -> bool {
        self.sole.is_some_and(|sole| sole.step == step) || self.places.holds(step)
    }

    /// How many steps are queued.
    pub fn len(&self) -> usize {
        self.places.queued() + usize::from(self.sole.is_some())
    }

    /// Whether no step is queued.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn put(&mut self, item: Moves, turn: Option<u32>) {
        if turn.is_none() {
            match self.sole.take() {
                Some(other) => self.order(other, None),
                None if self.open.is_empty() => return self.sole = Some(item),
                None => {}
            }
        }
        self.order(item, turn);
    }

    fn order(&mut self, item: Moves, turn: Option<u32>) {
        let generation = self.places.enter(item.step, turn);
        let lane = match turn {
            None => &mut self.open,
            Some(turn) => self.aside.entry(turn).or_default(),
        };
        lane.settle(Moves { generation, ..item }, &mut self.places, &self.clock);
    }

    /// Takes the best of those that wait for a turn, if it is better than the other.
    fn take_aside(&mut self, turn: u32, other: Option<Ranked>) -> Option<First> {
        let Entry::Occupied(mut lane) = self.aside.entry(turn) else { return None };
        let first = lane.get_mut().first(&mut self.places, &self.clock)?;
        if other.is_some_and(|other| other > first.rank(&self.clock)) {
            return None;
        }
        lane.get_mut().take(first, &mut self.places);
        if lane.get().is_empty() {
            lane.remove();
        }
        Some(first)
    }
}

impl fmt::Debug for ReadyQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadyQueue")
            .field("len", &self.len())
            .field("now", &self.clock.now)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
