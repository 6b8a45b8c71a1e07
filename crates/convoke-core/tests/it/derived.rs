//! Derived ids: no two meet, and all are ids.

use std::collections::BTreeMap;

use proptest::prelude::*;

use convoke_core::{
    AgentId, AttemptPart, CommitId, FencingToken, LogId, MessageId, OwnerId, PlanId, SessionId, TaskId,
    derived_id,
};

use crate::values::{id_text, task_id};

#[test]
fn parts_are_joined_and_escaped() {
    fn check(parts: &[&str], expected: &str) {
        assert_eq!(derived_id(parts), expected, "{parts:?}");
    }
    check(&["draft", "1", "input"], "draft/1/input");
    check(&["a/b", "c"], "a%2Fb/c");
    check(&["a", "b/c"], "a/b%2Fc");
    check(&["a%2Fb", "c"], "a%252Fb/c");
    check(&["a~b"], "a%7Eb");
    check(&["", "a", ""], "/a/");
    check(&["é 漢"], "é 漢");
    check(&[], "");
}

#[test]
fn a_long_text_keeps_a_prefix_and_its_digest() {
    let fits = "x".repeat(256);
    assert_eq!(derived_id([&fits]), fits);
    let long = "x".repeat(257);
    assert_eq!(
        derived_id([&long]),
        format!("{}~{}", "x".repeat(191), "15eb95a462ee20bd91a415ae2d4aed341288186ddaa2b37908f7d592f0c3f85f")
    );
    // A character of three bytes across the cut is left out whole.
    let wide = derived_id(["漢".repeat(100)]);
    assert_eq!(wide.split_once('~').map(|(prefix, digest)| (prefix.len(), digest.len())), Some((189, 64)));
}

#[test]
fn a_shortened_id_and_a_part_that_looks_like_one_are_two() {
    let short = derived_id(["x".repeat(300)]);
    assert_ne!(derived_id([short.as_str()]), short);
    assert_ne!(derived_id([short.as_str(), "1"]), derived_id(["x".repeat(300), "1".into()]));
}

#[test]
fn the_messages_of_an_attempt_and_of_the_host_have_their_names() {
    let task = TaskId::new("a/b").unwrap();
    let id = |part| MessageId::of_attempt(&task, 2, part).to_string();
    assert_eq!(id(AttemptPart::Input(0)), "a%2Fb/2/input");
    assert_eq!(id(AttemptPart::Input(1)), "a%2Fb/2/input/1");
    assert_eq!(id(AttemptPart::Output(0)), "a%2Fb/2/output");
    assert_eq!(id(AttemptPart::Output(7)), "a%2Fb/2/output/7");
    assert_eq!(MessageId::of_host(3).to_string(), "host/3");
}

/// A part that may be anything, rich in what is escaped and in what the escapes look like.
fn part() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => prop::collection::vec(prop::sample::select(vec!["/", "%", "~", "2F", "25", "7E", "a", "é"]), 0..5)
            .prop_map(|pieces| pieces.concat()),
        1 => id_text(),
        1 => (190_usize..300, "[ab/]{0,2}").prop_map(|(length, end)| "x".repeat(length) + &end),
    ]
}

fn attempt_part() -> impl Strategy<Value = AttemptPart> {
    let index = prop_oneof![0_usize..3, any::<usize>()];
    prop_oneof![index.clone().prop_map(AttemptPart::Input), index.prop_map(AttemptPart::Output)]
}

proptest! {
    #[test]
    fn different_parts_never_give_the_same_id(
        lists in prop::collection::vec(prop::collection::vec(part(), 1..4), 2..12),
    ) {
        let mut known = BTreeMap::new();
        for parts in lists {
            let id = derived_id(&parts);
            prop_assert!(id.len() <= 256);
            if let Some(earlier) = known.insert(id.clone(), parts.clone()) {
                prop_assert_eq!(earlier, parts, "both give {}", id);
            }
        }
    }

    #[test]
    fn the_same_letters_cut_otherwise_give_another_id(text in part(), one in any::<u16>(), other in any::<u16>()) {
        let cut = |at: u16| {
            let at = text.floor_char_boundary(usize::from(at) % (text.len() + 1));
            (at, derived_id([&text[..at], &text[at..]]))
        };
        let ((one, one_id), (other, other_id)) = (cut(one), cut(other));
        prop_assert_eq!(one == other, one_id == other_id);
        prop_assert_ne!(one_id, derived_id([&text]));
    }

    #[test]
    fn the_messages_of_any_task_have_ids(
        one in (task_id(), 0_u32..4, attempt_part()),
        other in (task_id(), 0_u32..4, attempt_part()),
        sequence in any::<u64>(),
    ) {
        let id = |(task, attempt, part): &(TaskId, u32, AttemptPart)| MessageId::of_attempt(task, *attempt, *part);
        let (one_id, other_id) = (id(&one), id(&other));
        prop_assert!(MessageId::new(one_id.as_str()).is_ok(), "{}", one_id);
        prop_assert_eq!(one == other, one_id == other_id);
        prop_assert_ne!(one_id, MessageId::of_host(sequence));
    }

    #[test]
    fn the_task_of_an_attempt_has_the_id_of_its_parts(task in task_id(), attempt in any::<u32>(), agent in id_text()) {
        let agent = AgentId::new(agent).unwrap();
        let parts = [task.as_str(), &attempt.to_string(), agent.as_str()];
        let id = TaskId::of_attempt(&task, attempt, &agent);
        prop_assert_eq!(id.as_str(), derived_id(parts));
    }

    #[test]
    fn parts_that_are_ids_give_an_id(parts in prop::collection::vec(id_text(), 1..5)) {
        let id = derived_id(&parts);
        prop_assert!(TaskId::new(id.as_str()).is_ok(), "{}", id);
    }
}

#[test]
fn what_a_session_is_in_a_journal_is_named_after_it() {
    let session = SessionId::new("a/b").unwrap();
    assert_eq!(LogId::of_session(&session).as_str(), "session/a%2Fb");
    assert_eq!(OwnerId::of_runtime(&session).as_str(), "runtime/a%2Fb");
    assert_eq!(CommitId::of_claim(FencingToken::new(3), 8).as_str(), "3/8");
    let long = SessionId::new("x".repeat(256)).unwrap();
    assert_eq!(LogId::of_session(&long).as_str().len(), 256);
}

#[test]
fn the_log_of_a_plan_says_which_one_where_it_can() {
    for id in ["a", "b/100%~ %2F%25", "\u{e9}"] {
        let plan = PlanId::new(id).unwrap();
        assert_eq!(LogId::of_plan(&plan).plan(), Some(plan));
    }
    assert_eq!(LogId::of_plan(&PlanId::new("x".repeat(256)).unwrap()).plan(), None);
    assert_eq!(LogId::of_session(&SessionId::new("a").unwrap()).plan(), None);
}

#[test]
fn random_ids_differ() {
    assert_ne!(PlanId::random(), PlanId::random());
    assert!(PlanId::new(PlanId::random().as_str()).is_ok());
}
