//! What the executor of a step can and will do.

use std::sync::Arc;

/// What becomes of the world when a step runs twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Effects {
    /// Nothing: it only looks.
    ReadOnly,
    /// The same as when it runs once.
    #[default]
    Idempotent,
    /// Something else: what was interrupted is not run again unasked.
    SideEffect,
}

/// Who polls the work of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Placement {
    /// A task that does nothing else meanwhile.
    #[default]
    Spawned,
    /// The runner itself: for short work that never blocks.
    Inline,
}

/// What the executor of a step can and will do. Idempotent, interruptible by nobody, in parallel with all others, in
/// a task of its own, and without a clock of its own, unless said otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// What becomes of the world when the step runs twice.
    pub effects: Effects,
    /// Whether it ends soon once it is asked to.
    pub cooperative_cancellation: bool,
    /// Steps of the same key run one after the other.
    pub serial: Option<Arc<str>>,
    /// Whether it keeps the deadline itself: its word on the time decides, and nobody races it.
    pub owns_deadline: bool,
    /// Whether somebody must approve the step before it starts, whatever the plan says of it.
    pub requires_approval: bool,
    /// Who polls it.
    pub placement: Placement,
}

impl Capabilities {
    /// The usual ones.
    pub fn new() -> Self {
        Self::default()
    }

    /// Says what becomes of the world when the step runs twice.
    #[must_use]
    pub fn with_effects(mut self, effects: Effects) -> Self {
        self.effects = effects;
        self
    }

    /// It ends soon once it is asked to.
    #[must_use]
    pub fn cooperative(mut self) -> Self {
        self.cooperative_cancellation = true;
        self
    }

    /// It runs one after the other with all steps of the same key.
    #[must_use]
    pub fn serial(mut self, key: impl Into<Arc<str>>) -> Self {
        self.serial = Some(key.into());
        self
    }

    /// It keeps the deadline itself.
    #[must_use]
    pub fn owning_deadline(mut self) -> Self {
        self.owns_deadline = true;
        self
    }

    /// Somebody must approve the step before it starts.
    #[must_use]
    pub fn gated(mut self) -> Self {
        self.requires_approval = true;
        self
    }

    /// The runner polls it itself: for short work that never blocks.
    #[must_use]
    pub fn inline(mut self) -> Self {
        self.placement = Placement::Inline;
        self
    }
}
