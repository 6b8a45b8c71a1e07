//! Attributes: the further values of an event, by name.

use std::{borrow::Cow, fmt, sync::Arc};

use serde::{Serialize, Serializer};

/// A further value of an event.
///
/// It never holds content: no input, output, tool argument, or text that an executor, a panic or a provider wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum AttributeValue {
    /// A text that the SDK wrote, or that an executor declared public.
    Text(Cow<'static, str>),
    /// An id or a digest; cheap to clone.
    Id(Arc<str>),
    /// A count, an amount, a duration in the unit that the attribute's name says.
    Integer(i64),
    /// A yes or no.
    Bool(bool),
}

impl AttributeValue {
    /// An id or a digest, as any id of `convoke-core` converts into it.
    pub fn id(id: impl Into<Arc<str>>) -> Self {
        Self::Id(id.into())
    }
}

impl fmt::Display for AttributeValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Id(id) => f.write_str(id),
            Self::Integer(integer) => integer.fmt(f),
            Self::Bool(bool) => bool.fmt(f),
        }
    }
}

impl From<&'static str> for AttributeValue {
    fn from(text: &'static str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<String> for AttributeValue {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}

impl From<Cow<'static, str>> for AttributeValue {
    fn from(text: Cow<'static, str>) -> Self {
        Self::Text(text)
    }
}

impl From<bool> for AttributeValue {
    fn from(bool: bool) -> Self {
        Self::Bool(bool)
    }
}

impl From<i64> for AttributeValue {
    fn from(integer: i64) -> Self {
        Self::Integer(integer)
    }
}

impl From<u32> for AttributeValue {
    fn from(integer: u32) -> Self {
        Self::Integer(integer.into())
    }
}

/// Above [`i64::MAX`] the value is `i64::MAX`.
impl From<u64> for AttributeValue {
    fn from(integer: u64) -> Self {
        Self::Integer(i64::try_from(integer).unwrap_or(i64::MAX))
    }
}

/// Above [`i64::MAX`] the value is `i64::MAX`.
impl From<usize> for AttributeValue {
    fn from(integer: usize) -> Self {
        Self::Integer(i64::try_from(integer).unwrap_or(i64::MAX))
    }
}

/// The further values of an event, each name once, in the order in which they were set. None allocates nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes(Vec<(&'static str, AttributeValue)>);

impl Attributes {
    /// Sets the value of a name, in the place of an earlier one.
    pub fn set(&mut self, name: &'static str, value: impl Into<AttributeValue>) {
        let value = value.into();
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, earlier)) => *earlier = value,
            None => self.0.push((name, value)),
        }
    }

    /// The value of a name.
    pub fn get(&self, name: &str) -> Option<&AttributeValue> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// The names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &AttributeValue)> {
        self.0.iter().map(|(name, value)| (*name, value))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// One object.
impl Serialize for Attributes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

/// `name=value`, with blanks between.
impl fmt::Display for Attributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, value)) in self.iter().enumerate() {
            let blank = if index == 0 { "" } else { " " };
            write!(f, "{blank}{name}={value}")?;
        }
        Ok(())
    }
}
