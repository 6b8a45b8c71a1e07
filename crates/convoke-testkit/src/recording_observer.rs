//! An observer that keeps what it hears.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;

use convoke_team::{ObserverError, TeamEvent, TeamEventKind, TeamObserver};

/// Keeps every event of a team, in the order in which it came. Cloning shares the record.
///
/// ```
/// use convoke_core::{AgentDescriptor, TaskRequest};
/// use convoke_registry::AgentRegistry;
/// use convoke_team::TeamRuntime;
/// use convoke_testkit::{RecordingObserver, ScriptedExecutor, Step};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let registry = AgentRegistry::new();
/// registry.add(AgentDescriptor::new("writer"), ScriptedExecutor::new([Step::reply("done")]))?;
/// let events = RecordingObserver::new();
/// let team = TeamRuntime::builder(registry).observer(events.clone()).build()?;
///
/// team.run(TaskRequest::new("write").with_id("draft")).await?;
/// assert_eq!(events.names_of("draft"), ["submitted", "selected", "started", "completed"]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct RecordingObserver(Arc<Record>);

#[derive(Debug, Default)]
struct Record {
    events: Mutex<Vec<TeamEvent>>,
    changed: watch::Sender<()>,
}

impl RecordingObserver {
    /// An empty record.
    pub fn new() -> Self {
        Self::default()
    }

    /// The events so far.
    pub fn events(&self) -> Vec<TeamEvent> {
        self.0.events.lock().clone()
    }

    /// The events of one task, whatever its session.
    pub fn events_of(&self, task: &str) -> Vec<TeamEvent> {
        let events = self.0.events.lock();
        events.iter().filter(|event| event.task.as_str() == task).cloned().collect()
    }

    /// The names of the events so far.
    pub fn names(&self) -> Vec<&'static str> {
        self.0.events.lock().iter().map(|event| event.kind.as_str()).collect()
    }

    /// The names of the events of one task, whatever its session.
    pub fn names_of(&self, task: &str) -> Vec<&'static str> {
        let events = self.0.events.lock();
        events.iter().filter(|event| event.task.as_str() == task).map(|event| event.kind.as_str()).collect()
    }

    /// How many events of a kind there were so far.
    pub fn count(&self, kind: TeamEventKind) -> usize {
        self.0.events.lock().iter().filter(|event| event.kind == kind).count()
    }

    /// Waits until there were `count` events of a kind.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub async fn seen(&self, kind: TeamEventKind, count: usize) {
        // The record holds the sender, so that the channel is open.
        let _ = self.0.changed.subscribe().wait_for(|()| self.count(kind) >= count).await;
    }
}

impl TeamObserver for RecordingObserver {
    fn observe(&self, event: &TeamEvent) -> Result<(), ObserverError> {
        self.0.events.lock().push(event.clone());
        self.0.changed.send_modify(|()| {});
        Ok(())
    }
}
