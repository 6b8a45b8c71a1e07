//! What is durable of a run in one piece, in place of the records that led to it.

mod fork;
mod state;

pub(super) use state::{Published, StepState};

use convoke_core::StepId;
use serde::{Deserialize, Serialize};

use crate::{
    Plan,
    machine::record::{RECORD_VERSION, RecordError, plan, probe, write},
};

/// All that the records up to one say, as values: the plan once, as it was last revised, and a row for each step that is
/// not as it was in the beginning.
///
/// From it and the records that follow, [`Machine::restore`](crate::machine::Machine::restore) makes the machine that all
/// records would make. Of earlier starts it keeps the last of each step; what an observer wants to know of the past is in
/// the records.
///
/// ```
/// use convoke_planning::{
///     PlanDraft, PlanPolicy, PlanValidator, StepDraft,
///     machine::{Capabilities, Command, Event, Machine, Moment, Snapshot},
/// };
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let draft = PlanDraft::new("publish").with_step(StepDraft::new("write").titled("Write"));
/// let plan = PlanValidator::default().validate(draft)?;
/// let mut machine = Machine::new(plan, PlanPolicy::default(), |_, _| Some(Capabilities::new()));
/// machine.handle(Moment::default(), Event::Begin, &mut Vec::new())?;
///
/// let texts = machine.snapshot().to_json()?;
/// assert_eq!(texts.len(), 2, "one for the plan, and one for the step that was started");
/// let again = Machine::restore(&Snapshot::from_json(&texts)?, PlanPolicy::default(), [], |_, _| {
///     Some(Capabilities::new())
/// })?;
/// assert_eq!(again.snapshot(), machine.snapshot());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    pub(super) plan: Plan,
    pub(super) sequence: u64,
    pub(super) elapsed_millis: u64,
    pub(super) starts: u64,
    pub(super) begun: bool,
    pub(super) denied: bool,
    pub(super) replans: u64,
    pub(super) revising: Option<StepId>,
    /// In plan order where the machine gave it; in any order where it was read.
    pub(super) steps: Vec<StepState>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    version: u64,
    #[serde(with = "plan")]
    plan: Plan,
    sequence: u64,
    elapsed_millis: u64,
    starts: u64,
    begun: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    denied: bool,
    replans: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    revising: Option<StepId>,
    /// How many texts follow: what is cut is no snapshot.
    steps: u64,
}

impl Snapshot {
    /// The plan, as it was last revised.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The number of the last record that it holds; 0 before the first.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Writes it as JSON: a text for the plan, and then one for each step that is not as it was in the beginning. No text
    /// but the first grows with the plan, and no step but with its own output, error and notes.
    ///
    /// # Errors
    ///
    /// As [`Entry::to_json`](crate::machine::Entry::to_json).
    pub fn to_json(&self) -> Result<Vec<String>, RecordError> {
        let header = Header {
            version: RECORD_VERSION,
            plan: self.plan.clone(),
            sequence: self.sequence,
            elapsed_millis: self.elapsed_millis,
            starts: self.starts,
            begun: self.begun,
            denied: self.denied,
            replans: self.replans,
            revising: self.revising.clone(),
            steps: count(self.steps.len()),
        };
        std::iter::once(write(&header)).chain(self.steps.iter().map(write)).collect()
    }

    /// Reads the texts that [`to_json`](Self::to_json) wrote, all of them. What fits no plan is found by
    /// [`Machine::restore`](crate::machine::Machine::restore).
    ///
    /// # Errors
    ///
    /// [`RecordError`] where they are something else, of another version, or not all there.
    pub fn from_json(texts: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Self, RecordError> {
        let mut texts = texts.into_iter();
        let header = texts.next();
        let header = header.as_ref().map_or("", AsRef::as_ref);
        probe(header)?;
        let header: Header = serde_json::from_str(header).map_err(RecordError::Malformed)?;
        let steps: Result<Vec<StepState>, _> =
            texts.map(|text| serde_json::from_str(text.as_ref())).collect();
        let steps = steps.map_err(RecordError::Malformed)?;
        if count(steps.len()) != header.steps {
            return Err(RecordError::OtherLength { wanted: header.steps, found: count(steps.len()) });
        }
        Ok(Self {
            plan: header.plan,
            sequence: header.sequence,
            elapsed_millis: header.elapsed_millis,
            starts: header.starts,
            begun: header.begun,
            denied: header.denied,
            replans: header.replans,
            revising: header.revising,
            steps,
        })
    }
}

fn count(steps: usize) -> u64 {
    u64::try_from(steps).unwrap_or(u64::MAX)
}
