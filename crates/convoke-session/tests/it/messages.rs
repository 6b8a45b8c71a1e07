//! Messages: their order, their ids, and what a trim leaves.

use std::collections::HashSet;

use convoke_core::{CallId, Message, Role};
use convoke_session::{Attempt, Author, LateWriteHook, Session};

use crate::fixtures::{agent, completed, ids, now, session, task, texts, working};

fn call(id: &str) -> CallId {
    CallId::new(id).unwrap()
}

/// One message a letter; a digit is a message that shares its call with each like digit.
fn post_all(session: &Session, letters: &str) {
    for letter in letters.chars() {
        let text = letter.to_string();
        let message = Message::new(Role::User, text.clone());
        let message = if letter.is_ascii_digit() { message.with_call(call(&text)) } else { message };
        now(session.post(message)).unwrap();
    }
}

#[test]
fn a_post_is_stamped_by_the_session() {
    let session = session();
    let id = now(session.post(Message::agent("I am the agent"))).unwrap();
    let snapshot = session.snapshot();
    let message = snapshot.message(&id).unwrap();
    assert_eq!((message.sequence, id.as_str(), &message.author), (1, "host/1", &Author::Host));
}

#[test]
fn ids_of_host_and_tasks_never_meet() {
    let session = session();
    let longest = "x".repeat(256);
    let names = ["host", "host/1", "host/1/input", "1", "/", "~", "%2F", "host~", longest.as_str()];
    for name in names {
        now(session.post(Message::user("from the host"))).unwrap();
        let input = [Message::user("one"), Message::user("two")];
        let attempt = input.into_iter().fold(Attempt::new(task(name)), Attempt::with_message);
        let mut admission = session.admit(attempt).unwrap();
        let handle = admission.start(&agent("host"), LateWriteHook::none());
        let staged = handle.post(Message::agent("staged")).unwrap();
        admission.settle(completed("answer")).unwrap();
        assert_eq!(session.snapshot().message(&staged).unwrap().message.text, "staged");
    }
    let ids = ids(&session.snapshot());
    assert_eq!(ids.len(), names.len() * 5);
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len());
}

#[test]
fn a_trim_cuts_the_oldest_and_keeps_calls_whole() {
    let check = |before: &str, keep: usize, after: &str| {
        let session = session();
        post_all(&session, before);
        let revision = session.snapshot().revision();
        let cut = now(session.trim(keep)).unwrap();
        let snapshot = session.snapshot();
        assert_eq!(texts(&snapshot).concat(), after, "{before} to {keep}");
        assert_eq!(cut, before.len() - after.len());
        assert_eq!(snapshot.revision(), revision + u64::from(cut > 0));
        assert_eq!(snapshot.usage().bytes, after.len() as u64);
        let sequences: Vec<_> = snapshot.messages().map(|message| message.sequence).collect();
        assert!(sequences.is_sorted(), "{sequences:?}");
    };
    check("", 0, "");
    check("abc", 0, "");
    check("abc", 2, "bc");
    check("abc", 3, "abc");
    check("abc", 9, "abc");
    check("a1b1c", 2, "11c");
    check("a1b1c", 1, "c");
    check("a12b12c", 2, "22c");
    check("a12b12c", 3, "1212c");
    check("1a1b1c", 2, "111c");
    check("1111", 1, "1111");
    check("1111", 0, "");
}

#[test]
fn a_trim_keeps_the_call_of_a_message_that_is_yet_to_be_published() {
    let session = session();
    post_all(&session, "1a2b");
    let (admission, handle) = working(&session, "t");
    handle.post(Message::new(Role::Tool, "output").with_call(call("1"))).unwrap();
    let waiting = Attempt::new(task("u")).with_message(Message::user("answer").with_call(call("2")));
    let other = session.admit(waiting).unwrap();

    assert_eq!(now(session.trim(0)).unwrap(), 3);
    assert_eq!(texts(&session.snapshot()), ["1", "2"]);
    drop((admission, other));
    assert_eq!(now(session.trim(0)).unwrap(), 2);
}

#[test]
fn sequence_numbers_are_never_used_again() {
    let session = session();
    post_all(&session, "ab");
    now(session.trim(0)).unwrap();
    post_all(&session, "c");
    let snapshot = session.snapshot();
    assert_eq!(snapshot.message_at(0).unwrap().sequence, 3);
    assert_eq!(ids(&snapshot), ["host/3"]);
}

#[test]
fn a_long_session_trims_as_a_short_one() {
    let session =
        Session::with_limits(crate::fixtures::session_id(), convoke_session::SessionLimits::unlimited());
    for number in 0..20_000_u32 {
        let message = Message::user(number.to_string());
        let message = if number % 5_000 == 0 { message.with_call(call("rare")) } else { message };
        now(session.post(message)).unwrap();
    }
    let before = session.snapshot();
    // 15,000 is among the newest 7,000, so the three before it stay too.
    assert_eq!(now(session.trim(7_000)).unwrap(), 12_997);
    let expected: Vec<_> =
        [0, 5_000, 10_000].into_iter().chain(13_000..20_000).map(|number: u32| number.to_string()).collect();
    assert_eq!(texts(&session.snapshot()), expected);
    let after: Vec<_> =
        session.snapshot().messages_after(13_001).map(|message| message.sequence).take(2).collect();
    assert_eq!(after, [13_002, 13_003]);
    assert_eq!(before.messages().len(), 20_000);
    assert!(before.messages().map(|message| message.sequence).eq(1..=20_000));
}
