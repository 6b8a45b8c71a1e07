//! Which answers are the same.

use serde_json::json;

use super::*;

#[test]
fn data_is_compared_as_json_is() {
    let same = [
        (json!(1), json!(1.0)),
        (json!(-0.0), json!(0)),
        (json!({"a": [1, {"b": 2}]}), json!({"a": [1.0, {"b": 2e0}]})),
        (json!(9_007_199_254_740_992_u64), json!(9_007_199_254_740_992.0)),
        (json!(10_000_000_000_000_000_u64), json!(1e16)),
        (json!(i64::MIN), json!(-9_223_372_036_854_775_808.0)),
        (json!(-3), json!(-3.0)),
        (serde_json::from_str("1.50").unwrap(), json!(1.5)),
    ];
    for (one, other) in same {
        assert_eq!(Answer::value(one.clone()), Answer::value(other.clone()), "{one} {other}");
    }
    let different = [
        (json!(1), json!("1")),
        (json!(1), json!(1.5)),
        (json!([1, 2]), json!([2, 1])),
        (json!(null), json!(false)),
        (json!(u64::MAX), json!(u64::MAX - 1)),
        (json!(9_007_199_254_740_993_u64), json!(9_007_199_254_740_992_u64)),
        (json!(1e300), json!(1e301)),
    ];
    for (one, other) in different {
        assert_ne!(Answer::value(one.clone()), Answer::value(other.clone()), "{one} {other}");
    }
}

#[test]
fn text_and_data_both_count() {
    let output = |text: &str, data: Option<Value>| {
        let mut output = TaskOutput::text(text).with_metadata("cost", 7);
        output.data = data;
        output
    };
    let answer = Answer::of(&output("yes", Some(json!({"a": 1}))));
    assert_eq!(answer, Answer::of(&output("yes", Some(json!({"a": 1.0}))).with_metadata("cost", 8)));
    assert_ne!(answer, Answer::of(&output("yes", None)));
    assert_ne!(answer, Answer::of(&output("yes ", Some(json!({"a": 1})))));
    assert_ne!(Answer::of(&output("", None)), Answer::of(&output("", Some(Value::Null))));
}

#[test]
fn an_answer_is_an_output_again() {
    let string = Answer::value(json!("ship")).to_output();
    assert_eq!((string.text.as_str(), &string.data), ("ship", &Some(json!("ship"))));
    let object = Answer::value(json!({"a": 1.0})).to_output();
    assert_eq!((object.text.as_str(), &object.data), (r#"{"a":1}"#, &Some(json!({"a": 1}))));
}
