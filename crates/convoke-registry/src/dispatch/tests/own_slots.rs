//! Slots that go back before the work that has them ends, and those that it takes beyond the limit instead.

use super::{
    house::House,
    lending::{AGENTS, one_slot},
    rules::{Call, Request, Wanted},
};

#[test]
fn a_waiter_that_lets_go_can_lend_its_slot_again_at_once() {
    let mut house = one_slot();
    assert_eq!(house.calls('P', 'D', "c"), "waits");
    house.call(&Call::Request(Request::new('I', Wanted::agent("d"))));
    house.stops_waiting('P');
    assert_eq!(house.taken(), 2, "`C` has one of its own, beyond the limit");
    assert_eq!(house.awaits('P', 'I'), "done");
    assert_eq!((house.news().as_str(), house.taken()), ("I has d", 2));
    house.empties();
}

#[test]
fn beyond_the_limit_nothing_is_granted_until_enough_have_ended() {
    let mut house = House::new(2, &AGENTS);
    house.asks('P', "a");
    house.asks('Q', "b");
    house.calls('P', 'C', "c");
    house.calls('Q', 'D', "d");
    house.stops_waiting('P');
    house.stops_waiting('Q');
    assert_eq!((house.asks('X', "e").as_str(), house.taken()), ("waits", 4));
    for task in ['P', 'D'] {
        house.ends(task);
        assert_eq!(house.news(), "");
    }
    house.ends('C');
    assert_eq!((house.news().as_str(), house.taken()), ("X has e", 2));
    house.empties();
}

#[test]
fn a_borrower_takes_a_free_slot_of_its_own_where_there_is_one() {
    let mut house = House::new(2, &AGENTS);
    house.asks('P', "a");
    house.calls('P', 'C', "b");
    house.stops_waiting('P');
    assert_eq!((house.taken(), house.asks('X', "c").as_str()), (2, "waits"));
    house.ends('C');
    assert_eq!(house.news(), "X has c");
    house.empties();
}

/// The slot of `P` would be lent to nobody, had `I` kept it: then `P` waits for `I`'s end, which waits for `P`'s.
#[test]
fn who_lets_go_of_another_that_asks_for_its_agent_hangs_nobody() {
    let mut house = House::new(1, &AGENTS);
    house.asks('P', "a");
    assert_eq!(house.asks('I', "b"), "waits");
    house.awaits('P', 'I');
    assert_eq!(house.news(), "I has b");
    house.stops_waiting('P');
    assert_eq!(house.calls('I', 'C', "a"), "waits");
    assert_eq!(house.calls('P', 'D', "d"), "has d");
    house.ends('D');
    assert_eq!(house.news(), "");
    house.ends('P');
    assert_eq!(house.news(), "C has a");
    house.ends('C');
    house.ends('I');
    assert_eq!(house.taken(), 0);
    house.empties();
}

#[test]
fn what_ends_with_several_waits_lends_nothing_between_them() {
    let mut house = one_slot();
    house.call(&Call::OpenWait { wait: 'w', awaiter: 'P' });
    let request = Request { awaited_in: Some('w'), ..Request::new('D', Wanted::agent("c")) };
    assert_eq!(house.call(&Call::Request(request)), "waits");
    house.ends('P');
    assert_eq!((house.taken(), house.news().as_str()), (1, ""), "`C` has the only one");
    house.ends('C');
    assert_eq!(house.news(), "D has c");
    house.empties();
}

#[test]
fn what_detaches_beyond_the_limit_gives_its_slot_back() {
    let mut house = one_slot();
    house.stops_waiting('P');
    assert_eq!((house.asks('X', "c").as_str(), house.taken()), ("waits", 2));
    house.detaches('C');
    assert_eq!((house.taken(), house.news().as_str()), (1, ""));
    house.detaches('P');
    assert_eq!((house.taken(), house.news().as_str()), (1, ""), "`P` keeps one within the limit");
    house.ends('P');
    assert_eq!(house.news(), "X has c", "while `C` goes on without one");
    house.empties();
}

#[test]
fn a_borrower_whose_lender_ends_takes_a_slot_of_its_own() {
    let mut house = one_slot();
    house.asks('X', "c");
    house.ends('P');
    assert_eq!((house.taken(), house.news().as_str()), (1, ""), "`C` has it now");
    house.ends('C');
    assert_eq!(house.news(), "X has c");
    house.empties();
}

#[test]
fn a_chain_keeps_one_slot_whatever_the_order_of_the_ends() {
    for order in
        [['P', 'C', 'D'], ['C', 'P', 'D'], ['C', 'D', 'P'], ['D', 'P', 'C'], ['P', 'D', 'C'], ['D', 'C', 'P']]
    {
        let mut house = one_slot();
        house.calls('C', 'D', "c");
        house.asks('X', "d");
        let [first, second, last] = order;
        house.ends(first);
        house.ends(second);
        assert_eq!((house.taken(), house.news().as_str()), (1, ""), "{order:?}");
        house.ends(last);
        assert_eq!(house.news(), "X has d", "{order:?}");
        house.empties();
    }
}

#[test]
fn a_borrower_whose_lender_is_given_up_takes_a_slot_of_its_own() {
    let mut house = one_slot();
    house.call(&Call::ForfeitSlot { task: 'P' });
    house.asks('X', "c");
    assert_eq!((house.taken(), house.news().as_str()), (1, ""), "`C` has it now");
    house.ends('C');
    assert_eq!(house.news(), "X has c");
    house.empties();
}

#[test]
fn what_detaches_gives_a_lent_slot_back_so_that_the_lender_can_call_another() {
    let mut house = one_slot();
    house.detaches('C');
    assert_eq!(house.taken(), 1);
    assert_eq!(house.calls('P', 'D', "c"), "has c");
    assert_eq!(house.calls('P', 'E', "b"), "waits", "`C` keeps its unit");
    house.ends('C');
    assert_eq!(house.news(), "", "`D` has the slot");
    house.ends('D');
    assert_eq!(house.news(), "E has b");
    house.empties();
}

#[test]
fn what_detaches_wakes_those_in_line_for_the_lent_slot() {
    let mut house = one_slot();
    assert_eq!(house.calls('P', 'D', "c"), "waits");
    house.detaches('C');
    assert_eq!(house.news(), "D has c");
    house.empties();
}

#[test]
fn what_detaches_keeps_a_slot_of_its_own() {
    let mut house = House::new(1, &AGENTS);
    house.asks('P', "a");
    house.detaches('P');
    assert_eq!((house.asks('X', "b").as_str(), house.taken()), ("waits", 1));
    house.ends('P');
    assert_eq!(house.news(), "X has b");
    house.empties();
}

#[test]
fn what_a_detached_lender_had_lent_goes_on_in_a_slot_of_its_own() {
    let mut house = one_slot();
    assert_eq!(house.calls('C', 'D', "c"), "has c");
    house.detaches('C');
    assert_eq!(house.taken(), 2, "`P` and `D`");
    assert_eq!(house.calls('P', 'E', "d"), "has d", "the slot of `P` is back");
    house.ends('C');
    assert_eq!(house.taken(), 2);
    house.ends('D');
    assert_eq!((house.taken(), house.news().as_str()), (1, ""));
    house.empties();
}
