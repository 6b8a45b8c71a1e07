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
//! Time never goes back, so a step moves on at most twice. Two more orders, by deadline, say who does next. An entry of a
//! step that moved, was taken or was removed stays where it is and is thrown away when it comes first; what has more of
//! those than of others is swept. So nothing is larger than twice its steps and a constant, each step enters at most five
//! orders at O(log n) each, and a queue of n steps takes O(log n) a pick, averaged over the picks, whatever the deadlines
//! do.
//!
//! [`fixed`]: super::fixed

mod entry;
mod heap;
mod places;
mod timers;

use std::fmt;

use crate::{
    Plan, Prioritization, PriorityScorer, ScoreError, StepIndex,
    priority::{
        fixed,
        queue::{
            entry::{Moves, NO_DEADLINE},
            heap::Heap,
            places::{Place, Places},
            timers::Timers,
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
    deadline_weight: i128,
    horizon: u64,
    now: u64,
    /// No step moves on before this time.
    next_move: u64,
    places: Places,
    before: Heap,
    inside: Heap,
    overdue: Heap,
    entering: Timers,
    expiring: Timers,
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
            // A weight is within the range by its construction.
            deadline_weight: fixed::from_f64(of_deadline.deadline()).unwrap_or_default(),
            horizon: of_deadline.horizon_millis(),
            now: 0,
            next_move: u64::MAX,
            places: Places::new(plan.steps().len()),
            before: Heap::new(Place::Before),
            inside: Heap::new(Place::Inside),
            overdue: Heap::new(Place::Overdue),
            entering: Timers::new(Place::Before),
            expiring: Timers::new(Place::Inside),
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
        for heap in [&mut self.before, &mut self.inside, &mut self.overdue] {
            heap.clear();
        }
        self.entering.clear();
        self.expiring.clear();
        self.next_move = u64::MAX;
    }

    /// Queues a step; one that is queued already is scored anew. A place that the plan does not have is ignored.
    ///
    /// # Errors
    ///
    /// [`ScoreError`] where its score orders nothing. The step is not queued then.
    pub fn push(&mut self, plan: &Plan, step: StepIndex, now_unix_millis: u64) -> Result<(), ScoreError> {
        self.advance(now_unix_millis);
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
        let generation = self.places.enter(step);
        self.settle(Moves { deadline, base, step, generation });
        Ok(())
    }

    /// The first step at a moment, which stays in the queue.
    pub fn peek(&mut self, now_unix_millis: u64) -> Option<StepIndex> {
        self.first(now_unix_millis).map(|(_, step)| step)
    }

    /// Takes the first step at a moment.
    pub fn pop(&mut self, now_unix_millis: u64) -> Option<StepIndex> {
        let (place, step) = self.first(now_unix_millis)?;
        // It is at the top; were it left there, the next look would have to throw it away.
        match place {
            Place::Before => self.before.pop(),
            Place::Inside => self.inside.pop(),
            Place::Overdue => self.overdue.pop(),
        }
        self.remove(step);
        Some(step)
    }

    /// Takes a step out; `false` where it was not in.
    pub fn remove(&mut self, step: StepIndex) -> bool {
        let place = self.places.leave(step);
        match place {
            Some(Place::Before) => {
                self.before.sweep(&self.places);
                self.entering.sweep(&self.places);
            }
            Some(Place::Inside) => {
                self.inside.sweep(&self.places);
                self.expiring.sweep(&self.places);
            }
            Some(Place::Overdue) => self.overdue.sweep(&self.places),
            None => {}
        }
        place.is_some()
    }

    /// Whether a step is queued.
    pub fn contains(&self, step: StepIndex) -> bool {
        self.places.of(step).is_some()
    }

    /// How many steps are queued.
    pub fn len(&self) -> usize {
        self.places.queued()
    }

    /// Whether no step is queued.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn first(&mut self, now: u64) -> Option<(Place, StepIndex)> {
        self.advance(now);
        let (weight, horizon) = (self.deadline_weight, i128::from(self.horizon));
        let inside = weight * (horizon + i128::from(self.now));
        let tops = [
            (Place::Before, self.before.peek(&self.places).map(|top| top.with_key(top.key * horizon))),
            (Place::Inside, self.inside.peek(&self.places).map(|top| top.with_key(top.key + inside))),
            (
                Place::Overdue,
                self.overdue.peek(&self.places).map(|top| top.with_key((top.key + weight) * horizon)),
            ),
        ];
        // Keys are scores × horizon now, which compare whatever the place.
        let tops = tops.into_iter().filter_map(|(place, top)| Some((place, top?)));
        tops.max_by(|(_, a), (_, b)| a.cmp(b)).map(|(place, top)| (place, top.step))
    }

    /// Moves on what the time has moved on.
    fn advance(&mut self, now: u64) {
        self.now = self.now.max(now.min(fixed::MAX_NOW_MILLIS));
        if self.now < self.next_move {
            return;
        }
        let (now, horizon) = (self.now, self.horizon);
        while let Some(item) = self.entering.pop_if(&self.places, |item| item.enters(horizon) <= now) {
            self.settle(item);
            self.before.sweep(&self.places);
        }
        while let Some(item) = self.expiring.pop_if(&self.places, |item| item.deadline <= now) {
            self.settle(item);
            self.inside.sweep(&self.places);
        }
        let entering = self.entering.peek(&self.places).map(|item| item.enters(horizon));
        let expiring = self.expiring.peek(&self.places).map(|item| item.deadline);
        self.next_move = entering.into_iter().chain(expiring).min().unwrap_or(u64::MAX);
    }

    /// Puts a step where it belongs now.
    fn settle(&mut self, item: Moves) {
        let remaining = item.deadline.saturating_sub(self.now);
        let place = match remaining {
            0 => Place::Overdue,
            _ if remaining < self.horizon => Place::Inside,
            _ => Place::Before,
        };
        self.places.move_to(item.step, place);
        match place {
            Place::Before => {
                self.before.push(item.ranked(item.base));
                if item.deadline != NO_DEADLINE {
                    self.entering.push(item);
                    self.next_move = self.next_move.min(item.enters(self.horizon));
                }
            }
            Place::Inside => {
                let key =
                    item.base * i128::from(self.horizon) - self.deadline_weight * i128::from(item.deadline);
                self.inside.push(item.ranked(key));
                self.expiring.push(item);
                self.next_move = self.next_move.min(item.deadline);
            }
            Place::Overdue => self.overdue.push(item.ranked(item.base)),
        }
    }
}

impl fmt::Debug for ReadyQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadyQueue").field("len", &self.len()).field("now", &self.now).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
