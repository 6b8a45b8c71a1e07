//! JSON values: how large they are, and how deep they may nest.

use serde_json::{Number, Value};

/// How deep the arrays and objects of a value may nest: 96 levels.
///
/// `serde_json` reads back 127, and the records that sessions and plans write have levels of their own around a value. What
/// walks a value needs stack for each level, too.
pub const MAX_JSON_DEPTH: usize = 96;

/// Whether a value nests more than [`MAX_JSON_DEPTH`] deep. It looks no deeper than that.
///
/// ```
/// use convoke_core::json_is_too_deep;
/// use serde_json::{Value, json};
///
/// let nested = |levels| (0..levels).fold(Value::Null, |value, _| json!([value]));
/// assert!(!json_is_too_deep(&nested(96)));
/// assert!(json_is_too_deep(&nested(97)));
/// ```
pub fn json_is_too_deep(value: &Value) -> bool {
    !fits(value, MAX_JSON_DEPTH)
}

fn fits(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => levels > 0 && items.iter().all(|item| fits(item, levels - 1)),
        Value::Object(fields) => levels > 0 && fields.values().all(|value| fits(value, levels - 1)),
        _ => true,
    }
}

/// The bytes that `value` takes as compact JSON, without writing it; escapes are not counted.
pub fn json_size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(true) => 4,
        Value::Bool(false) => 5,
        Value::Number(number) => number_size(number),
        Value::String(text) => text.len() + 2,
        Value::Array(items) => {
            let commas = items.len().saturating_sub(1);
            2 + commas + items.iter().map(json_size).sum::<usize>()
        }
        Value::Object(fields) => {
            let commas = fields.len().saturating_sub(1);
            2 + commas + fields.iter().map(|(key, value)| key.len() + 3 + json_size(value)).sum::<usize>()
        }
    }
}

fn number_size(number: &Number) -> usize {
    let digits = |magnitude: u64| magnitude.checked_ilog10().unwrap_or(0) as usize + 1;
    if let Some(unsigned) = number.as_u64() {
        digits(unsigned)
    } else if let Some(signed) = number.as_i64() {
        digits(signed.unsigned_abs()) + 1
    } else {
        number.to_string().len()
    }
}
