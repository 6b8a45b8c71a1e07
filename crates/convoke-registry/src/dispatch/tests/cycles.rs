//! Waits that could never end, and those that could.

use super::{
    house::House,
    rules::{Call, Request, Wanted},
};

/// `P` has agent `a`, `Q` has agent `b`.
fn two_parents(limit: usize) -> House {
    let mut house = House::new(limit, &[("a", 1), ("b", 1), ("c", 1)]);
    house.asks('P', "a");
    house.asks('Q', "b");
    house
}

#[test]
fn a_task_that_asks_for_its_own_agent_is_refused() {
    let mut house = two_parents(4);
    assert_eq!(house.calls('P', 'C', "a"), "wait_cycle");
    assert_eq!(house.path(), "C needs a of P, P awaits C");
    assert_eq!(house.calls('P', 'D', "c"), "has c", "the parent goes on");
    house.empties();
}

#[test]
fn of_two_parents_that_ask_for_each_others_agent_exactly_one_is_refused() {
    for limit in 2..5 {
        let mut house = two_parents(limit);
        assert_eq!(house.calls('P', 'C', "b"), "waits");
        assert_eq!(house.calls('Q', 'D', "a"), "wait_cycle");
        assert_eq!(house.path(), "D needs a of P, P awaits C, C needs b of Q, Q awaits D");
        house.ends('Q');
        assert_eq!(house.news(), "C has b");
        house.empties();
    }
}

#[test]
fn a_circle_of_three_is_refused_where_it_closes() {
    let mut house = two_parents(4);
    house.asks('R', "c");
    assert_eq!(house.calls('P', 'C', "b"), "waits");
    assert_eq!(house.calls('Q', 'D', "c"), "waits");
    assert_eq!(house.calls('R', 'E', "a"), "wait_cycle");
    assert_eq!(
        house.path(),
        "E needs a of P, P awaits C, C needs b of Q, Q awaits D, D needs c of R, R awaits E"
    );
    house.ends('R');
    assert_eq!(house.news(), "D has c");
    house.empties();
}

#[test]
fn the_path_goes_through_the_tasks_between() {
    let mut house = two_parents(4);
    house.calls('P', 'C', "c");
    assert_eq!(house.calls('C', 'D', "a"), "wait_cycle");
    assert_eq!(house.path(), "D needs a of P, P awaits C, C awaits D");
    house.empties();
}

#[test]
fn a_waiter_that_merely_started_a_child_blocks_nobody() {
    let mut house = two_parents(4);
    // `C` is started by `P` and not awaited.
    assert_eq!(house.asks('C', "b"), "waits");
    assert_eq!(house.calls('Q', 'D', "a"), "waits", "`P` can end");
    house.ends('P');
    assert_eq!(house.news(), "D has a");
    house.empties();
}

#[test]
fn an_empty_wait_blocks_nobody() {
    let mut house = two_parents(4);
    house.call(&Call::OpenWait { wait: 'P', awaiter: 'P' });
    assert_eq!(house.calls('Q', 'D', "a"), "waits");
    house.empties();
}

#[test]
fn a_wait_that_has_ended_blocks_nobody() {
    let mut house = two_parents(4);
    assert_eq!(house.calls('P', 'C', "b"), "waits");
    house.stops_waiting('P');
    assert_eq!(house.calls('Q', 'D', "a"), "waits");
    house.empties();
}

#[test]
fn an_agent_with_a_unit_that_ends_refuses_nobody() {
    let mut house = House::new(4, &[("a", 2), ("b", 1)]);
    house.asks('P', "a");
    house.asks('X', "a");
    assert_eq!(house.calls('P', 'C', "a"), "waits", "`X` can end");
    house.ends('X');
    assert_eq!(house.news(), "C has a");
    house.empties();
}

#[test]
fn an_agent_whose_units_are_all_blocked_refuses() {
    let mut house = House::new(4, &[("a", 2), ("b", 1)]);
    house.asks('P', "a");
    house.asks('Q', "a");
    assert_eq!(house.calls('P', 'C', "a"), "waits", "`Q` can end");
    assert_eq!(house.calls('Q', 'D', "a"), "wait_cycle");
    assert_eq!(house.path(), "D needs a of Q, Q awaits D", "the shortest of the two");
    house.empties();
}

#[test]
fn a_unit_that_is_blocked_by_what_can_end_refuses_nobody() {
    let mut house = two_parents(4);
    house.calls('Q', 'X', "c");
    assert_eq!(house.calls('P', 'C', "b"), "waits", "`Q` awaits `X`, which can end");
    house.empties();
}

#[test]
fn a_detached_holder_counts_as_ending() {
    let mut house = two_parents(4);
    assert_eq!(house.calls('P', 'C', "b"), "waits");
    house.detaches('P');
    assert_eq!(house.calls('Q', 'D', "a"), "waits");
    house.empties();
}

#[test]
fn one_of_several_agents_that_can_serve_is_enough() {
    let mut house = House::new(4, &[("a", 1), ("b", 1)]);
    house.asks('P', "a");
    house.asks('X', "b");
    assert_eq!(house.calls_for('P', 'C', Wanted::skill("any")), "waits");
    house.takes_offline("b");
    assert_eq!(house.news(), "C wait_cycle");
    assert_eq!(house.path(), "C needs a of P, P awaits C");
    house.empties();
}

#[test]
fn several_agents_that_are_all_blocked_refuse() {
    let mut house = House::new(4, &[("a", 1), ("b", 1)]);
    house.asks('P', "a");
    assert_eq!(house.calls('P', 'Q', "b"), "has b");
    assert_eq!(house.calls_for('Q', 'C', Wanted::skill("any")), "wait_cycle");
    assert_eq!(house.path(), "C needs b of Q, Q awaits C");
    house.empties();
}

#[test]
fn awaiting_an_independent_task_that_needs_the_waiters_agent_is_refused_and_the_task_goes_on() {
    let mut house = two_parents(4);
    assert_eq!(house.asks('I', "a"), "waits");
    assert_eq!(house.awaits('P', 'I'), "wait_cycle");
    assert_eq!(house.path(), "I needs a of P, P awaits I");
    house.ends('P');
    assert_eq!(house.news(), "I has a");
    house.empties();
}

#[test]
fn a_task_that_awaits_itself_is_refused() {
    let mut house = two_parents(4);
    assert_eq!(house.awaits('P', 'P'), "wait_cycle");
    assert_eq!(house.path(), "P awaits P");
    house.empties();
}

#[test]
fn tasks_that_await_each_other_are_refused() {
    let mut house = two_parents(4);
    assert_eq!(house.awaits('P', 'Q'), "done");
    assert_eq!(house.awaits('Q', 'P'), "wait_cycle");
    assert_eq!(house.path(), "P awaits Q, Q awaits P");
    house.empties();
}

#[test]
fn a_task_is_awaited_by_one_at_a_time() {
    let mut house = two_parents(4);
    house.asks('I', "c");
    assert_eq!(house.awaits('P', 'I'), "done");
    assert_eq!(house.awaits('I', 'Q'), "done");
    assert_eq!(house.awaits('Q', 'I'), "done", "it is `P` who awaits it, so that there is no circle");
    house.empties();
}

#[test]
fn of_a_task_that_was_there_before_the_wait_is_refused_and_not_the_task() {
    let mut house = two_parents(4);
    house.call(&Call::Claim { task: 'I', pool: 0 });
    assert_eq!(house.awaits('P', 'I'), "done");
    let ask = |agent| {
        let request = Request::new('I', Wanted::agent(agent));
        Call::Request(Request { is_claimed: true, ..request })
    };
    assert_eq!(house.call(&ask("a")), "waits");
    assert_eq!((house.news().as_str(), house.path().as_str()), ("I unawaited", "I needs a of P, P awaits I"));
    house.ends('P');
    assert_eq!(house.news(), "I has a");
    house.empties();
}

#[test]
fn when_an_agent_goes_the_wait_is_refused_too_and_not_the_task_that_was_there_before() {
    let mut house = House::new(4, &[("a", 1), ("b", 1)]);
    house.asks('P', "a");
    house.asks('X', "b");
    house.call(&Call::Claim { task: 'I', pool: 0 });
    assert_eq!(house.awaits('P', 'I'), "done");
    let request = Request::new('I', Wanted::skill("any"));
    assert_eq!(house.call(&Call::Request(Request { is_claimed: true, ..request })), "waits");
    house.takes_offline("b");
    assert_eq!((house.news().as_str(), house.path().as_str()), ("I unawaited", "I needs a of P, P awaits I"));
    house.ends('P');
    assert_eq!(house.news(), "I has a");
    house.empties();
}

#[test]
fn when_agents_go_the_youngest_that_waits_for_itself_is_refused() {
    let mut house = House::new(6, &[("a", 1), ("b", 1), ("c", 1)]);
    house.asks('P', "a");
    house.asks('Q', "b");
    house.asks('X', "c");
    assert_eq!(house.calls_for('P', 'C', Wanted::skill("any")), "waits");
    assert_eq!(house.calls_for('Q', 'D', Wanted::skill("any")), "waits");
    house.takes_offline("c");
    assert_eq!(house.news(), "D wait_cycle", "which lets `Q` end, so that `C` can");
    house.empties();
}

#[test]
fn whoever_merely_stands_in_line_behind_a_circle_is_not_refused() {
    let mut house = House::new(6, &[("a", 1), ("b", 1), ("c", 1)]);
    house.asks('P', "a");
    house.asks('X', "b");
    house.asks('Q', "c");
    assert_eq!(house.calls_for('P', 'C', Wanted::skill("any")), "waits");
    // `D` is the youngest, and cannot end as long as `P` cannot.
    assert_eq!(house.calls('Q', 'D', "a"), "waits");
    house.takes_offline("c");
    assert_eq!(house.news(), "");
    house.takes_offline("b");
    assert_eq!(house.news(), "C wait_cycle");
    house.ends('P');
    assert_eq!(house.news(), "D has a");
    house.empties();
}

#[test]
fn when_an_agent_is_removed_waits_are_looked_at_again() {
    let mut house = House::new(1, &[("a", 1), ("b", 1), ("c", 1)]);
    house.asks('P', "a");
    house.calls('P', 'Q', "c");
    // `b` is idle, and all slots are taken.
    assert_eq!(house.calls_for('P', 'C', Wanted::skill("any")), "waits");
    house.takes_offline("c");
    assert_eq!(house.call(&Call::Remove { agent: "b" }), "done");
    assert_eq!(house.news(), "C wait_cycle");
    house.empties();
}

#[test]
fn an_agent_that_goes_and_refuses_all_breaks_the_circle_by_that() {
    let mut house = two_parents(4);
    assert_eq!(house.calls('P', 'C', "b"), "waits");
    house.takes_offline("b");
    assert_eq!(house.news(), "C agent_unavailable");
    assert_eq!(house.calls('Q', 'D', "a"), "waits");
    house.empties();
}

#[test]
fn a_slot_alone_never_waits_for_itself() {
    let mut house = House::new(1, &[("a", 1)]);
    house.asks('P', "a");
    assert_eq!(house.calls_for('P', 'C', Wanted::Slot), "has a slot");
    assert_eq!(house.calls_for('P', 'D', Wanted::Slot), "waits");
    house.empties();
}
