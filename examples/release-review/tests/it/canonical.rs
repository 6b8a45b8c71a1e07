//! One spelling for one value.

use proptest::prelude::*;
use release_review::{
    Digest, Request,
    canonical::{digest, to_bytes},
};
use serde_json::{Map, Value, json};

use crate::support::{Files, Review};

#[test]
fn another_order_of_keys_gives_the_same_digest() {
    let review = Review::of(&Files::ready());
    let request = serde_json::to_value(review.task.request()).unwrap();
    let mut keys: Vec<_> = request.as_object().unwrap().iter().collect();
    let expected = review.task.request().digest().unwrap();
    for _ in 0..keys.len() {
        keys.rotate_left(1);
        let fields: Vec<String> =
            keys.iter().map(|(key, value)| format!("{}: {value}", json!(key))).collect();
        let turned: Request = serde_json::from_str(&format!("{{ {} }}", fields.join(" ,\n"))).unwrap();
        assert_eq!(turned.digest().unwrap(), expected);
    }
}

#[test]
fn rfc_8785_is_followed() {
    let value: Value = serde_json::from_str(
        r#"{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}"#,
    )
    .unwrap();
    let expected = "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}";
    assert_eq!(String::from_utf8(to_bytes(&value).unwrap()).unwrap(), expected);
    // Keys are sorted by their UTF-16 units, so a character beyond the first plane comes before U+FB33.
    let keys = json!({ "\u{fb33}": 1, "\u{1f600}": 2, "é": 3, "1": 4 });
    let sorted = "{\"1\":4,\"é\":3,\"\u{1f600}\":2,\"\u{fb33}\":1}";
    assert_eq!(String::from_utf8(to_bytes(&keys).unwrap()).unwrap(), sorted);
}

#[test]
fn an_integer_that_would_be_rounded_is_refused() {
    let most: u64 = (1 << 53) - 1;
    assert!(to_bytes(&json!({ "n": most })).is_ok());
    assert!(to_bytes(&json!({ "n": -i64::try_from(most).unwrap() })).is_ok());
    for value in [json!([most + 1]), json!({ "a": { "b": u64::MAX } }), json!(i64::MIN)] {
        let error = to_bytes(&value).unwrap_err().to_string();
        assert!(error.contains("would be rounded"), "{error}");
    }
}

#[test]
fn a_digest_has_one_spelling() {
    let digest = Digest::of(b"");
    assert_eq!(digest.to_string(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_eq!(digest.to_string().parse::<Digest>().unwrap(), digest);
    for wrong in [
        "",
        "e3b0",
        &digest.to_string().to_uppercase(),
        &"g".repeat(64),
        &"0".repeat(65),
        "é".repeat(32).as_str(),
    ] {
        assert!(wrong.parse::<Digest>().is_err(), "{wrong}");
    }
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-1_000_000_i64..1_000_000).prop_map(Value::from),
        (-1e6..1e6_f64).prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((".{0,4}", inner), 0..4)
                .prop_map(|fields| Value::from(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// The same value, with the keys of every object put in backwards.
fn backwards(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(backwards).collect::<Vec<_>>().into(),
        Value::Object(fields) => {
            let turned: Map<_, _> =
                fields.iter().rev().map(|(key, value)| (key.clone(), backwards(value))).collect();
            turned.into()
        }
        other => other.clone(),
    }
}

proptest! {
    #[test]
    fn a_digest_survives_reordering_and_reading_back(value in json_value()) {
        let expected = digest(&value).unwrap();
        prop_assert_eq!(digest(&backwards(&value)).unwrap(), expected);
        let pretty = serde_json::to_string_pretty(&value).unwrap();
        prop_assert_eq!(digest(&serde_json::from_str::<Value>(&pretty).unwrap()).unwrap(), expected);
        let bytes = to_bytes(&value).unwrap();
        prop_assert_eq!(to_bytes(&serde_json::from_slice::<Value>(&bytes).unwrap()).unwrap(), bytes);
    }
}
