//! What a step waits for.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, value::MapAccessDeserializer},
    ser::SerializeStruct,
};

use convoke_core::StepId;

use crate::StepIndex;

/// When the step that is waited for is far enough.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wait {
    /// When it is completed.
    #[default]
    Completed,
    /// When it has ended, in whatever terminal status.
    Ended,
}

/// A step to wait for, by its id: a [`StepId`] in a plan, any text in a draft.
///
/// As JSON it is the id alone, or `{"step": "audit", "wait": "ended"}`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Dependency<I = StepId> {
    /// The step that is waited for.
    pub step: I,
    /// When it is far enough.
    pub wait: Wait,
}

impl<I> Dependency<I> {
    /// Waits until `step` is completed.
    pub fn completed(step: I) -> Self {
        Self { step, wait: Wait::Completed }
    }

    /// Waits until `step` has ended, in whatever terminal status.
    pub fn ended(step: I) -> Self {
        Self { step, wait: Wait::Ended }
    }
}

/// One end of an edge of the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Edge {
    /// The step at the other end.
    pub step: StepIndex,
    /// When the one that is waited for is far enough.
    pub wait: Wait,
}

impl Edge {
    pub(crate) fn new(step: StepIndex, wait: Wait) -> Self {
        Self { step, wait }
    }
}

impl<I: Serialize> Serialize for Dependency<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.wait == Wait::Completed {
            return self.step.serialize(serializer);
        }
        let mut map = serializer.serialize_struct("Dependency", 2)?;
        map.serialize_field("step", &self.step)?;
        map.serialize_field("wait", &self.wait)?;
        map.end()
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Explicit {
    step: String,
    #[serde(default)]
    wait: Wait,
}

impl<'de> Deserialize<'de> for Dependency<String> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Dependency<String>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the id of a step, or an object with `step` and `wait`")
            }

            fn visit_str<E: de::Error>(self, step: &str) -> Result<Self::Value, E> {
                Ok(Dependency::completed(step.to_owned()))
            }

            fn visit_string<E: de::Error>(self, step: String) -> Result<Self::Value, E> {
                Ok(Dependency::completed(step))
            }

            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                let Explicit { step, wait } = Explicit::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Dependency { step, wait })
            }
        }

        deserializer.deserialize_any(Visitor)
    }
}
