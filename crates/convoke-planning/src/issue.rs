//! What is wrong with a draft.

use std::fmt;

use convoke_core::StepId;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        /// What is wrong with a part of a draft.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum IssueCode {
            $($(#[$doc])* $name,)*
        }

        impl IssueCode {
            /// Every code.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The name in `snake_case`.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

codes! {
    /// The goal is blank.
    MissingGoal = "missing_goal";
    /// There is no step.
    MissingSteps = "missing_steps";
    /// There are more steps than [`PlanPolicy::max_steps`](crate::PlanPolicy::max_steps), or more edges than 32 bits
    /// count.
    TooManySteps = "too_many_steps";
    /// A step has no id.
    MissingStepId = "missing_step_id";
    /// Two steps have the same id.
    DuplicateStepId = "duplicate_step_id";
    /// The text that stands for a plan, step, agent or skill is no id.
    InvalidId = "invalid_id";
    /// Nothing says what a step is: no title, description, input, data, tool, or input from another step.
    EmptyStep = "empty_step";
    /// A step has another status than pending.
    UnexpectedStatus = "unexpected_status";
    /// A priority signal is not a finite number.
    InvalidPrioritySignal = "invalid_priority_signal";
    /// Urgency, expected value or estimated cost is negative.
    NegativePrioritySignal = "negative_priority_signal";
    /// A step waits for itself.
    SelfDependency = "self_dependency";
    /// A step waits for a step that is not there.
    UnknownDependency = "unknown_dependency";
    /// A step takes input from a step that is not there.
    UnknownInputSource = "unknown_input_source";
    /// The tool is not in the catalogue, or its name is blank.
    UnknownTool = "unknown_tool";
    /// The agent is not in the catalogue.
    UnknownAgent = "unknown_agent";
    /// The input of a tool is no JSON object, or the tool's own check refuses it.
    InvalidToolInput = "invalid_tool_input";
    /// Steps wait for each other in a circle.
    DependencyCycle = "dependency_cycle";
}

impl fmt::Display for IssueCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Something that is wrong with a draft.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlanIssue {
    /// What is wrong.
    pub code: IssueCode,
    /// The place of the step in the draft, from 0; `None` where the issue is the plan's. Of a circle, that of its first
    /// step.
    pub position: Option<usize>,
    /// The id of that step, as written; `None` where it has none.
    pub step: Option<String>,
    /// What happened, to which id, and what to do next.
    pub message: String,
    /// Of [`IssueCode::DependencyCycle`] the circle: each step waits for the next, and the last for the first. Else empty.
    pub path: Vec<StepId>,
}

impl fmt::Display for PlanIssue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

/// How many issues the text of an [`InvalidPlan`] tells.
const TOLD: usize = 20;

/// A draft that is no plan, with everything that is wrong with it.
///
/// The issues come in plan order; those of the whole plan come first, circles last. Its text tells the first 20 and how
/// many more there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidPlan {
    issues: Vec<PlanIssue>,
}

impl InvalidPlan {
    pub(crate) fn new(issues: Vec<PlanIssue>) -> Self {
        Self { issues }
    }

    /// Everything that is wrong; at least one.
    pub fn issues(&self) -> &[PlanIssue] {
        &self.issues
    }
}

impl fmt::Display for InvalidPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("plan is not valid: ")?;
        for (number, issue) in self.issues.iter().take(TOLD).enumerate() {
            write!(f, "{}{issue}", if number == 0 { "" } else { "; " })?;
        }
        match self.issues.len().saturating_sub(TOLD) {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

impl std::error::Error for InvalidPlan {}
