//! How votes are read from outputs, and what each weighs.

use std::{fmt, sync::Arc};

use convoke_core::{AgentId, TaskOutput};

use crate::Answer;

type Read = dyn Fn(&TaskOutput) -> Option<Answer> + Send + Sync;
type Weigh = dyn Fn(&AgentId) -> u32 + Send + Sync;

/// How the votes of a [`Resolver`](crate::Resolver) are counted: what an output votes for, and what each voter weighs.
///
/// Results are counted as they come in, so that a consensus can be decided before all are there. Reading must give the
/// same answer for the same output. Cloning one is cheap.
#[derive(Clone)]
pub struct Counting {
    read: Arc<Read>,
    weigh: Option<Arc<Weigh>>,
}

impl Counting {
    /// Counts what `read` finds in an output; `None` where that holds no vote. Each voter weighs 1.
    pub fn new(read: impl Fn(&TaskOutput) -> Option<Answer> + Send + Sync + 'static) -> Self {
        Self { read: Arc::new(read), weigh: None }
    }

    /// Gives each voter a weight.
    #[must_use]
    pub fn weighing(mut self, weigh: impl Fn(&AgentId) -> u32 + Send + Sync + 'static) -> Self {
        self.weigh = Some(Arc::new(weigh));
        self
    }

    /// What an output votes for.
    pub fn read(&self, output: &TaskOutput) -> Option<Answer> {
        (self.read)(output)
    }

    /// What a voter weighs.
    pub fn weight(&self, voter: &AgentId) -> u32 {
        self.weigh.as_ref().map_or(1, |weigh| weigh(voter))
    }
}

impl fmt::Debug for Counting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counting").field("weighs", &self.weigh.is_some()).finish_non_exhaustive()
    }
}
