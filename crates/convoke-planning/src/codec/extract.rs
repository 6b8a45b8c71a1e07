//! The JSON object in a model's answer.
//!
//! A scanner with a stack of its own goes over the text once. From a brace in prose it soon meets what JSON cannot have
//! there, and looks for the next brace behind that place, never before: but for that one byte, none is read twice, whatever the text. What it
//! takes for an object is read again by a real parser, so it need not know what a number is.

mod scanner;

use crate::{
    CodecError,
    codec::{document::Read, probe::Probe},
};

use scanner::{Scan, Scanner};

/// The one object that is meant: the only one with a field `steps`, or where there is none, the only one.
pub(super) fn object(text: &str) -> Result<&str, CodecError> {
    let mut objects = Candidates::default();
    let mut with_steps = Candidates::default();
    let mut broken = None;
    let mut position = 0;
    while let Some(offset) = text.get(position..).and_then(|rest| rest.find('{')) {
        let start = position + offset;
        match Scanner::new(text.as_bytes(), start).scan() {
            Scan::Object { end, has_steps } => {
                let found = text.get(start..end).unwrap_or_default();
                objects.add(found);
                if has_steps {
                    with_steps.add(found);
                }
                position = end;
            }
            Scan::Broken { at, has_field } => {
                if has_field {
                    broken = broken.or(text.get(start..));
                }
                // The brace itself is no reason, so this goes on.
                position = text.ceil_char_boundary(at);
            }
            Scan::CutOff { has_field: true } => return Err(CodecError::CutOff),
            Scan::CutOff { has_field: false } => break,
        }
    }
    match (with_steps, broken, objects) {
        (Candidates { first: Some(object), count: 1 }, ..) => Ok(object),
        (Candidates { first: Some(_), count }, ..) => Err(CodecError::Ambiguous { objects: count }),
        // The parser says best what is wrong with it; how deep it goes, the first look does not mind.
        (_, Some(broken), _) => {
            let error = Probe::of(broken).err().or_else(|| Read::of(broken).err());
            Err(error.unwrap_or(CodecError::NoObject))
        }
        (.., Candidates { first: Some(object), count: 1 }) => Ok(object),
        (.., Candidates { first: Some(_), count }) => Err(CodecError::Ambiguous { objects: count }),
        _ => Err(CodecError::NoObject),
    }
}

/// Whether JSON is an object that the parser can read, which goes so deep and no deeper.
pub(crate) fn is_object(json: &str) -> bool {
    matches!(Scanner::new(json.as_bytes(), 0).scan(), Scan::Object { .. })
}

#[derive(Clone, Copy, Default)]
struct Candidates<'t> {
    first: Option<&'t str>,
    count: usize,
}

impl<'t> Candidates<'t> {
    fn add(&mut self, object: &'t str) {
        self.first.get_or_insert(object);
        self.count = self.count.saturating_add(1);
    }
}

#[cfg(test)]
mod tests;
