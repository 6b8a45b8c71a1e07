//! Budgets: reserved before anything is spent, on every ancestor or nowhere.

use convoke_core::{Budget, BudgetError, Units};

use crate::values::assert_round_trip;

/// Committed and reserved.
fn used(budget: &Budget, counter: &str) -> (u64, u64) {
    let usage = budget.usage(counter);
    (usage.committed, usage.reserved)
}

fn exhausted(counter: &str, asked: u64, left: u64, limit: u64) -> BudgetError {
    let budget = Budget::builder().limit(counter.to_owned(), limit).build();
    budget.charge(&Units::none().with(counter.to_owned(), limit - left));
    budget.reserve(Units::none().with(counter.to_owned(), asked)).unwrap_err()
}

#[test]
fn a_limit_is_reached_and_not_passed() {
    let budget = Budget::builder().limit("calls", 3).build();
    let first = budget.reserve(Units::calls(2)).unwrap();
    assert_eq!(
        budget.reserve(Units::calls(2)).unwrap_err(),
        exhausted("calls", 2, 1, 3),
        "what is only reserved counts"
    );
    let second = budget.reserve(Units::calls(1)).unwrap();
    assert_eq!((used(&budget, "calls"), budget.usage("calls").left()), ((0, 3), Some(0)));
    assert!(budget.reserve(Units::calls(0)).is_ok());
    drop((first, second));
    assert_eq!(used(&budget, "calls"), (0, 0));
}

#[test]
fn a_reservation_ends_in_one_of_these_ways() {
    let budget = || Budget::builder().limit("tokens", 10).build();
    let open = |budget: &Budget| budget.reserve(Units::tokens(6)).unwrap();

    let one = budget();
    let reservation = open(&one);
    assert_eq!((reservation.units(), used(&one, "tokens")), (&Units::tokens(6), (0, 6)));
    drop(reservation);
    assert_eq!(used(&one, "tokens"), (0, 0), "dropped before it was sent: given back");

    let one = budget();
    let mut reservation = open(&one);
    reservation.sent();
    assert_eq!(used(&one, "tokens"), (0, 6));
    drop(reservation);
    assert_eq!(used(&one, "tokens"), (6, 0), "dropped after it was sent: spent in full");

    let one = budget();
    let mut reservation = open(&one);
    reservation.sent();
    reservation.settle(&Units::tokens(2));
    assert_eq!(used(&one, "tokens"), (2, 0), "settled: what it took");

    let one = budget();
    open(&one).settle(&Units::tokens(0));
    assert_eq!(used(&one, "tokens"), (0, 0), "settled with nothing: given back");

    let one = budget();
    open(&one).settle(&Units::none());
    assert_eq!(used(&one, "tokens"), (6, 0), "settled without a word about it: spent in full");
}

#[test]
fn what_a_settlement_does_not_name_is_spent_as_reserved_on_every_ancestor() {
    let run = Budget::builder().limit("calls", 5).limit("tokens", 90).unlimited("cost").build();
    let task = run.child().limit("tokens", 80).build();
    let mut reservation = task.reserve(Units::calls(2).with("tokens", 60).with("cost", 7)).unwrap();
    reservation.sent();
    reservation.settle(&Units::calls(1).with("cost", 0));
    assert_eq!(["calls", "tokens", "cost"].map(|counter| used(&run, counter)), [(1, 0), (60, 0), (0, 0)]);
    assert_eq!(used(&task, "tokens"), (60, 0));
    assert_eq!(task.reserve(Units::tokens(21)).unwrap_err(), exhausted("tokens", 21, 20, 80));
}

#[test]
fn a_call_whose_future_is_dropped_after_it_was_sent_is_spent() {
    let budget = Budget::builder().limit("calls", 1).build();
    let mut reservation = budget.reserve(Units::calls(1)).unwrap();
    let call = async move {
        reservation.sent();
        std::future::pending::<()>().await;
        reservation.settle(&Units::none());
    };
    let mut call = Box::pin(call);
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(call.as_mut().poll(&mut cx).is_pending());
    drop(call);
    assert_eq!(used(&budget, "calls"), (1, 0));
    assert!(budget.reserve(Units::calls(1)).is_err());
}

#[test]
fn an_overshoot_is_booked_and_the_next_reservation_is_refused() {
    let budget = Budget::builder().limit("tokens", 10).build();
    let reservation = budget.reserve(Units::tokens(6)).unwrap();
    reservation.settle(&Units::tokens(13));
    assert_eq!((used(&budget, "tokens"), budget.usage("tokens").left()), ((13, 0), Some(0)));
    let error = budget.reserve(Units::tokens(1)).unwrap_err();
    assert_eq!(error.to_string(), "budget has 0 `tokens` left of 10; 1 were asked for");
}

#[test]
fn settling_may_book_a_counter_that_was_not_reserved() {
    let budget = Budget::builder().limit("calls", 1).unlimited("tokens").build();
    let reservation = budget.reserve(Units::calls(1)).unwrap();
    reservation.settle(&Units::calls(1).with("tokens", 90).with("nobody counts this", 1));
    assert_eq!((used(&budget, "calls"), used(&budget, "tokens")), ((1, 0), (90, 0)));
}

#[test]
fn a_child_draws_on_every_ancestor() {
    let run = Budget::builder().limit("calls", 10).unlimited("tokens").build();
    let team = run.child().limit("calls", 5).build();
    let task = team.child().limit("tokens", 100).build();

    let mut reservation = task.reserve(Units::calls(2).with("tokens", 30)).unwrap();
    let all = |counter| [&run, &team, &task].map(|budget| used(budget, counter));
    assert_eq!(
        all("calls"),
        [(0, 2), (0, 2), (0, 0)],
        "a counter that it does not name is its ancestors' alone"
    );
    assert_eq!(all("tokens"), [(0, 30), (0, 0), (0, 30)]);

    reservation.sent();
    reservation.settle(&Units::calls(1).with("tokens", 40));
    assert_eq!(all("calls"), [(1, 0), (1, 0), (0, 0)]);
    assert_eq!(all("tokens"), [(40, 0), (0, 0), (40, 0)]);
    assert_eq!(task.usage("calls").limit, None);
}

#[test]
fn a_reservation_is_taken_everywhere_or_nowhere() {
    let run = Budget::builder().limit("calls", 1).limit("steps", 9).build();
    let team = run.child().limit("calls", 5).build();
    let task = team.child().limit("calls", 9).limit("steps", 9).build();
    assert_eq!(
        task.reserve(Units::steps(1).with("calls", 2)).unwrap_err(),
        exhausted("calls", 2, 1, 1),
        "the refusal is the ancestor's"
    );
    assert_eq!(
        task.reserve(Units::calls(1).with("steps", 10)).unwrap_err(),
        exhausted("steps", 10, 9, 9),
        "one counter too many refuses all"
    );
    for budget in [&run, &team, &task] {
        assert_eq!((used(budget, "calls"), used(budget, "steps")), ((0, 0), (0, 0)));
    }
}

#[test]
fn a_chain_may_be_of_any_length() {
    let run = Budget::builder().limit("calls", 3).build();
    let mut task = run.child().limit("steps", 1).build();
    for _ in 0..100_000 {
        task = task.child().limit("steps", 1).build();
    }
    let mut reservation = task.reserve(Units::calls(2).with("steps", 1)).unwrap();
    assert_eq!((used(&run, "calls"), used(&task, "steps")), ((0, 2), (0, 1)));
    reservation.sent();
    reservation.settle(&Units::calls(1).with("steps", 0));
    assert_eq!((used(&run, "calls"), used(&task, "steps")), ((1, 0), (0, 0)));

    assert_eq!(
        task.reserve(Units::steps(1).with("calls", 3)).unwrap_err(),
        exhausted("calls", 3, 2, 3),
        "the refusal comes from the far end"
    );
    assert_eq!(used(&task, "steps"), (0, 0));
    assert!(matches!(task.reserve(Units::tokens(1)), Err(BudgetError::Unknown { .. })));

    let sibling = task.child().build();
    drop(task);
    let held = sibling.reserve(Units::calls(1)).unwrap();
    drop(sibling);
    assert_eq!(used(&run, "calls"), (1, 1), "a reservation keeps its chain");
    drop(held);
    assert_eq!(used(&run, "calls"), (1, 0));
}

#[test]
fn what_nobody_counts_is_refused() {
    let run = Budget::builder().limit("calls", 9).build();
    let task = run.child().unlimited("tokens").build();
    let error = task.reserve(Units::calls(1).with("token", 5)).unwrap_err();
    assert_eq!(error.to_string(), "budget does not count `token`; limit it, or declare it unlimited");
    assert_eq!(used(&run, "calls"), (0, 0));
    assert!(task.reserve(Units::calls(1).with("tokens", 5)).is_ok());
    assert!(
        matches!(run.reserve(Units::tokens(1)), Err(BudgetError::Unknown { .. })),
        "a child's counter is its own"
    );
    assert!(matches!(Budget::builder().build().reserve(Units::calls(0)), Err(BudgetError::Unknown { .. })));
    assert!(Budget::builder().build().reserve(Units::none()).is_ok());
}

#[test]
fn charging_books_without_asking_on_every_ancestor() {
    let run = Budget::builder().limit("cost", 5).build();
    let task = run.child().limit("cost", 3).build();
    task.charge(&Units::cost(4));
    assert_eq!([&run, &task].map(|budget| used(budget, "cost")), [(4, 0), (4, 0)]);
    assert_eq!([&run, &task].map(|budget| budget.usage("cost").left()), [Some(1), Some(0)]);
    assert!(task.reserve(Units::cost(1)).is_err());
    assert!(run.reserve(Units::cost(1)).is_ok());
}

#[test]
fn no_amount_wraps_a_counter() {
    let budget = Budget::builder().limit("tokens", u64::MAX).build();
    budget.reserve(Units::tokens(u64::MAX)).unwrap().settle(&Units::tokens(u64::MAX));
    budget.charge(&Units::tokens(u64::MAX));
    assert_eq!(used(&budget, "tokens"), (u64::MAX, 0));
    assert!(budget.reserve(Units::tokens(1)).is_err());
    assert_eq!(Units::tokens(u64::MAX).with("tokens", 1), Units::tokens(u64::MAX));
}

#[test]
fn a_clone_is_the_same_budget_and_a_later_limit_replaces_an_earlier_one() {
    let budget = Budget::builder().limit("calls", 9).limit("calls", 1).build();
    let reservation = budget.clone().reserve(Units::calls(1)).unwrap();
    assert_eq!(used(&budget, "calls"), (0, 1));
    assert!(format!("{budget:?} {reservation:?}").contains("reserved: 1"));
}

#[test]
fn units_name_each_counter_once() {
    let units = Units::calls(1).with("tokens", 5).with("calls", 2);
    assert_eq!(units.iter().collect::<Vec<_>>(), [("calls", 3), ("tokens", 5)]);
    assert_eq!((units.get("calls"), units.get("steps")), (3, 0));
    assert_round_trip(&units);
    assert_eq!(serde_json::to_string(&units).unwrap(), r#"[["calls",3],["tokens",5]]"#);
}

#[test]
fn units_that_were_read_cannot_pass_a_limit_by_naming_a_counter_twice() {
    let units: Units = serde_json::from_str(r#"[["calls",2],["calls",2]]"#).unwrap();
    assert_eq!(units, Units::calls(4));
    let budget = Budget::builder().limit("calls", 3).build();
    assert_eq!(budget.reserve(units).unwrap_err(), exhausted("calls", 4, 3, 3));
}

/// A step for each pair of counters would take minutes.
#[test]
fn units_of_very_many_counters_are_read_and_settled() {
    let written: Vec<(String, u64)> =
        (0..400_000).map(|number| (format!("c{}", number % 200_000), 1)).collect();
    let units: Units = serde_json::from_value(serde_json::to_value(&written).unwrap()).unwrap();
    assert_eq!(units.iter().nth(7), Some(("c7", 2)), "the order is that of the first naming");
    assert_eq!(units.iter().count(), 200_000);
    let limits = units
        .iter()
        .fold(Budget::builder(), |builder, (counter, amount)| builder.limit(counter.to_owned(), amount));
    let budget = limits.build();
    budget.reserve(units.clone()).unwrap().settle(&units);
    assert_eq!(used(&budget, "c7"), (2, 0));
}
