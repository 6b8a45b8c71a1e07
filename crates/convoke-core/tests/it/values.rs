//! Random values that the property tests share.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::Value;

use convoke_core::{AgentId, Message, Metadata, ResumeToken, Role, SessionId, SkillId, TaskId};

/// A text that is an id: 1 to 256 bytes, rich in what derived ids must escape, in blanks and in long characters.
pub(crate) fn id_text() -> impl Strategy<Value = String> {
    let character = prop_oneof![
        4 => any::<char>().prop_filter("control", |character| !character.is_control()),
        4 => prop::sample::select(vec!['/', '%', '~', '2', 'F', ' ', 'a', '1', 'é', '漢', '🦀']),
    ];
    let text = prop_oneof![
        3 => prop::collection::vec(character.clone(), 1..12),
        1 => prop::collection::vec(character, 40..256),
    ];
    text.prop_map(|characters| {
        let mut text = String::new();
        for character in characters {
            if text.len() + character.len_utf8() <= 256 {
                text.push(character);
            }
        }
        text
    })
    .prop_map(|text| text.trim().to_owned())
    .prop_filter("blank", |text| !text.is_empty())
}

macro_rules! ids {
    ($($name:ident = $id:ident;)*) => {$(
        pub(crate) fn $name() -> impl Strategy<Value = $id> {
            id_text().prop_map(|text| $id::new(text).unwrap())
        }
    )*};
}

ids! {
    agent_id = AgentId;
    session_id = SessionId;
    skill_id = SkillId;
    task_id = TaskId;
}

/// Any JSON value but null, which stands for "no data" where a field is left out.
pub(crate) fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Bool(true)),
        Just(Value::Bool(false)),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        // What survives being written and read in any implementation.
        any::<i32>().prop_map(|number| Value::from(f64::from(number) / 4.0)),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(".{0,4}", inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

pub(crate) fn metadata() -> impl Strategy<Value = Metadata> {
    prop::collection::btree_map("[a-z]{1,6}", json(), 0..3).prop_map(|fields| fields.into_iter().collect())
}

pub(crate) fn message() -> impl Strategy<Value = Message> {
    let role = prop::sample::select(vec![Role::User, Role::Agent, Role::Tool, Role::System]);
    (role, ".{0,12}", prop::option::of(json()), prop::option::of(id_text())).prop_map(
        |(role, text, data, call)| {
            let mut message = Message::new(role, text);
            message.data = data;
            message.call = call.map(|call| call.parse().unwrap());
            message
        },
    )
}

pub(crate) fn token() -> impl Strategy<Value = ResumeToken> {
    (any::<u32>(), json()).prop_map(|(version, state)| ResumeToken::new(version, state))
}

pub(crate) fn duration() -> impl Strategy<Value = Duration> {
    (0..u64::MAX, 0..1_000_000_000_u32).prop_map(|(seconds, nanos)| Duration::new(seconds, nanos))
}

/// Writes `value` as JSON with a field too many, and says why reading that back is refused.
pub(crate) fn with_stranger<T: serde::Serialize + serde::de::DeserializeOwned>(value: &T) -> String {
    let mut json = serde_json::to_value(value).unwrap();
    json.as_object_mut().unwrap().insert("stranger".into(), Value::Null);
    serde_json::from_value::<T>(json).err().map_or_else(|| "was taken".into(), |error| error.to_string())
}

/// Asserts that a value survives being written as JSON text and read again.
pub(crate) fn assert_round_trip<T>(value: &T)
where
    T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let text = serde_json::to_string(value).unwrap();
    assert_eq!(&serde_json::from_str::<T>(&text).unwrap(), value, "{text}");
}
