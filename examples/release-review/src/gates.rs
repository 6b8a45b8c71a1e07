//! Gates: deterministic checks that an answer has to pass before anything rests on it.

mod error;
mod finding;
mod synthesis;

pub use self::{
    error::GateError,
    finding::{VerifiedFinding, check_finding},
    synthesis::{VerifiedSynthesis, check_synthesis},
};
