//! Canonical JSON (RFC 8785): one spelling for one value, so that a digest does not depend on the order of keys.

use serde::Serialize;
use serde_json::Value;

use crate::digest::Digest;

/// The largest integer that every JSON reader keeps exactly: 2^53 - 1.
const MAX_EXACT: u64 = (1 << 53) - 1;

/// A value that has no canonical form.
#[derive(Debug, thiserror::Error)]
pub enum CanonicalError {
    /// The number would be rounded, and two different values would get one digest.
    #[error("the integer {number} is beyond 2^53 - 1 and would be rounded: write it as a string")]
    InexactInteger {
        /// The number as it stands in the value.
        number: String,
    },
    /// The value cannot be written as JSON.
    #[error("the value cannot be written as json")]
    Json(#[from] serde_json::Error),
}

/// The canonical bytes of a value.
///
/// # Errors
///
/// [`CanonicalError`] for an integer beyond ±(2^53 - 1), and for a value that is no JSON.
pub fn to_bytes<T: Serialize>(value: &T) -> Result<Vec<u8>, CanonicalError> {
    let value = serde_json::to_value(value)?;
    refuse_inexact(&value)?;
    Ok(serde_jcs::to_vec(&value)?)
}

/// The digest of the canonical bytes of a value.
///
/// # Errors
///
/// As [`to_bytes`].
pub fn digest<T: Serialize>(value: &T) -> Result<Digest, CanonicalError> {
    to_bytes(value).map(|bytes| Digest::of(&bytes))
}

fn refuse_inexact(value: &Value) -> Result<(), CanonicalError> {
    match value {
        Value::Number(number) => {
            let magnitude = number.as_u64().or_else(|| number.as_i64().map(i64::unsigned_abs));
            if magnitude.is_some_and(|magnitude| magnitude > MAX_EXACT) {
                return Err(CanonicalError::InexactInteger { number: number.to_string() });
            }
            Ok(())
        }
        Value::Array(items) => items.iter().try_for_each(refuse_inexact),
        Value::Object(fields) => fields.values().try_for_each(refuse_inexact),
        Value::Null | Value::Bool(_) | Value::String(_) => Ok(()),
    }
}
