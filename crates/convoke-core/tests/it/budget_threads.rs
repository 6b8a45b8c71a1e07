//! Budgets under many threads: no limit is passed at any look, but by what a settlement booked beyond.

use std::{
    sync::{
        Barrier,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
};

use proptest::prelude::*;

use convoke_core::{Budget, Units};

const RUN_LIMIT: u64 = 30;
const TEAM_LIMIT: u64 = 20;

/// How a reservation ends.
#[derive(Clone, Copy, Debug)]
enum End {
    DropUnsent,
    DropSent,
    /// Settled with so many less than was reserved.
    Under(u64),
    /// Settled with so many more.
    Over(u64),
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![
        4 => Just(End::DropUnsent),
        1 => Just(End::DropSent),
        3 => (1_u64..6).prop_map(End::Under),
        1 => (1_u64..3).prop_map(End::Over),
    ]
}

/// What one thread does: for each reservation its size, how many are held before the oldest ends, and its end.
type Script = Vec<(u64, usize, End)>;

fn script() -> impl Strategy<Value = Script> {
    prop::collection::vec((1_u64..6, 0_usize..4, end()), 0..40)
}

#[derive(Default)]
struct Booked {
    spent: AtomicU64,
    /// Counted before it is booked, so that a look at the budget never finds more.
    beyond: AtomicU64,
}

fn play(script: Script, budget: &Budget, booked: &Booked) {
    let finish = |(mut reservation, asked, end): (convoke_core::Reservation, u64, End)| {
        let spent = match end {
            End::DropUnsent => {
                drop(reservation);
                0
            }
            End::DropSent => {
                reservation.sent();
                drop(reservation);
                asked
            }
            End::Under(less) => {
                reservation.sent();
                reservation.settle(&Units::calls(asked.saturating_sub(less)));
                asked.saturating_sub(less)
            }
            End::Over(more) => {
                booked.beyond.fetch_add(more, Ordering::SeqCst);
                reservation.settle(&Units::calls(asked + more));
                asked + more
            }
        };
        booked.spent.fetch_add(spent, Ordering::SeqCst);
    };
    let mut held = std::collections::VecDeque::new();
    for (asked, hold, end) in script {
        if let Ok(reservation) = budget.reserve(Units::calls(asked)) {
            held.push_back((reservation, asked, end));
        }
        while held.len() > hold {
            held.pop_front().into_iter().for_each(finish);
        }
    }
    held.into_iter().for_each(finish);
}

/// The budget is looked at first: what is booked beyond a limit was counted before.
fn assert_within<'a>(budget: &Budget, limit: u64, booked: impl IntoIterator<Item = &'a Booked>) {
    let usage = budget.usage("calls");
    let beyond: u64 = booked.into_iter().map(|booked| booked.beyond.load(Ordering::SeqCst)).sum();
    assert!(usage.committed + usage.reserved <= limit + beyond, "{usage:?}, {beyond} booked beyond");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn what_is_committed_and_reserved_stays_within_every_limit(
        scripts in prop::collection::vec(script(), 4),
    ) {
        let run = Budget::builder().limit("calls", RUN_LIMIT).build();
        let teams = [0, 1].map(|_| run.child().limit("calls", TEAM_LIMIT).build());
        let booked = [Booked::default(), Booked::default()];
        let is_over = AtomicBool::new(false);
        let look = || {
            for (team, booked) in teams.iter().zip(&booked) {
                assert_within(team, TEAM_LIMIT, [booked]);
            }
            assert_within(&run, RUN_LIMIT, &booked);
        };

        thread::scope(|scope| {
            let watcher = scope.spawn(|| {
                while !is_over.load(Ordering::SeqCst) {
                    look();
                    thread::yield_now();
                }
            });
            let players: Vec<_> = scripts
                .into_iter()
                .enumerate()
                .map(|(index, script)| {
                    let (team, booked) = (&teams[index % 2], &booked[index % 2]);
                    scope.spawn(move || play(script, &team.child().build(), booked))
                })
                .collect();
            let played: Vec<_> = players.into_iter().map(thread::ScopedJoinHandle::join).collect();
            is_over.store(true, Ordering::SeqCst);
            watcher.join().unwrap();
            played.into_iter().for_each(Result::unwrap);
        });

        let used = |budget: &Budget| (budget.usage("calls").committed, budget.usage("calls").reserved);
        let spent = booked.map(|booked| booked.spent.into_inner());
        prop_assert_eq!(teams.each_ref().map(used), spent.map(|spent| (spent, 0)));
        prop_assert_eq!(used(&run), (spent.iter().sum(), 0));
    }
}

#[test]
fn two_threads_never_take_the_last_unit_both() {
    let run = Budget::builder().limit("calls", 100).build();
    let team = run.child().limit("calls", 1).build();
    let start = Barrier::new(4);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                start.wait();
                for _ in 0..50_000 {
                    if let Ok(reservation) = team.reserve(Units::calls(1)) {
                        assert_eq!(team.usage("calls").reserved, 1);
                        drop(reservation);
                    }
                }
            });
        }
    });
    assert_eq!((team.usage("calls").reserved, run.usage("calls").reserved), (0, 0));
}
