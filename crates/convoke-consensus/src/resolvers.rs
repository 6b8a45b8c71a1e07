//! The resolvers that come with the crate.

mod exact_output;
mod field;
mod json_field;
mod judge_agent;
mod merge;
mod ranked;
mod rubric;
mod weighted;

pub use exact_output::ExactOutput;
pub use json_field::JsonField;
pub use judge_agent::JudgeAgent;
pub use merge::Merge;
pub use ranked::Ranked;
pub use rubric::Rubric;
pub use weighted::Weighted;
