//! What votes are compared by.

use std::collections::BTreeMap;

use serde_json::{Number, Value};

use convoke_core::TaskOutput;

/// What a participant answers, such that two that mean the same are equal.
///
/// Texts are equal byte for byte; data is equal as JSON is: the order of an object's fields plays no part, and `1`, `1.0`
/// and `1e0` are one number. What else an output has (artifacts, messages, metadata) plays no part.
///
/// ```
/// use convoke_consensus::Answer;
/// use serde_json::json;
///
/// assert_eq!(Answer::value(json!({"a": 1, "b": []})), Answer::value(json!({"b": [], "a": 1.0})));
/// assert_ne!(Answer::text("yes"), Answer::text("Yes"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Answer {
    text: String,
    data: Option<Value>,
}

impl Answer {
    /// The text and the data of an output.
    pub fn of(output: &TaskOutput) -> Self {
        Self { text: output.text.clone(), data: output.data.clone().map(plain) }
    }

    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), data: None }
    }

    /// A value. As an output its text is the string where it is one, and otherwise its JSON.
    pub fn value(value: Value) -> Self {
        let value = plain(value);
        let text = match &value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        Self { text, data: Some(value) }
    }

    /// The text.
    pub fn as_text(&self) -> &str {
        &self.text
    }

    /// The data.
    pub fn data(&self) -> Option<&Value> {
        self.data.as_ref()
    }

    /// The answer as the output of a verdict.
    pub fn to_output(&self) -> TaskOutput {
        let mut output = TaskOutput::text(self.text.clone());
        output.data.clone_from(&self.data);
        output
    }
}

/// The value in one form: fields by name, and each whole number without a fraction or an exponent.
fn plain(value: Value) -> Value {
    match value {
        Value::Number(number) => Value::Number(plain_number(number)),
        Value::Array(items) => items.into_iter().map(plain).collect(),
        Value::Object(fields) => {
            // Sorted here, since a feature of `serde_json` that another crate asks for keeps them as they were written.
            let fields: BTreeMap<_, _> =
                fields.into_iter().map(|(name, field)| (name, plain(field))).collect();
            Value::Object(fields.into_iter().collect())
        }
        other => other,
    }
}

fn plain_number(number: Number) -> Number {
    let Some(float) = number.as_f64().filter(|_| number.is_f64()) else { return number };
    let whole = float.fract() == 0.0;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a whole number in range is exact"
    )]
    let plain = match float {
        0.0..18_446_744_073_709_551_616.0 if whole => Some((float as u64).into()),
        -9_223_372_036_854_775_808.0..0.0 if whole => Some((float as i64).into()),
        _ => Number::from_f64(float),
    };
    plain.unwrap_or(number)
}

#[cfg(test)]
mod tests;
