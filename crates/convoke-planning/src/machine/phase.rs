//! Where a step is in a run that is going on: what no record says, and what is gone with the process.

use std::time::Duration;

use crate::StepIndex;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing is under way.
    #[default]
    Idle,
    /// The hook is asked.
    Hook,
    /// The provider is asked.
    Approval,
    /// Its gate is open, and nobody is being asked.
    Gate,
    /// Its question is open.
    Question,
    /// It waits before it is tried again.
    Backoff,
    /// Ready, in the queue.
    Queued,
    /// Ready, behind another of its serial key.
    Parked,
    /// Its start is to become durable.
    Starting,
    /// Its work is under way.
    Running,
    /// Its work was asked to end.
    Stopping,
    /// A reflector looks at its output.
    Reviewing,
    /// Its work was given up, and still runs.
    Detached,
}

const PHASES: usize = Phase::Detached as usize + 1;

impl Phase {
    /// Whether the run waits for the work.
    pub(super) fn is_active(self) -> bool {
        matches!(self, Self::Starting | Self::Running | Self::Stopping)
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    phase: Phase,
    /// When its work, or its wait, is over.
    until: Option<Duration>,
}

/// The phases of all steps, counted.
#[derive(Debug)]
pub(super) struct Phases {
    slots: Vec<Slot>,
    counts: [usize; PHASES],
}

impl Phases {
    pub(super) fn new(steps: usize) -> Self {
        let mut counts = [0; PHASES];
        if let Some(idle) = counts.first_mut() {
            *idle = steps;
        }
        Self { slots: vec![Slot::default(); steps], counts }
    }

    pub(super) fn of(&self, step: StepIndex) -> Phase {
        self.slots.get(step.row()).map_or(Phase::Idle, |slot| slot.phase)
    }

    pub(super) fn enter(&mut self, step: StepIndex, phase: Phase) {
        let Some(slot) = self.slots.get_mut(step.row()) else { return };
        let before = std::mem::replace(&mut slot.phase, phase);
        if before == phase {
            return;
        }
        for (phase, by) in [(before, -1), (phase, 1)] {
            if let Some(count) = self.counts.get_mut(phase as usize) {
                *count = count.saturating_add_signed(by);
            }
        }
    }

    pub(super) fn until(&self, step: StepIndex) -> Option<Duration> {
        self.slots.get(step.row()).and_then(|slot| slot.until)
    }

    pub(super) fn set_until(&mut self, step: StepIndex, until: Option<Duration>) {
        if let Some(slot) = self.slots.get_mut(step.row()) {
            slot.until = until;
        }
    }

    pub(super) fn count(&self, phase: Phase) -> usize {
        self.counts.get(phase as usize).copied().unwrap_or_default()
    }

    /// The steps whose work the run waits for, in plan order. Looks at the whole plan.
    pub(super) fn active(&self) -> Vec<StepIndex> {
        let active = self.slots.iter().zip(0..).filter(|(slot, _)| slot.phase.is_active());
        active.map(|(_, step)| StepIndex::new(step)).collect()
    }

    /// How many those are.
    pub(super) fn count_active(&self) -> usize {
        self.count(Phase::Starting) + self.count(Phase::Running) + self.count(Phase::Stopping)
    }

    /// How many places are taken.
    pub(super) fn places(&self) -> usize {
        self.count_active() + self.count(Phase::Detached)
    }
}
