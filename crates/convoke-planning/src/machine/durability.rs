//! How much a crash may undo.

/// When records become durable.
///
/// Under each of them the start of a step with [side effects](crate::machine::Effects::SideEffect) is durable before the
/// step executes: after a crash, nothing that may have taken effect runs again unasked. That commit brings all records
/// before it along.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Durability {
    /// A step's start before it executes, its end before those that wait for it start.
    #[default]
    Strict,
    /// When the writer comes to it: after a crash, the last steps may run again.
    Relaxed,
    /// When the run ends: after a crash, all steps of the run may run again but those with side effects, and those whose
    /// ends became durable with the start of such a step.
    OnExit,
}
