//! Repairs of drafts that do not change what they mean.

mod names;
mod repair;

pub use repair::{Repair, RepairKind};

use std::collections::HashSet;

use crate::{PlanDraft, StepDraft, StepStatus};

use names::Names;

/// A draft after its repairs, and what they were.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Normalized {
    /// The draft.
    pub draft: PlanDraft,
    /// The repairs, in plan order.
    pub repairs: Vec<Repair>,
}

/// How many characters of a description make a title.
const TITLE_CHARS: usize = 80;

/// Repairs what is missing in a draft where the repair cannot change its meaning; a
/// [`PlanValidator`](crate::PlanValidator) refuses the rest.
///
/// - A step without an id gets `step-<n>`, n being its number from 1; where that is taken or named by another step, a
///   suffix makes it another.
/// - A step without a title gets the first line of its description, at most 80 characters.
/// - A status is taken away: a plan starts with every step pending.
///
/// Two more repairs change what the writer may have meant, and are made only on request.
///
/// ```
/// use convoke_planning::{PlanDraft, PlanNormalizer, StepDraft};
///
/// let draft = PlanDraft::new("publish").with_step(StepDraft::default().described("Write it.\nThen read it."));
/// let normalized = PlanNormalizer::new().normalize(draft);
/// assert_eq!(normalized.draft.steps[0].id, "step-1");
/// assert_eq!(normalized.draft.steps[0].title, "Write it.");
/// assert_eq!(normalized.repairs[0].to_string(), "step number 1 had no id; it is `step-1` now");
/// ```
#[derive(Clone, Debug, Default)]
pub struct PlanNormalizer {
    duplicates: Duplicates,
    unknown: Unknown,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Duplicates {
    #[default]
    Keep,
    Rename,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Unknown {
    #[default]
    Keep,
    Drop,
}

impl PlanNormalizer {
    /// The safe repairs alone.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives the second and later steps of the same id another one. Whoever names that id then means the first.
    #[must_use]
    pub fn renaming_duplicates(mut self) -> Self {
        self.duplicates = Duplicates::Rename;
        self
    }

    /// Takes dependencies and input sources away that are not there, and those of a step on itself. The step then starts
    /// without what its writer wanted it to wait for.
    #[must_use]
    pub fn dropping_unknown_dependencies(mut self) -> Self {
        self.unknown = Unknown::Drop;
        self
    }

    /// Repairs a draft. It takes time with the size of the draft. A second time finds nothing to repair.
    pub fn normalize(&self, mut draft: PlanDraft) -> Normalized {
        let mut repairs = Repairs::default();
        self.names(&mut draft, &mut repairs);
        if self.unknown == Unknown::Drop {
            drop_unknown(&mut draft, &mut repairs);
        }
        for (position, step) in draft.steps.iter_mut().enumerate() {
            title(step, position, &mut repairs);
            let status = step.status.take();
            if let Some(status) = status.filter(|status| *status != StepStatus::Pending) {
                repairs.add(position, step, RepairKind::StatusRemoved { status });
            }
        }
        Normalized { draft, repairs: repairs.in_plan_order() }
    }

    fn names(&self, draft: &mut PlanDraft, repairs: &mut Repairs) {
        let mut names = Names::of(&draft.steps);
        let mut met = HashSet::with_capacity(draft.steps.len());
        for (position, step) in draft.steps.iter_mut().enumerate() {
            if step.id.is_empty() {
                step.id = names.free(&format!("step-{}", position.saturating_add(1)));
                repairs.add(position, step, RepairKind::IdGiven);
            } else if self.duplicates == Duplicates::Rename && met.contains(&step.id) {
                let was = std::mem::take(&mut step.id);
                step.id = names.free_suffixed(&was);
                repairs.add(position, step, RepairKind::IdChanged { was });
            }
            met.insert(step.id.clone());
        }
    }
}

fn title(step: &mut StepDraft, position: usize, repairs: &mut Repairs) {
    if !step.title.trim().is_empty() {
        return;
    }
    let line = step.description.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    if !line.is_empty() {
        step.title = line.chars().take(TITLE_CHARS).collect();
        repairs.add(position, step, RepairKind::TitleGiven);
    }
}

fn drop_unknown(draft: &mut PlanDraft, repairs: &mut Repairs) {
    let known: HashSet<String> = draft.steps.iter().map(|step| step.id.clone()).collect();
    for (position, step) in draft.steps.iter_mut().enumerate() {
        let kept = |name: &str| name != step.id && known.contains(name);
        let unknown = step.depends_on.extract_if(.., |dependency| !kept(&dependency.step));
        let mut kinds: Vec<_> =
            unknown.map(|dependency| RepairKind::DependencyRemoved { step: dependency.step }).collect();
        let unknown = step.input_from.extract_if(.., |source| !kept(source));
        kinds.extend(unknown.map(|step| RepairKind::InputSourceRemoved { step }));
        for kind in kinds {
            repairs.add(position, step, kind);
        }
    }
}

#[derive(Default)]
struct Repairs(Vec<Repair>);

impl Repairs {
    fn add(&mut self, position: usize, step: &StepDraft, kind: RepairKind) {
        self.0.push(Repair { position, step: step.id.clone(), kind });
    }

    fn in_plan_order(mut self) -> Vec<Repair> {
        self.0.sort_by_key(|repair| repair.position);
        self.0
    }
}

#[cfg(test)]
mod tests;
