//! The durable side of a budget.

use std::{error::Error, fmt, pin::Pin, sync::Arc};

use super::Units;

/// Where reservations survive the process.
///
/// A host awaits [`reserve`](Self::reserve) before it calls [`Reservation::sent`](crate::Reservation::sent), so that no
/// call leaves that the ledger does not know.
///
/// # Contract
///
/// - What is reserved is durable when the future resolves.
/// - Ids are idempotent: a second `reserve`, `settle` or `release` with an id and the same units changes nothing.
/// - A counter that was reserved and that the settlement does not name is spent as reserved, as it is in the budget.
/// - A reservation that is neither settled nor released when the ledger is opened again counts as spent in full; the
///   host books it with [`Budget::charge`](crate::Budget::charge).
///
/// # Cancel safety
///
/// A future that is dropped midway leaves the reservation either unknown or durable; the next call with its id settles
/// which.
///
/// # Errors
///
/// A [`LedgerError`] says that the outcome is unknown: the host repeats the call or treats the units as spent.
pub trait BudgetLedger: Send + Sync + 'static {
    /// Writes down that `units` are set aside under `id`.
    fn reserve(&self, id: &str, units: &Units) -> impl Future<Output = Result<(), LedgerError>> + Send;

    /// Writes down what the reservation `id` really took.
    fn settle(&self, id: &str, actual: &Units) -> impl Future<Output = Result<(), LedgerError>> + Send;

    /// Writes down that the reservation `id` was given back: nothing left.
    fn release(&self, id: &str) -> impl Future<Output = Result<(), LedgerError>> + Send;
}

/// A ledger did not answer as it should.
#[derive(Debug, thiserror::Error)]
#[error("budget ledger did not record `{id}`")]
pub struct LedgerError {
    id: String,
    source: Box<dyn Error + Send + Sync>,
}

impl LedgerError {
    /// The reservation and the cause.
    pub fn new(id: impl Into<String>, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { id: id.into(), source: source.into() }
    }

    /// The reservation whose outcome is unknown.
    pub fn id(&self) -> &str {
        &self.id
    }
}

/// Any [`BudgetLedger`] as one type, for choices made at run time.
#[derive(Clone)]
pub struct AnyLedger(Arc<dyn Erased>);

impl AnyLedger {
    /// Wraps a ledger.
    pub fn new(ledger: impl BudgetLedger) -> Self {
        Self(Arc::new(ledger))
    }
}

impl fmt::Debug for AnyLedger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnyLedger")
    }
}

impl BudgetLedger for AnyLedger {
    async fn reserve(&self, id: &str, units: &Units) -> Result<(), LedgerError> {
        self.0.reserve_boxed(id, units).await
    }

    async fn settle(&self, id: &str, actual: &Units) -> Result<(), LedgerError> {
        self.0.settle_boxed(id, actual).await
    }

    async fn release(&self, id: &str) -> Result<(), LedgerError> {
        self.0.release_boxed(id).await
    }
}

type Recorded<'a> = Pin<Box<dyn Future<Output = Result<(), LedgerError>> + Send + 'a>>;

trait Erased: Send + Sync {
    fn reserve_boxed<'a>(&'a self, id: &'a str, units: &'a Units) -> Recorded<'a>;
    fn settle_boxed<'a>(&'a self, id: &'a str, actual: &'a Units) -> Recorded<'a>;
    fn release_boxed<'a>(&'a self, id: &'a str) -> Recorded<'a>;
}

impl<L: BudgetLedger> Erased for L {
    fn reserve_boxed<'a>(&'a self, id: &'a str, units: &'a Units) -> Recorded<'a> {
        Box::pin(self.reserve(id, units))
    }

    fn settle_boxed<'a>(&'a self, id: &'a str, actual: &'a Units) -> Recorded<'a> {
        Box::pin(self.settle(id, actual))
    }

    fn release_boxed<'a>(&'a self, id: &'a str) -> Recorded<'a> {
        Box::pin(self.release(id))
    }
}
