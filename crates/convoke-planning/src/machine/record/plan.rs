//! A plan within a record, in the form of the plan's own codec.

use serde::{Deserializer, Serializer, de};

use crate::{Plan, PlanCodec, PlanPolicy};

/// What was taken as a plan is read as one; how large it may be was decided then.
pub(crate) fn codec() -> Result<PlanCodec, String> {
    let policy = PlanPolicy::builder().max_steps(u32::MAX).build().map_err(|error| error.to_string())?;
    Ok(PlanCodec::new(&policy).with_max_bytes(usize::MAX))
}

pub(in crate::machine) fn serialize<S: Serializer>(plan: &Plan, serializer: S) -> Result<S::Ok, S::Error> {
    PlanCodec::serialize(plan, serializer)
}

pub(in crate::machine) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Plan, D::Error> {
    codec().map_err(de::Error::custom)?.deserialize(deserializer)
}
