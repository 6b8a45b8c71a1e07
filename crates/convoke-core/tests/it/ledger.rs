//! The durable side of a budget, with a ledger that the test can look into.

use std::{
    collections::BTreeMap,
    error::Error,
    sync::{Arc, Mutex},
};

use convoke_core::{AnyLedger, Budget, BudgetLedger, ErrorCode, ExecutorError, LedgerError, Units};

#[derive(Clone, Debug, PartialEq)]
enum Entry {
    Open(Units),
    Settled(Units),
    Released,
}

/// Writes to a map, which stands for the disk, until it is told to fail.
#[derive(Clone, Default)]
struct MapLedger(Arc<Mutex<Disk>>);

#[derive(Default)]
struct Disk {
    entries: BTreeMap<String, Entry>,
    is_full: bool,
}

impl MapLedger {
    fn write(
        &self,
        id: &str,
        change: impl FnOnce(Option<&Entry>) -> Option<Entry>,
    ) -> Result<(), LedgerError> {
        let mut disk = self.0.lock().unwrap();
        if disk.is_full {
            return Err(LedgerError::new(id, "disk is full"));
        }
        if let Some(entry) = change(disk.entries.get(id)) {
            disk.entries.insert(id.to_owned(), entry);
        }
        Ok(())
    }

    fn entry(&self, id: &str) -> Option<Entry> {
        self.0.lock().unwrap().entries.get(id).cloned()
    }

    /// What a host does with the ledger that it finds: the settled counts as settled, the open as spent.
    fn load(&self, budget: &Budget) {
        for entry in self.0.lock().unwrap().entries.values() {
            match entry {
                Entry::Open(units) | Entry::Settled(units) => budget.charge(units),
                Entry::Released => {}
            }
        }
    }
}

impl BudgetLedger for MapLedger {
    async fn reserve(&self, id: &str, units: &Units) -> Result<(), LedgerError> {
        self.write(id, |entry| entry.is_none().then(|| Entry::Open(units.clone())))
    }

    async fn settle(&self, id: &str, actual: &Units) -> Result<(), LedgerError> {
        self.write(id, |_| Some(Entry::Settled(actual.clone())))
    }

    async fn release(&self, id: &str) -> Result<(), LedgerError> {
        self.write(id, |_| Some(Entry::Released))
    }
}

/// A call as a model wrapper makes it: reserved, durable, sent, settled.
async fn call(
    budget: &Budget,
    ledger: &impl BudgetLedger,
    id: &str,
    actual: u64,
) -> Result<(), ExecutorError> {
    let mut reservation = budget.reserve(Units::calls(1).with("tokens", 50))?;
    ledger.reserve(id, reservation.units()).await?;
    reservation.sent();
    let actual = Units::calls(1).with("tokens", actual);
    reservation.settle(&actual);
    ledger.settle(id, &actual).await?;
    Ok(())
}

fn budget() -> Budget {
    Budget::builder().limit("calls", 3).limit("tokens", 120).build()
}

fn spent(budget: &Budget) -> (u64, u64) {
    (budget.usage("calls").committed, budget.usage("tokens").committed)
}

#[tokio::test]
async fn any_ledger_passes_everything_on() {
    let disk = MapLedger::default();
    let ledger = AnyLedger::new(disk.clone());
    let wrapped = AnyLedger::new(ledger.clone());

    ledger.reserve("a", &Units::calls(1)).await.unwrap();
    assert_eq!(disk.entry("a"), Some(Entry::Open(Units::calls(1))));
    wrapped.settle("a", &Units::calls(2)).await.unwrap();
    assert_eq!(disk.entry("a"), Some(Entry::Settled(Units::calls(2))));
    wrapped.reserve("b", &Units::calls(1)).await.unwrap();
    wrapped.release("b").await.unwrap();
    assert_eq!(disk.entry("b"), Some(Entry::Released));
    assert_eq!(format!("{ledger:?}"), "AnyLedger");

    disk.0.lock().unwrap().is_full = true;
    for result in [
        wrapped.reserve("c", &Units::none()).await,
        wrapped.settle("c", &Units::none()).await,
        wrapped.release("c").await,
    ] {
        let error = result.unwrap_err();
        assert_eq!((error.id(), error.to_string().as_str()), ("c", "budget ledger did not record `c`"));
        assert_eq!(error.source().unwrap().to_string(), "disk is full");
    }
    assert_eq!(disk.entry("c"), None);
}

#[tokio::test]
async fn an_erased_ledger_goes_to_other_threads() {
    fn check<T: Send>(value: T) -> T {
        value
    }
    let ledger = AnyLedger::new(MapLedger::default());
    let units = Units::calls(1);
    check(ledger.reserve("a", &units)).await.unwrap();
    check(call(&budget(), &ledger, "b", 1)).await.unwrap();
}

#[tokio::test]
async fn nothing_is_spent_where_the_ledger_does_not_know_the_call() {
    let (budget, disk) = (budget(), MapLedger::default());
    disk.0.lock().unwrap().is_full = true;
    let error = call(&budget, &AnyLedger::new(disk.clone()), "a", 10).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ExecutionFailed);
    assert_eq!(error.into_task_error().detail(), Some("budget ledger did not record `a`: disk is full"));
    assert_eq!(
        (spent(&budget), budget.usage("calls").reserved),
        ((0, 0), 0),
        "it never left, so it is given back"
    );
}

#[tokio::test]
async fn a_reservation_found_open_after_a_crash_is_spent() {
    let disk = MapLedger::default();
    let ledger = AnyLedger::new(disk.clone());
    {
        let before = budget();
        call(&before, &ledger, "settled", 10).await.unwrap();
        let given_back = before.reserve(Units::calls(1)).unwrap();
        ledger.reserve("given back", given_back.units()).await.unwrap();
        drop(given_back);
        ledger.release("given back").await.unwrap();

        // The process is killed after the call left: nothing settles it, no destructor runs.
        let mut sent = before.reserve(Units::calls(1).with("tokens", 50)).unwrap();
        ledger.reserve("sent", sent.units()).await.unwrap();
        sent.sent();
        std::mem::forget(sent);
    }

    let after = budget();
    disk.load(&after);
    assert_eq!(spent(&after), (2, 60));
    assert!(after.reserve(Units::calls(1).with("tokens", 61)).is_err());
    call(&after, &ledger, "next", 60).await.unwrap();
    let error = call(&after, &ledger, "one too many", 1).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::BudgetExhausted);
    assert_eq!(disk.entry("one too many"), None);
}

#[tokio::test]
async fn the_ledger_of_this_test_keeps_its_contract() {
    let disk = MapLedger::default();
    disk.reserve("a", &Units::calls(1)).await.unwrap();
    disk.reserve("a", &Units::calls(1)).await.unwrap();
    assert_eq!(disk.entry("a"), Some(Entry::Open(Units::calls(1))));
    disk.settle("a", &Units::calls(1)).await.unwrap();
    disk.reserve("a", &Units::calls(1)).await.unwrap();
    assert_eq!(disk.entry("a"), Some(Entry::Settled(Units::calls(1))), "a repeated word changes nothing");
}
