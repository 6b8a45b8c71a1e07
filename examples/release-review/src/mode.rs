//! How the specialists run.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Whether specialists run at once or one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// At once; none sees another's result.
    #[default]
    Parallel,
    /// Operations after engineering, with engineering's verified result.
    Serial,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Parallel => "parallel",
            Self::Serial => "serial",
        })
    }
}
