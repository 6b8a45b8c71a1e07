//! Ids: which texts are one, and when two are the same.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use proptest::prelude::*;

use convoke_core::{
    AgentId, ArtifactId, CallId, IdProblem, MAX_ID_BYTES, MessageId, PlanId, SessionId, SkillId, StepId,
    TaskId,
};

use crate::values::id_text;

/// `None` for an id, else the rule that is broken.
fn problem(text: &str) -> Option<IdProblem> {
    TaskId::new(text).err().map(|error| error.problem().clone())
}

#[test]
fn an_id_has_1_to_256_bytes() {
    for bytes in [1, 2, 255, 256] {
        assert_eq!(problem(&"x".repeat(bytes)), None, "{bytes}");
    }
    assert_eq!(problem(""), Some(IdProblem::Empty));
    assert_eq!(problem(&"x".repeat(257)), Some(IdProblem::TooLong { bytes: 257 }));
    assert_eq!(problem(&"é".repeat(128)), None);
    assert_eq!(problem(&"é".repeat(129)), Some(IdProblem::TooLong { bytes: 258 }), "bytes, not characters");
    assert_eq!(MAX_ID_BYTES, 256);
}

#[test]
fn an_id_has_no_control_character() {
    fn check(text: &str, escaped: &str, position: usize) {
        assert_eq!(problem(text), Some(IdProblem::Control { text: escaped.into(), position }), "{text:?}");
    }
    check("a\nb", "a\\nb", 1);
    check("\0", "\\0", 0);
    check("é\u{7f}", "é\\u{7f}", 2);
    check("a\u{85}", "a\\u{85}", 1);
    check("\t", "\\t", 0);
}

#[test]
fn an_id_neither_begins_nor_ends_with_a_blank() {
    for text in [" ", " a", "a ", "\u{a0}a", "a\u{2003}", "a\u{2028}"] {
        assert_eq!(problem(text), Some(IdProblem::Blank { text: text.into() }), "{text:?}");
    }
    assert_eq!(problem("a b"), None);
}

#[test]
fn a_bad_id_says_what_it_is_and_what_to_do() {
    fn check(text: &str, expected: &str) {
        assert_eq!(SkillId::new(text).unwrap_err().to_string(), expected);
    }
    check("", "skill id is empty; give it 1 to 256 bytes");
    check(&"x".repeat(300), "skill id has 300 bytes; at most 256 are allowed");
    check("a\nb", "skill id `a\\nb` has a control character at byte 1; remove it");
    check(" a", "skill id ` a` begins or ends with a blank; trim it");
}

macro_rules! for_each_kind {
    ($check:ident) => {
        $check!(AgentId, "agent");
        $check!(SkillId, "skill");
        $check!(TaskId, "task");
        $check!(SessionId, "session");
        $check!(ArtifactId, "artifact");
        $check!(MessageId, "message");
        $check!(PlanId, "plan");
        $check!(StepId, "step");
        $check!(CallId, "call");
    };
}

#[test]
fn every_way_in_checks_every_kind() {
    macro_rules! check {
        ($id:ident, $kind:literal) => {
            let id = $id::new("a/b c").unwrap();
            assert_eq!("a/b c".parse::<$id>().unwrap(), id);
            assert_eq!($id::try_from("a/b c").unwrap(), id);
            assert_eq!($id::try_from(String::from("a/b c")).unwrap(), id);
            assert_eq!($id::try_from(&id).unwrap(), id);
            assert_eq!(serde_json::from_str::<$id>("\"a/b c\"").unwrap(), id);

            assert_eq!($id::new(" ").unwrap_err().kind(), $kind);
            assert_eq!(" ".parse::<$id>().unwrap_err().kind(), $kind);
            assert_eq!($id::try_from(" ").unwrap_err().kind(), $kind);
            assert_eq!($id::try_from(String::from(" ")).unwrap_err().kind(), $kind);
            let error = serde_json::from_str::<$id>("\" \"").unwrap_err().to_string();
            assert!(error.starts_with(concat!($kind, " id ` ` begins or ends with a blank")), "{error}");
            assert!(serde_json::from_str::<$id>("7").is_err());

            assert_eq!(id.as_str(), "a/b c");
            assert_eq!(id.to_string(), "a/b c");
            assert_eq!(format!("{id:?}"), concat!(stringify!($id), "(\"a/b c\")"));
            assert_eq!(serde_json::to_string(&id).unwrap(), "\"a/b c\"");
            assert_eq!(&*Arc::<str>::from(id), "a/b c");
        };
    }
    for_each_kind!(check);
}

#[test]
fn ids_are_equal_only_byte_for_byte() {
    let composed = TaskId::new("\u{e9}").unwrap();
    for other in ["e\u{301}", "É", "e"] {
        assert_ne!(composed, TaskId::new(other).unwrap(), "{other:?}");
    }
    assert_ne!(TaskId::new("a").unwrap(), TaskId::new("A").unwrap());
}

#[test]
fn a_map_of_ids_is_asked_with_a_text() {
    let id = TaskId::new("draft").unwrap();
    assert_eq!(HashMap::from([(id.clone(), 1)]).get("draft"), Some(&1));
    assert_eq!(BTreeMap::from([(id, 1)]).get("draft"), Some(&1));
}

#[test]
fn a_clone_shares_the_text() {
    let id = TaskId::new("draft").unwrap();
    assert_eq!(id.as_str().as_ptr(), id.clone().as_str().as_ptr());
    assert_eq!(id.as_str().as_ptr(), Arc::<str>::from(id.clone()).as_ptr());
}

/// The rules, said once more and differently.
fn is_id(text: &str) -> bool {
    (1..=256).contains(&text.len()) && text.trim() == text && !text.chars().any(char::is_control)
}

proptest! {
    #[test]
    fn a_text_is_an_id_by_these_rules_alone(text in prop_oneof![any::<String>(), "\\s?.{0,3}[\\s\\x00-\\x1f]?"]) {
        prop_assert_eq!(TaskId::new(text.as_str()).is_ok(), is_id(&text));
    }

    #[test]
    fn an_id_survives_being_written_and_read(text in id_text()) {
        let id = TaskId::new(text.as_str()).unwrap();
        prop_assert_eq!(id.as_str(), &text);
        let json = serde_json::to_string(&id).unwrap();
        prop_assert_eq!(serde_json::from_str::<TaskId>(&json).unwrap(), id);
    }

    #[test]
    fn order_and_hash_are_those_of_the_texts(one in id_text(), other in id_text()) {
        let (one_id, other_id) = (TaskId::new(one.as_str()).unwrap(), TaskId::new(other.as_str()).unwrap());
        prop_assert_eq!(one_id.cmp(&other_id), one.cmp(&other));
        prop_assert_eq!(one_id == other_id, one == other);
    }
}
