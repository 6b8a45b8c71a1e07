//! A first look at a text, which takes no memory for what is in it.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{self, IgnoredAny},
};

use crate::CodecError;

#[derive(Deserialize)]
pub(super) struct Probe {
    #[serde(default)]
    pub(super) format_version: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    pub(super) steps: u64,
}

impl Probe {
    pub(super) fn of(json: &str) -> Result<Self, CodecError> {
        serde_json::from_str(json).map_err(CodecError::Malformed)
    }
}

/// The same of a run, which has a version and a plan.
#[derive(Deserialize)]
pub(super) struct RunProbe {
    pub(super) format_version: u64,
    #[serde(default, deserialize_with = "count")]
    pub(super) steps: u64,
    pub(super) plan: Probe,
}

impl RunProbe {
    pub(super) fn of(json: &str) -> Result<Self, CodecError> {
        serde_json::from_str(json).map_err(CodecError::MalformedRun)
    }
}

fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    struct Visitor;

    impl<'de> de::Visitor<'de> for Visitor {
        type Value = u64;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of steps")
        }

        fn visit_seq<A: de::SeqAccess<'de>>(self, mut steps: A) -> Result<u64, A::Error> {
            let mut count = 0_u64;
            while steps.next_element::<IgnoredAny>()?.is_some() {
                count = count.saturating_add(1);
            }
            Ok(count)
        }
    }

    deserializer.deserialize_seq(Visitor)
}
