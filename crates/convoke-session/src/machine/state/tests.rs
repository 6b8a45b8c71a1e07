//! The state before and after it is shared.

use std::sync::Arc;

use convoke_core::{Message, MessageId, SessionId};

use super::{Current, State};
use crate::{Author, machine::Edit};

fn post(current: &mut Current, number: u64) {
    let mut edit = Edit::new(current.get_mut(), None);
    edit.push_message(MessageId::of_host(number), Author::Host, Message::user("hello"));
}

#[test]
fn a_snapshot_has_all_that_came_before_it_and_nothing_after() {
    let session = SessionId::new("s").unwrap();
    let mut current = Current::Own(State::new(session.clone()));
    post(&mut current, 1);
    let first = current.share();
    assert_eq!((first.id.clone(), first.messages.len(), current.messages.len()), (session.clone(), 1, 1));
    post(&mut current, 2);
    let second = current.share();
    post(&mut current, 3);
    assert_eq!((first.messages.len(), second.messages.len(), current.messages.len()), (1, 2, 3));
    assert_eq!((current.id.clone(), current.last_sequence), (session, 3));
}

#[test]
fn snapshots_without_a_change_in_between_are_one_and_a_change_without_one_copies_nothing() {
    let mut current = Current::Own(State::new(SessionId::new("s").unwrap()));
    let first = current.share();
    assert!(Arc::ptr_eq(&first, &current.share()));
    let place = Arc::as_ptr(&first);
    drop(first);
    post(&mut current, 1);
    assert_eq!(Arc::as_ptr(&current.share()), place);
}
