//! Who may register, and what a refusal changes: nothing.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use convoke_core::{AgentDescriptor, AgentId, ExecutorError, SkillId, TaskOutcome, TaskRequest};
use convoke_registry::{
    AgentExecutor, AgentRegistry, Availability, ExecutionContext, ExecutorCapabilities, LeaseRequest,
    RegistryError, TeamHandle,
};
use convoke_testkit::ScriptedExecutor;

use crate::fixtures::{agent, load, now, registry};

#[test]
fn what_is_refused_leaves_the_registry_as_it_was() {
    let registry = registry(&[("taken", &["x"], 2)]);
    let before = format!("{registry:?}");
    let one_at_a_time = ExecutorCapabilities::default().without_concurrent_execution();
    let check = |descriptor: AgentDescriptor, capabilities: ExecutorCapabilities, text: &str| {
        let executor = ScriptedExecutor::new([]).with_capabilities(capabilities);
        assert_eq!(registry.add(descriptor, executor).unwrap_err().to_string(), text);
        assert_eq!(format!("{registry:?}"), before);
    };
    let any = ExecutorCapabilities::default();
    check(
        agent("taken", &[], 1),
        any,
        "agent `taken` is registered already; remove it first, or choose another id",
    );
    check(agent("", &[], 1), any, "agent id is empty; give it 1 to 256 bytes");
    check(agent("new", &["x", " "], 1), any, "skill id ` ` begins or ends with a blank; trim it");
    check(agent("new", &["x", "y", "x"], 1), any, "agent `new` declares skill `x` twice; declare it once");
    check(
        agent("new", &[], 0),
        any,
        "agent `new` has `max_concurrency` 0; give it at least 1, or set it offline",
    );
    check(
        agent("new", &[], 2),
        one_at_a_time,
        "agent `new` has `max_concurrency` 2, but its executor works on one task at a time; set it to 1",
    );
    registry.add(agent("new", &[], 1), ScriptedExecutor::new([]).with_capabilities(one_at_a_time)).unwrap();
}

#[test]
fn agents_are_listed_by_id_with_the_order_in_which_they_came() {
    let registry = registry(&[("b", &["x"], 1), ("a", &[], 3), ("B", &[], 1)]);
    registry.remove("b").unwrap();
    registry.add(agent("b", &[], 1), ScriptedExecutor::new([])).unwrap();
    let listed: Vec<_> = registry
        .list()
        .into_iter()
        .map(|agent| (agent.descriptor.id().to_string(), agent.order, agent.free()))
        .collect();
    assert_eq!(listed, [("B".to_owned(), 2, 1), ("a".to_owned(), 1, 3), ("b".to_owned(), 3, 1)]);
}

#[test]
fn the_available_ones_are_found_by_their_skills() {
    let registry =
        registry(&[("c", &["x"], 1), ("a", &["x", "y"], 1), ("b", &["y"], 1), ("d", &["y", "x"], 1)]);
    registry.set_availability("c", Availability::Draining).unwrap();
    let check = |skills: &[&str], expected: &[&str]| {
        let skills: Vec<_> = skills.iter().map(|&skill| SkillId::new(skill).unwrap()).collect();
        let found = registry.find_available(&skills);
        assert!(found.iter().map(AgentId::as_str).eq(expected.iter().copied()), "{skills:?}: {found:?}");
    };
    check(&[], &["a", "b", "d"]);
    check(&["x"], &["a", "d"]);
    check(&["x", "y"], &["a", "d"]);
    check(&["y", "y"], &["a", "b", "d"]);
    check(&["z"], &[]);
    check(&["x", "z"], &[]);
    assert!(TeamHandle::closed().find_available(&[]).is_empty());
}

#[test]
fn a_snapshot_says_what_was_registered() {
    let registry = AgentRegistry::default();
    let capabilities = ExecutorCapabilities::default().with_abort_on_cancel();
    let descriptor = agent("a", &["x"], 2).with_role("quality-review").with_metadata("team", "blue");
    registry.add(descriptor.clone(), ScriptedExecutor::new([]).with_capabilities(capabilities)).unwrap();
    let snapshot = registry.get("a").unwrap();
    assert_eq!(*snapshot.descriptor, descriptor);
    assert_eq!((snapshot.capabilities, snapshot.availability), (capabilities, Availability::Available));
    assert!(registry.get("b").is_none());
}

#[tokio::test]
async fn an_agent_with_work_is_not_removed_and_draining_lets_it_finish() {
    let registry = registry(&[("a", &[], 2)]);
    let leases =
        [now(&registry, LeaseRequest::new(&[])).unwrap(), now(&registry, LeaseRequest::new(&[])).unwrap()];
    registry.set_availability("a", Availability::Draining).unwrap();
    let refused = registry.remove("a").unwrap_err();
    assert!(matches!(refused, RegistryError::Busy { active: 2, .. }));
    assert_eq!(
        refused.to_string(),
        "agent `a` has 2 leases held; keep it draining, and remove it once they have ended"
    );
    assert_eq!(load(&registry, "a"), (2, 0, 0));
    drop(leases);
    registry.remove("a").unwrap();
    assert!(registry.list().is_empty());
    assert!(matches!(registry.remove("a"), Err(RegistryError::Unknown { .. })));
}

#[tokio::test]
async fn any_availability_follows_any_other_and_running_leases_are_untouched() {
    use Availability::{Available, Draining, Offline};
    let registry = registry(&[("a", &[], 2)]);
    let lease = now(&registry, LeaseRequest::new(&[])).unwrap();
    for first in [Available, Draining, Offline] {
        for second in [Available, Draining, Offline] {
            registry.set_availability("a", first).unwrap();
            registry.set_availability("a", second).unwrap();
            assert_eq!(registry.get("a").unwrap().availability, second);
            assert_eq!(load(&registry, "a"), (1, 0, 0));
            assert_eq!(now(&registry, LeaseRequest::new(&[])).is_ok(), second == Available);
        }
    }
    let unknown = registry.set_availability("b", Offline).unwrap_err();
    assert_eq!(unknown.to_string(), "agent `b` is not registered; `list` says who is");
    drop(lease);
    assert_eq!(load(&registry, "a"), (0, 0, 0));
}

/// Counts how often it is asked what it can do, and uses the registry when it is dropped.
struct Owner {
    registry: AgentRegistry,
    asked: Arc<AtomicUsize>,
    dropped: Arc<AtomicUsize>,
}

impl AgentExecutor for Owner {
    fn capabilities(&self) -> ExecutorCapabilities {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let _ = self.registry.list();
        ExecutorCapabilities::default()
    }

    async fn execute(&self, _: TaskRequest, _: ExecutionContext) -> Result<TaskOutcome, ExecutorError> {
        Ok("done".into())
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let _ = self.registry.list();
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn an_executor_may_use_the_registry_while_it_is_asked_and_while_it_is_dropped() {
    let registry = registry(&[("taken", &[], 1)]);
    let (asked, dropped) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let owner =
        || Owner { registry: registry.clone(), asked: Arc::clone(&asked), dropped: Arc::clone(&dropped) };
    let counts = || (asked.load(Ordering::Relaxed), dropped.load(Ordering::Relaxed));
    registry.add(agent("a", &[], 1), owner()).unwrap();
    assert_eq!(counts(), (1, 0), "asked once");
    registry.add(agent("taken", &[], 1), owner()).unwrap_err();
    registry.add(agent("b", &[], 0), owner()).unwrap_err();
    assert_eq!(counts().1, 2, "what is refused is dropped");
    registry.remove("a").unwrap();
    assert_eq!(counts(), (2, 3));
}
