//! Plans of work as values: checked graphs of steps, their repair, their JSON, their order and their pictures.
//!
//! This crate knows no team, no agent beyond its id, no tool beyond its name, and no vote. It runs nothing, does no I/O
//! and reads no clock.

mod codec;
mod dependency;
mod draft;
mod graph;
mod issue;
mod normalizer;
mod plan;
mod policy;
mod priority;
mod quoted;
mod signals;
mod status;
mod step;
mod step_index;
mod validator;

pub use codec::{CodecError, DEFAULT_MAX_BYTES, FORMAT_VERSION, PlanCodec};
pub use dependency::{Dependency, Edge, Wait};
pub use draft::{PlanDraft, StepDraft};
pub use issue::{InvalidPlan, IssueCode, PlanIssue};
pub use normalizer::{Normalized, PlanNormalizer, Repair, RepairKind};
pub use plan::Plan;
pub use policy::{Backoff, PlanPolicy, PlanPolicyBuilder, PolicyError, StepLimit};
pub use priority::{Prioritization, PriorityWeights};
pub use signals::PrioritySignals;
pub use status::StepStatus;
pub use step::PlanStep;
pub use step_index::StepIndex;
pub use validator::{KnownTool, PlanValidator};
