//! Budgets: named counters that are reserved before anything is spent, nested so that a child draws on its parents.

mod ledger;
mod reservation;
mod units;

use std::{borrow::Cow, collections::BTreeMap, fmt, iter, sync::Arc};

pub use ledger::{AnyLedger, BudgetLedger, LedgerError};
use parking_lot::Mutex;
pub use reservation::Reservation;
pub use units::Units;

/// Why a reservation was refused; nothing was reserved anywhere.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BudgetError {
    /// Too little is left.
    #[error("budget has {left} `{counter}` left of {limit}; {asked} were asked for")]
    Exhausted {
        /// The counter.
        counter: String,
        /// How many were asked for.
        asked: u64,
        /// How many are left.
        left: u64,
        /// The limit of the budget that refuses, which may be a parent's.
        limit: u64,
    },
    /// No budget of the chain counts this; a typo would otherwise be a hole in the limit.
    #[error("budget does not count `{counter}`; limit it, or declare it unlimited")]
    Unknown {
        /// The counter.
        counter: String,
    },
}

/// Named counters with limits: `calls`, `tokens`, `steps`, `cost` in millionths of the host's currency, or any other.
///
/// Spending takes three steps: [`reserve`](Self::reserve) before anything leaves, [`Reservation::sent`] when it leaves,
/// [`Reservation::settle`] with what it really took. A reservation that is dropped before it was sent gives everything
/// back; one that is dropped after counts in full, because nobody knows what it took, and so does a counter that the
/// settlement does not name.
///
/// A [`child`](Self::child) draws on every ancestor, all or nothing. Under any concurrency, what is committed and
/// reserved never exceeds a limit, but for overshoots that a settlement books: they are spent, and make the next
/// reservation refuse.
///
/// ```
/// use convoke_core::{Budget, Units};
///
/// # fn main() -> Result<(), convoke_core::BudgetError> {
/// let team = Budget::builder().limit("calls", 10).unlimited("tokens").build();
/// let task = team.child().limit("calls", 2).build();
///
/// let mut reservation = task.reserve(Units::calls(1).with("tokens", 500))?;
/// reservation.sent();
/// reservation.settle(&Units::calls(1).with("tokens", 620));
///
/// assert_eq!(team.usage("tokens").committed, 620);
/// assert_eq!(task.usage("calls").left(), Some(1));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Budget(Arc<Node>);

struct Node {
    parent: Option<Budget>,
    counters: Mutex<BTreeMap<Cow<'static, str>, BudgetUsage>>,
}

/// How far a counter is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BudgetUsage {
    /// The most that may be spent; `None` where this budget sets no limit of its own.
    pub limit: Option<u64>,
    /// What is spent.
    pub committed: u64,
    /// What is set aside for what is under way.
    pub reserved: u64,
}

impl BudgetUsage {
    /// What can still be reserved here; `None` where this budget sets no limit of its own.
    pub fn left(&self) -> Option<u64> {
        Some(self.limit?.saturating_sub(self.committed.saturating_add(self.reserved)))
    }
}

/// Sets the limits of a budget.
#[derive(Debug)]
#[must_use = "a builder does nothing until `build`"]
pub struct BudgetBuilder {
    parent: Option<Budget>,
    counters: BTreeMap<Cow<'static, str>, BudgetUsage>,
}

impl BudgetBuilder {
    /// Limits a counter.
    pub fn limit(mut self, counter: impl Into<Cow<'static, str>>, limit: u64) -> Self {
        self.counters.insert(counter.into(), BudgetUsage { limit: Some(limit), ..BudgetUsage::default() });
        self
    }

    /// Counts without a limit.
    pub fn unlimited(mut self, counter: impl Into<Cow<'static, str>>) -> Self {
        self.counters.insert(counter.into(), BudgetUsage::default());
        self
    }

    /// The budget.
    pub fn build(self) -> Budget {
        Budget(Arc::new(Node { parent: self.parent, counters: Mutex::new(self.counters) }))
    }
}

impl Budget {
    /// A budget of its own, which counts nothing until it is told what.
    pub fn builder() -> BudgetBuilder {
        BudgetBuilder { parent: None, counters: BTreeMap::new() }
    }

    /// A budget under this one. A counter that it does not name is limited by its ancestors alone.
    pub fn child(&self) -> BudgetBuilder {
        BudgetBuilder { parent: Some(self.clone()), counters: BTreeMap::new() }
    }

    /// Whether this is `other`, or draws on it.
    pub fn is_under(&self, other: &Self) -> bool {
        self.chain().any(|budget| Arc::ptr_eq(&budget.0, &other.0))
    }

    /// Sets `units` aside here and in every ancestor, or nowhere.
    ///
    /// # Errors
    ///
    /// [`BudgetError`] names the counter that has too little left, or that nobody counts.
    pub fn reserve(&self, units: Units) -> Result<Reservation, BudgetError> {
        if let Some((counter, _)) = units.iter().find(|(counter, _)| !self.counts(counter)) {
            return Err(BudgetError::Unknown { counter: counter.to_owned() });
        }
        self.take(&units)?;
        Ok(Reservation::new(self.clone(), units))
    }

    /// Books what is known to be spent already, for example a reservation that a ledger shows open after a kill.
    pub fn charge(&self, units: &Units) {
        self.settle(&Units::default(), units);
    }

    /// How far this budget's own counter is used; all zero where it does not name it.
    pub fn usage(&self, counter: &str) -> BudgetUsage {
        self.0.counters.lock().get(counter).copied().unwrap_or_default()
    }

    /// This budget and its ancestors, child before parent.
    fn chain(&self) -> impl Iterator<Item = &Self> {
        iter::successors(Some(self), |budget| budget.0.parent.as_ref())
    }

    fn counts(&self, counter: &str) -> bool {
        self.chain().any(|budget| budget.0.counters.lock().contains_key(counter))
    }

    /// Checks, then takes, while every lock of the chain is held, so that the whole chain changes at once; as they are
    /// locked child before parent, two chains never wait for each other.
    fn take(&self, units: &Units) -> Result<(), BudgetError> {
        let mut chain = Vec::new();
        for budget in self.chain() {
            let counters = budget.0.counters.lock();
            for (counter, asked) in units.iter() {
                let Some(usage) = counters.get(counter) else { continue };
                if let (Some(left), Some(limit)) = (usage.left(), usage.limit)
                    && asked > left
                {
                    return Err(BudgetError::Exhausted { counter: counter.to_owned(), asked, left, limit });
                }
            }
            chain.push(counters);
        }
        for counters in &mut chain {
            for (counter, asked) in units.iter() {
                if let Some(usage) = counters.get_mut(counter) {
                    usage.reserved = usage.reserved.saturating_add(asked);
                }
            }
        }
        Ok(())
    }

    /// Ends a reservation of `reserved` by booking `actual`; saturates, so that no report of usage can wrap a counter.
    fn settle(&self, reserved: &Units, actual: &Units) {
        let mut chain: Vec<_> = self.chain().map(|budget| budget.0.counters.lock()).collect();
        for counters in &mut chain {
            for (counter, amount) in reserved.iter() {
                if let Some(usage) = counters.get_mut(counter) {
                    usage.reserved = usage.reserved.saturating_sub(amount);
                }
            }
            for (counter, amount) in actual.iter() {
                if let Some(usage) = counters.get_mut(counter) {
                    usage.committed = usage.committed.saturating_add(amount);
                }
            }
        }
    }
}

/// Lets go of the ancestors in a loop: a chain that is dropped one inside the other needs a stack as deep as it is long.
impl Drop for Node {
    fn drop(&mut self) {
        let mut parent = self.parent.take();
        while let Some(Budget(node)) = parent {
            // Where others hold it too, the last of them goes on from there.
            parent = Arc::into_inner(node).and_then(|mut node| node.parent.take());
        }
    }
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Budget").field("counters", &*self.0.counters.lock()).finish_non_exhaustive()
    }
}
