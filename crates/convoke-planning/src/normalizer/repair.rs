//! What was repaired.

use std::fmt;

use crate::{StepStatus, quoted::quoted};

/// A repair of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repair {
    /// The place of the step in the draft, from 0.
    pub position: usize,
    /// The id of the step, after the repairs.
    pub step: String,
    /// What was done.
    pub kind: RepairKind,
}

/// What was done to a step.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RepairKind {
    /// It had no id.
    IdGiven,
    /// It had no title, and a description.
    TitleGiven,
    /// It had a status.
    StatusRemoved {
        /// The status.
        status: StepStatus,
    },
    /// It had the id of a step before it.
    IdChanged {
        /// That id.
        was: String,
    },
    /// It waited for a step that is not there, or for itself.
    DependencyRemoved {
        /// That step.
        step: String,
    },
    /// It took input from a step that is not there, or from itself.
    InputSourceRemoved {
        /// That step.
        step: String,
    },
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (number, id) = (self.position.saturating_add(1), quoted(&self.step));
        match &self.kind {
            RepairKind::IdGiven => write!(f, "step number {number} had no id; it is {id} now"),
            RepairKind::TitleGiven => {
                write!(f, "step {id} had no title; it has the first line of its description now")
            }
            RepairKind::StatusRemoved { status } => {
                write!(f, "step {id} was {status}; it is pending, as every step of a new plan")
            }
            RepairKind::IdChanged { was } => {
                write!(
                    f,
                    "step number {number} had the id {} of a step before it; it is {id} now",
                    quoted(was)
                )
            }
            RepairKind::DependencyRemoved { step } => {
                write!(
                    f,
                    "step {id} waited for {}, which cannot be waited for; it does not any more",
                    quoted(step)
                )
            }
            RepairKind::InputSourceRemoved { step } => {
                write!(
                    f,
                    "step {id} took input from {}, which gives none; it does not any more",
                    quoted(step)
                )
            }
        }
    }
}
