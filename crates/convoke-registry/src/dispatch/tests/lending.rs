//! Slots that are lent to what is awaited.

use super::{
    house::House,
    rules::{Call, Request, Wanted},
};

pub(super) const AGENTS: [(&str, u32); 5] = [("a", 1), ("b", 1), ("c", 1), ("d", 1), ("e", 1)];

/// One slot, which `P` has and lends to `C`.
pub(super) fn one_slot() -> House {
    let mut house = House::new(1, &AGENTS);
    assert_eq!(house.asks('P', "a"), "has a");
    assert_eq!(house.calls('P', 'C', "b"), "has b");
    assert_eq!(house.taken(), 1, "both on one slot");
    house
}

#[test]
fn a_task_keeps_its_slot_and_lends_it_to_what_it_awaits() {
    let mut house = one_slot();
    house.ends('C');
    assert_eq!(house.taken(), 1);
    house.ends('P');
    assert_eq!(house.taken(), 0);
    house.empties();
}

#[test]
fn a_slot_is_lent_to_one_at_a_time() {
    let mut house = one_slot();
    assert_eq!(house.calls('P', 'D', "c"), "waits");
    assert_eq!(house.calls('P', 'E', "d"), "waits");
    house.ends('C');
    assert_eq!(house.news(), "D has c");
    house.ends('D');
    assert_eq!(house.news(), "E has d");
    house.empties();
}

#[test]
fn further_ones_take_free_slots() {
    let mut house = House::new(2, &AGENTS);
    house.asks('P', "a");
    assert_eq!(house.calls('P', 'C', "b"), "has b");
    assert_eq!(house.taken(), 1);
    assert_eq!(house.calls('P', 'D', "c"), "has c");
    assert_eq!(house.taken(), 2);
    assert_eq!(house.calls('P', 'E', "d"), "waits");
    house.ends('D');
    assert_eq!(house.news(), "E has d");
    assert_eq!(house.taken(), 2);
    house.empties();
}

#[test]
fn the_lent_slot_is_taken_before_a_free_one() {
    let mut house = House::new(3, &AGENTS);
    house.asks('P', "a");
    house.calls('P', 'C', "b");
    assert_eq!(house.taken(), 1);
    // Served from the line for a free slot, it still takes the one that is lent to it.
    house.asks('X', "c");
    house.calls('P', 'D', "c");
    house.ends('C');
    house.ends('X');
    assert_eq!(house.news(), "D has c");
    assert_eq!(house.taken(), 1);
    house.empties();
}

#[test]
fn whoever_lends_nothing_else_lends_to_the_next_one_while_others_have_slots_of_their_own() {
    let mut house = House::new(2, &AGENTS);
    house.asks('P', "a");
    house.calls('P', 'C', "b");
    house.calls('P', 'D', "c");
    house.ends('C');
    assert_eq!(house.calls('P', 'E', "d"), "has d");
    assert_eq!(house.taken(), 2, "`D` has its own, `E` the one that is lent");
    house.empties();
}

#[test]
fn a_chain_of_borrowers_runs_on_one_slot() {
    let mut house = one_slot();
    assert_eq!(house.calls('C', 'D', "c"), "has c");
    assert_eq!(house.calls('D', 'E', "d"), "has d");
    assert_eq!(house.taken(), 1);
    assert_eq!(house.asks('X', "e"), "waits");
    for task in ['E', 'D', 'C'] {
        house.ends(task);
        assert_eq!(house.news(), "");
    }
    house.ends('P');
    assert_eq!(house.news(), "X has e");
    house.empties();
}

#[test]
fn what_is_detached_waits_no_more_and_opens_no_wait() {
    let mut house = one_slot();
    house.calls('C', 'D', "c");
    house.detaches('C');
    assert_eq!(house.call(&Call::OpenWait { wait: 'w', awaiter: 'C' }), "nothing");
    assert_eq!(house.call(&Call::OpenWait { wait: 'w', awaiter: 'X' }), "nothing", "nobody knows it");
    house.empties();
}

#[test]
fn a_closed_wait_lends_no_more() {
    let mut house = one_slot();
    assert_eq!(house.calls('P', 'D', "c"), "waits");
    house.stops_waiting('P');
    house.ends('C');
    assert_eq!(house.news(), "", "nobody awaits `D` any more");
    house.ends('P');
    assert_eq!(house.news(), "D has c");
    house.empties();
}

#[test]
fn a_request_for_a_wait_that_is_closed_is_awaited_by_nobody() {
    let mut house = House::new(1, &AGENTS);
    house.asks('P', "a");
    house.call(&Call::OpenWait { wait: 'P', awaiter: 'P' });
    house.stops_waiting('P');
    let request = Request { awaited_in: Some('P'), ..Request::new('C', Wanted::agent("b")) };
    assert_eq!(house.call(&Call::Request(request)), "waits");
    house.empties();
}

#[test]
fn what_is_awaited_overtakes_an_older_one_that_only_lacks_a_slot() {
    let mut house = House::new(1, &AGENTS);
    house.asks('P', "a");
    assert_eq!(house.asks('X', "b"), "waits");
    assert_eq!(house.calls('P', 'C', "b"), "has b");
    house.ends('C');
    assert_eq!(house.news(), "");
    house.ends('P');
    assert_eq!(house.news(), "X has b");
    house.empties();
}

#[test]
fn an_older_one_that_has_a_slot_to_take_is_served_first() {
    let mut house = House::new(2, &AGENTS);
    house.asks('P', "a");
    house.asks('Y', "b");
    assert_eq!(house.asks('X', "b"), "waits");
    assert_eq!(house.calls('P', 'C', "b"), "waits");
    house.ends('Y');
    assert_eq!(house.news(), "X has b");
    house.ends('X');
    assert_eq!(house.news(), "C has b");
    house.empties();
}

#[test]
fn an_independent_task_borrows_while_it_is_awaited() {
    let mut house = House::new(1, &AGENTS);
    house.asks('P', "a");
    assert_eq!(house.asks('I', "b"), "waits");
    assert_eq!(house.awaits('P', 'I'), "done");
    assert_eq!(house.news(), "I has b");
    house.empties();
}

#[test]
fn a_task_that_is_not_in_line_yet_can_be_awaited_and_borrows_when_it_asks() {
    let mut house = House::new(1, &AGENTS);
    house.asks('P', "a");
    house.call(&Call::Claim { task: 'I', pool: 0 });
    assert_eq!(house.awaits('P', 'I'), "done");
    let request = Request { is_claimed: true, ..Request::new('I', Wanted::agent("b")) };
    assert_eq!(house.call(&Call::Request(request)), "has b");
    house.empties();
}

#[test]
fn a_slot_is_not_lent_to_another_limit() {
    let mut house = House::new(1, &AGENTS);
    house.asks('P', "a");
    house.call(&Call::OpenWait { wait: 'P', awaiter: 'P' });
    let request = |task| Request { pool: 1, awaited_in: Some('P'), ..Request::new(task, Wanted::agent("b")) };
    assert_eq!(house.call(&Call::Request(request('C'))), "has b");
    assert_eq!(house.calls('P', 'D', "c"), "has c", "the slot of `P` was still there to lend");
    house.empties();
}

#[test]
fn slots_alone_are_lent_and_borrowed_like_any_other() {
    let mut house = House::new(1, &AGENTS);
    let slot = |task, awaited_in| Call::Request(Request { awaited_in, ..Request::new(task, Wanted::Slot) });
    assert_eq!(house.call(&slot('P', None)), "has a slot");
    assert_eq!(house.call(&slot('X', None)), "waits");
    assert_eq!(house.calls('P', 'C', "a"), "has a");
    assert_eq!(house.call(&slot('D', Some('P'))), "waits");
    house.ends('C');
    assert_eq!(house.news(), "D has a slot");
    house.detaches('D');
    house.ends('P');
    assert_eq!(house.news(), "X has a slot");
    house.empties();
}

#[test]
fn what_does_not_wait_for_capacity_waits_for_the_lent_slot() {
    let mut house = one_slot();
    assert_eq!(house.rejects('P', 'D', "c"), "waits");
    assert_eq!(house.rejects('P', 'E', "b"), "capacity_exhausted");
    house.ends('C');
    assert_eq!(house.news(), "D has c");
    assert_eq!(house.rejects('P', 'F', "d"), "waits");
    house.asks('X', "e");
    house.takes_offline("d");
    assert_eq!(house.news(), "F agent_unavailable");
    house.empties();
}

#[test]
fn what_does_not_wait_for_capacity_hears_when_others_took_it() {
    let mut house = one_slot();
    assert_eq!(house.rejects('P', 'D', "c"), "waits");
    let other = Request { pool: 1, ..Request::new('X', Wanted::agent("c")) };
    assert_eq!(house.call(&Call::Request(other)), "has c");
    assert_eq!(house.news(), "D capacity_exhausted");
    house.empties();
}

#[test]
fn what_is_given_up_opens_its_slot_and_its_unit_if_that_can_be_used_again() {
    for (given_up, next) in
        [(Call::Release { task: 'P' }, "has b"), (Call::ForfeitSlot { task: 'P' }, "waits")]
    {
        let mut house = House::new(1, &AGENTS);
        house.asks('P', "b");
        house.detaches('P');
        assert_eq!(house.asks('X', "c"), "waits");
        house.call(&given_up);
        assert_eq!(house.news(), "X has c");
        house.ends('X');
        assert_eq!(house.asks('Y', "b"), next);
        house.call(&Call::Release { task: 'P' });
        assert_eq!(house.taken(), 1, "`Y` is served by now");
        house.empties();
    }
}

#[test]
fn what_is_given_up_lends_no_more() {
    let mut house = one_slot();
    assert_eq!(house.calls('P', 'D', "c"), "waits");
    house.call(&Call::ForfeitSlot { task: 'P' });
    house.ends('C');
    assert_eq!(house.news(), "D has c", "from the limit");
    house.empties();
}
