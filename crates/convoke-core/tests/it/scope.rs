//! Scopes: what a child inherits, and which scope is the current one.

use std::{
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::{Arc, Mutex},
    task::{Context, Waker},
};

use tokio::time::{Duration, Instant};

use convoke_core::{AgentId, Budget, Extension, Lineage, Scope, SessionId, TaskId, Units};

#[derive(Debug, PartialEq)]
struct Inherited(u8);
impl Extension for Inherited {
    const IS_INHERITED: bool = true;
}

#[derive(Debug, PartialEq)]
struct Own(u8);
impl Extension for Own {}

fn entry(task: &str) -> Lineage {
    Lineage::new(SessionId::new("s").unwrap(), TaskId::new(task).unwrap(), 1)
        .by(AgentId::new("agent").unwrap())
}

fn tasks(scope: &Scope) -> Vec<&str> {
    scope.lineage().map(|entry| entry.task.as_str()).collect()
}

#[test]
fn a_child_has_what_is_inherited_and_nothing_else() {
    let deadline = Instant::now() + Duration::from_secs(1);
    let budget = Budget::builder().limit("calls", 1).build();
    let parent = Scope::root()
        .of(entry("parent"))
        .with_deadline(deadline)
        .with_budget(budget.clone())
        .with_trace_id(Arc::<str>::from("trace"))
        .with_extension(Inherited(1))
        .with_extension(Own(2));
    assert_eq!((parent.get(), parent.get()), (Some(&Inherited(1)), Some(&Own(2))));

    let child = parent.child().of(entry("child"));
    assert_eq!(child.deadline(), Some(deadline));
    assert_eq!(child.trace_id().map(|trace| &**trace), Some("trace"));
    assert_eq!((child.get(), child.get::<Own>()), (Some(&Inherited(1)), None));
    assert_eq!((tasks(&child), child.depth()), (vec!["child", "parent"], 2));
    assert_eq!((tasks(&parent), parent.depth()), (vec!["parent"], 1));
    drop(child.budget().unwrap().reserve(Units::calls(1)).map(|mut reservation| reservation.sent()));
    assert_eq!(budget.usage("calls").committed, 1);
}

#[test]
fn extensions_are_found_replaced_and_inherited_in_any_order() {
    let scope = Scope::root().with_extension(Own(1)).with_extension(Inherited(2));
    assert_eq!((scope.get(), scope.get()), (Some(&Own(1)), Some(&Inherited(2))));
    let scope = scope.with_extension(Inherited(3)).with_extension(Own(4));
    assert_eq!((scope.get(), scope.get()), (Some(&Own(4)), Some(&Inherited(3))));
    let child = scope.child();
    assert_eq!((child.get::<Own>(), child.get()), (None, Some(&Inherited(3))));
}

#[test]
fn an_attempt_has_its_own_and_is_not_stopped_with_its_parent() {
    let parent = Scope::root().of(entry("parent")).with_trace_id(Arc::from("trace"));
    let parent = parent.with_extension(Inherited(1)).with_extension(Own(2)).with_deadline(Instant::now());
    let child = Scope::of_attempt(Some(&parent), entry("child"), None, None, None);
    assert_eq!((child.get(), child.get::<Own>()), (Some(&Inherited(1)), None));
    assert_eq!((tasks(&child), child.depth()), (vec!["child", "parent"], 2));
    assert_eq!((child.deadline(), child.trace_id()), (None, None));
    assert_eq!(tasks(&Scope::of_attempt(None, entry("root"), None, None, None)), ["root"]);
    parent.cancel();
    assert!(parent.cancellation().is_cancelled() && !child.is_cancelled());
    let token = child.cancellation().clone();
    child.cancel();
    assert!(token.is_cancelled());
}

#[test]
fn a_stop_goes_down_and_not_up() {
    let parent = Scope::root();
    let (one, two) = (parent.child(), parent.child());
    one.cancel();
    assert!(one.is_cancelled() && !parent.is_cancelled() && !two.is_cancelled());
    parent.cancel();
    assert!(two.is_cancelled());
    assert!(parent.child().is_cancelled());
}

#[test]
fn changing_a_copy_leaves_the_original() {
    let scope = Scope::root().with_extension(Own(1));
    let changed = scope.clone().with_extension(Own(2)).of(entry("task"));
    assert_eq!((scope.get(), changed.get()), (Some(&Own(1)), Some(&Own(2))));
    assert_eq!((scope.depth(), changed.depth()), (0, 1));
}

#[test]
fn scopes_nest_and_come_back_also_after_a_panic() {
    let (outer, inner) = (Scope::root().of(entry("outer")), Scope::root().of(entry("inner")));
    let current = || Scope::current().map(|scope| tasks(&scope).join(" "));
    outer.enter(|| {
        inner.enter(|| assert_eq!(current().as_deref(), Some("inner")));
        assert_eq!(current().as_deref(), Some("outer"));
        let panicked = catch_unwind(AssertUnwindSafe(|| inner.enter(|| panic!("on purpose"))));
        assert!(panicked.is_err());
        assert_eq!(current().as_deref(), Some("outer"));
    });
    assert_eq!(current(), None);
}

/// Notes the current task when it is dropped.
struct Noting<'a>(&'a Mutex<Vec<String>>);

impl Drop for Noting<'_> {
    fn drop(&mut self) {
        let scope = Scope::current();
        self.0.lock().unwrap().push(scope.map(|scope| tasks(&scope).join(" ")).unwrap_or_default());
    }
}

#[test]
fn a_wrapped_future_has_its_scope_while_it_is_polled_and_when_it_is_dropped() {
    let dropped = Mutex::new(Vec::new());
    let scope = Scope::root().of(entry("task"));
    {
        let noting = Noting(&dropped);
        let mut wrapped = pin!(scope.wrap(async move {
            assert!(Scope::current().is_some());
            let _noting = noting;
            std::future::pending::<()>().await;
        }));
        assert!(wrapped.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        assert!(Scope::current().is_none());
    }
    assert_eq!(*dropped.lock().unwrap(), ["task"]);
}
