//! An observer that fails on purpose.

use convoke_team::{ObserverError, TeamEvent, TeamObserver};

use crate::faults::Faults;

/// Takes no event, or none any more: by an error, or by a panic. Cloning shares the count.
///
/// ```
/// use convoke_core::{AgentDescriptor, TaskRequest};
/// use convoke_registry::AgentRegistry;
/// use convoke_team::TeamRuntime;
/// use convoke_testkit::{FailingObserver, ScriptedExecutor, Step};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let registry = AgentRegistry::new();
/// registry.add(AgentDescriptor::new("writer"), ScriptedExecutor::new([Step::reply("done")]))?;
/// let team = TeamRuntime::builder(registry).observer(FailingObserver::always().panicking()).build()?;
///
/// let report = team.run(TaskRequest::new("write")).await?;
/// assert!(report.is_success());
/// assert_eq!(report.telemetry_errors, 4);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct FailingObserver(Faults);

impl FailingObserver {
    /// Fails for each event.
    pub fn always() -> Self {
        Self::after(0)
    }

    /// Takes so many events, and fails from then on.
    pub fn after(events: u64) -> Self {
        Self(Faults::after(events))
    }

    /// Fails by a panic instead of an error.
    #[must_use]
    pub fn panicking(self) -> Self {
        Self(self.0.panicking())
    }

    /// How many events came, taken or not.
    pub fn calls(&self) -> u64 {
        self.0.calls()
    }
}

impl TeamObserver for FailingObserver {
    fn observe(&self, event: &TeamEvent) -> Result<(), ObserverError> {
        if self.0.strikes() {
            return Err(ObserverError::new(format!("event of task `{}` is refused on purpose", event.task)));
        }
        Ok(())
    }
}
