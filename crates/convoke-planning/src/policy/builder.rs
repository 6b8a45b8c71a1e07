//! How a policy is set, and what it refuses.

use std::time::Duration;

use crate::{Backoff, PlanPolicy, Prioritization, StepLimit};

/// Why there can be no such policy, back-off or weights.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// A limit lets nothing happen.
    #[error("`{field}` is 0; allow at least 1")]
    Zero {
        /// What was set.
        field: &'static str,
    },
    /// A time is over before it begins.
    #[error("`{field}` is 0; leave it out, or give it a time")]
    ZeroTime {
        /// What was set.
        field: &'static str,
    },
    /// A number is not one that this can be.
    #[error("`{field}` is {value}; give {wanted}")]
    Number {
        /// What was set.
        field: &'static str,
        /// What it was set to.
        value: f64,
        /// What it may be.
        wanted: &'static str,
    },
    /// A time is too short or too long.
    #[error("`{field}` is {value:?}; give {wanted}")]
    Time {
        /// What was set.
        field: &'static str,
        /// What it was set to.
        value: Duration,
        /// What it may be.
        wanted: &'static str,
    },
}

/// Sets up a [`PlanPolicy`]. What cannot be is kept, and returned by [`build`](Self::build).
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until `build`"]
pub struct PlanPolicyBuilder {
    policy: PlanPolicy,
    defect: Option<PolicyError>,
}

impl PlanPolicyBuilder {
    pub(super) fn new() -> Self {
        Self { policy: PlanPolicy::default(), defect: None }
    }

    /// Limits the steps of a plan.
    pub fn max_steps(mut self, limit: u32) -> Self {
        self.policy.max_steps = limit;
        self.counted("max_steps", limit.into())
    }

    /// Limits the starts of steps, every start counted, over all resumes.
    pub fn max_step_runs(mut self, limit: impl Into<StepLimit>) -> Self {
        let limit = limit.into();
        self.policy.max_step_runs = Some(limit);
        self.limited("max_step_runs", limit)
    }

    /// Limits the attempts of one step.
    pub fn max_attempts(mut self, limit: u32) -> Self {
        self.policy.max_attempts = limit;
        self.counted("max_attempts", limit.into())
    }

    /// Limits the starts of steps in one run.
    pub fn steps_per_run(mut self, limit: impl Into<StepLimit>) -> Self {
        let limit = limit.into();
        self.policy.steps_per_run = limit;
        self.limited("steps_per_run", limit)
    }

    /// Limits the steps that run at a time.
    pub fn max_parallel_steps(mut self, limit: u32) -> Self {
        self.policy.max_parallel_steps = limit;
        self.counted("max_parallel_steps", limit.into())
    }

    /// Limits the time of one attempt of a step.
    pub fn step_timeout(mut self, timeout: Duration) -> Self {
        self.policy.step_timeout = Some(timeout);
        self.timed("step_timeout", timeout)
    }

    /// Limits the time that the plan runs, summed over its resumes.
    pub fn run_timeout(mut self, timeout: Duration) -> Self {
        self.policy.run_timeout = Some(timeout);
        self.timed("run_timeout", timeout)
    }

    /// Starts nothing after a moment of the wall clock, in milliseconds since 1970-01-01T00:00:00Z.
    pub fn no_start_after(mut self, unix_millis: u64) -> Self {
        self.policy.no_start_after_unix_millis = Some(unix_millis);
        self
    }

    /// Lets the planner revise the plan after a failure, so often.
    pub fn replanning(mut self, max_replans: impl Into<StepLimit>) -> Self {
        let limit = max_replans.into();
        self.policy.max_replans = Some(limit);
        self.limited("max_replans", limit)
    }

    /// Goes on after a failure with the steps that do not depend on it.
    pub fn continue_after_failure(mut self) -> Self {
        self.policy.continue_after_failure = true;
        self
    }

    /// Leaves interrupted steps as they are on a resume.
    pub fn keep_running_on_resume(mut self) -> Self {
        self.policy.reset_running_on_resume = false;
        self
    }

    /// Runs steps again on a resume though their work was given up and may still run.
    pub fn reset_detached_on_resume(mut self) -> Self {
        self.policy.reset_detached_on_resume = true;
        self
    }

    /// Sets how long a failed step waits before it is tried again.
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.policy.backoff = backoff;
        self
    }

    /// Sets how long work that was asked to stop may take to end.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.policy.grace = grace;
        self.timed("grace", grace)
    }

    /// Sets which of the ready steps is first.
    pub fn prioritization(mut self, prioritization: impl Into<Prioritization>) -> Self {
        self.policy.prioritization = prioritization.into();
        self
    }

    /// The policy.
    ///
    /// # Errors
    ///
    /// The first setting that cannot be: a limit or a time of zero.
    pub fn build(self) -> Result<PlanPolicy, PolicyError> {
        self.defect.map_or(Ok(self.policy), Err)
    }

    fn limited(self, field: &'static str, limit: StepLimit) -> Self {
        match limit {
            StepLimit::AtMost(count) => self.counted(field, count),
            StepLimit::Unlimited => self,
        }
    }

    fn counted(mut self, field: &'static str, count: u64) -> Self {
        if count == 0 {
            self.defect.get_or_insert(PolicyError::Zero { field });
        }
        self
    }

    fn timed(mut self, field: &'static str, time: Duration) -> Self {
        if time.is_zero() {
            self.defect.get_or_insert(PolicyError::ZeroTime { field });
        }
        self
    }
}
