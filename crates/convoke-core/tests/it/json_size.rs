//! The size of JSON, as limits count it.

use proptest::prelude::*;
use serde_json::{Value, json};

use convoke_core::json_size;

fn written(value: &Value) -> usize {
    serde_json::to_string(value).unwrap().len()
}

#[test]
fn is_the_length_of_compact_json() {
    for value in [
        json!(null),
        json!(true),
        json!(false),
        json!(""),
        json!("é漢"),
        json!([]),
        json!([[]]),
        json!([1]),
        json!([1, 2]),
        json!({}),
        json!({ "a": 1 }),
        json!({ "a": 1, "b": { "c": [null, "d"] } }),
    ] {
        assert_eq!(json_size(&value), written(&value), "{value}");
    }
}

#[test]
fn numbers_are_as_long_as_they_are_written() {
    for number in [0_u64, 9, 10, 99, 100, 999_999_999, 1_000_000_000, u64::MAX] {
        assert_eq!(json_size(&json!(number)), number.to_string().len());
    }
    for number in [-1_i64, -9, -10, i64::MIN] {
        assert_eq!(json_size(&json!(number)), number.to_string().len());
    }
    for number in [0.0, -0.0, 0.5, 1e300, -1.25e-7] {
        assert_eq!(json_size(&json!(number)), written(&json!(number)), "{number}");
    }
}

#[test]
fn escapes_are_not_counted() {
    assert_eq!(json_size(&json!("\"\n")), 4);
}

/// Values whose texts need no escape.
fn plain() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-zé漢 ]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map("[a-zé]{0,4}", inner, 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn is_the_length_of_compact_json_without_escapes(value in plain()) {
        prop_assert_eq!(json_size(&value), written(&value), "{}", value);
    }
}
