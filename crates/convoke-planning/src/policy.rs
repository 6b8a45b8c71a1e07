//! How a plan may run.

mod backoff;
mod builder;

pub use backoff::Backoff;
pub use builder::{PlanPolicyBuilder, PolicyError};

use std::time::Duration;

use crate::Prioritization;

/// A count that is limited, or not, spelled out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StepLimit {
    /// At most so many.
    AtMost(u64),
    /// Any number.
    Unlimited,
}

impl StepLimit {
    /// Whether `count` is within the limit.
    pub fn allows(self, count: u64) -> bool {
        match self {
            Self::AtMost(limit) => count <= limit,
            Self::Unlimited => true,
        }
    }
}

impl From<u64> for StepLimit {
    fn from(limit: u64) -> Self {
        Self::AtMost(limit)
    }
}

/// How a plan may run: its limits, its times, and what follows a failure.
///
/// It exists only sound. Each limit stands here and nowhere else.
///
/// ```
/// use std::time::Duration;
///
/// use convoke_planning::PlanPolicy;
///
/// # fn main() -> Result<(), convoke_planning::PolicyError> {
/// let policy = PlanPolicy::builder()
///     .max_steps(100)
///     .max_parallel_steps(4)
///     .max_attempts(2)
///     .step_timeout(Duration::from_secs(60))
///     .build()?;
/// assert_eq!(policy.max_steps(), 100);
///
/// let refused = PlanPolicy::builder().max_attempts(0).build().unwrap_err();
/// assert_eq!(refused.to_string(), "`max_attempts` is 0; allow at least 1");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PlanPolicy {
    max_steps: u32,
    max_step_runs: Option<StepLimit>,
    max_attempts: u32,
    steps_per_run: StepLimit,
    max_parallel_steps: u32,
    step_timeout: Option<Duration>,
    run_timeout: Option<Duration>,
    no_start_after_unix_millis: Option<u64>,
    max_replans: Option<StepLimit>,
    continue_after_failure: bool,
    reset_running_on_resume: bool,
    reset_detached_on_resume: bool,
    backoff: Backoff,
    grace: Duration,
    prioritization: Prioritization,
}

impl PlanPolicy {
    /// Starts from the defaults, which each getter states.
    pub fn builder() -> PlanPolicyBuilder {
        PlanPolicyBuilder::new()
    }

    /// How many steps a plan may have; 10,000 unless set.
    pub fn max_steps(&self) -> u32 {
        self.max_steps
    }

    /// How often steps of a plan of so many steps may start, every start counted, over all resumes; 4 × steps + 100 unless
    /// set.
    pub fn max_step_runs(&self, steps: usize) -> StepLimit {
        let steps = u64::try_from(steps).unwrap_or(u64::MAX);
        self.max_step_runs.unwrap_or(StepLimit::AtMost(steps.saturating_mul(4).saturating_add(100)))
    }

    /// How often one step may be tried before its failure stands; 1 unless set.
    pub fn max_attempts(&self) -> u32 {
        self.max_attempts
    }

    /// How many steps may start in one run, until the next resume; unlimited unless set.
    pub fn steps_per_run(&self) -> StepLimit {
        self.steps_per_run
    }

    /// How many steps may run at a time; 1 unless set.
    pub fn max_parallel_steps(&self) -> u32 {
        self.max_parallel_steps
    }

    /// How long one attempt of a step may run; without limit unless set.
    pub fn step_timeout(&self) -> Option<Duration> {
        self.step_timeout
    }

    /// How long the plan may run, summed over its resumes, before it is cancelled; without limit unless set.
    pub fn run_timeout(&self) -> Option<Duration> {
        self.run_timeout
    }

    /// After when no step starts any more, by the wall clock, in milliseconds since 1970-01-01T00:00:00Z; paused time
    /// counts, and what runs goes on. None unless set.
    pub fn no_start_after_unix_millis(&self) -> Option<u64> {
        self.no_start_after_unix_millis
    }

    /// How often the planner may revise the plan after a failure; `None`, never, unless set.
    pub fn max_replans(&self) -> Option<StepLimit> {
        self.max_replans
    }

    /// Whether the steps that do not depend on a failed one go on; no unless set.
    pub fn continue_after_failure(&self) -> bool {
        self.continue_after_failure
    }

    /// Whether a resume runs interrupted steps again; yes unless kept.
    pub fn reset_running_on_resume(&self) -> bool {
        self.reset_running_on_resume
    }

    /// Whether a resume runs steps again whose work was given up but may still run; no unless set.
    pub fn reset_detached_on_resume(&self) -> bool {
        self.reset_detached_on_resume
    }

    /// How long a failed step waits before it is tried again.
    pub fn backoff(&self) -> Backoff {
        self.backoff
    }

    /// How long work that was asked to stop may take to end before it is given up; 50 ms unless set.
    pub fn grace(&self) -> Duration {
        self.grace
    }

    /// Which of the ready steps is first; by score with the default weights unless set.
    pub fn prioritization(&self) -> &Prioritization {
        &self.prioritization
    }
}

impl Default for PlanPolicy {
    fn default() -> Self {
        Self {
            max_steps: 10_000,
            max_step_runs: None,
            max_attempts: 1,
            steps_per_run: StepLimit::Unlimited,
            max_parallel_steps: 1,
            step_timeout: None,
            run_timeout: None,
            no_start_after_unix_millis: None,
            max_replans: None,
            continue_after_failure: false,
            reset_running_on_resume: true,
            reset_detached_on_resume: false,
            backoff: Backoff::default(),
            grace: Duration::from_millis(50),
            prioritization: Prioritization::default(),
        }
    }
}
