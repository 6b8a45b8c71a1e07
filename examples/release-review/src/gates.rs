//! Gates: deterministic checks that an answer has to pass before anything rests on it.

mod error;
mod finding;
mod synthesis;

pub use self::error::GateError;
pub use self::finding::{VerifiedFinding, check_finding};
pub use self::synthesis::{VerifiedSynthesis, check_synthesis};
