//! How much a crash may undo.

/// When records become durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Durability {
    /// A step's start before it executes, its end before those that wait for it start.
    #[default]
    Strict,
    /// When the writer comes to it: after a crash, the last steps may run again, whatever their effects are.
    Relaxed,
    /// When the run ends: after a crash, all steps of the run may run again.
    OnExit,
}
