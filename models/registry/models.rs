//! The models, and the house that each of them starts from.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a model is a test")]

mod batches;
mod leases;
mod waits;

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use convoke_models::Model;
use shuttle::{
    future::block_on,
    sync::atomic::{AtomicUsize, Ordering},
};

use convoke_core::{AgentDescriptor, AgentId, ErrorCode, TaskId};

use crate::{AgentRegistry, FunctionExecutor, Lease, LeaseRequest, Refusal, RunningTask, Slots, WaitId};

pub(crate) const ALL: [Model; 17] = [
    ("leases: what is granted goes back, and never too much is granted", leases::never_too_much),
    ("leases: a grant that crosses its cancellation goes back", leases::grant_crosses_cancellation),
    ("leases: waits that are dropped leave no trace", leases::dropped_waits),
    ("leases: a slot alone and a lease share one limit", leases::slot_alone),
    ("leases: detached, given up and ended at once", leases::detached_given_up_and_ended),
    ("leases: an agent goes while requests wait", leases::agent_goes),
    ("leases: an agent is removed while requests wait", leases::agent_is_removed),
    ("batches: withdrawn or answered, never both", batches::withdrawn_or_answered),
    ("batches: dropped while grants are on their way", batches::dropped),
    ("waits: closed while the task is put in line", waits::closed_while_queued),
    ("waits: of two that wait for each other one is refused", waits::each_other),
    ("waits: a wait for what asks meanwhile is refused, and the task goes on", waits::awaited_and_asked),
    ("waits: a lender ends while its slot is lent", waits::lender_ends),
    ("waits: a waiter lets go and lends its slot again", waits::lets_go),
    ("waits: a waiter lets go of what detaches", waits::lets_go_of_what_detaches),
    ("waits: a child detaches while its parent calls another", waits::child_detaches),
    ("waits: an agent goes that a waiter's wait rests on", waits::agent_goes),
];

/// A registry, and a limit on it.
#[derive(Clone)]
struct House {
    registry: AgentRegistry,
    slots: Slots,
    /// How many hold a lease, by their own count.
    working: Arc<AtomicUsize>,
}

impl House {
    fn new(limit: usize, agents: &[(&str, u32)]) -> Self {
        let registry = AgentRegistry::new();
        for &(agent, max) in agents {
            let descriptor = AgentDescriptor::new(agent).with_max_concurrency(max);
            let echo = FunctionExecutor::new(|request, _ctx| async move { Ok(request.input) });
            registry.add(descriptor, echo).unwrap();
        }
        let slots = registry.slots(limit);
        Self { registry, slots, working: Arc::default() }
    }

    /// Waits for a lease of an agent.
    fn acquire(&self, agent: &str, awaited_in: Option<WaitId>) -> Result<Lease, Refusal> {
        block_on(self.waits_for(agent, "t", awaited_in))
    }

    /// Waits for a lease of an agent as a task.
    async fn waits_for(&self, agent: &str, task: &str, awaited_in: Option<WaitId>) -> Result<Lease, Refusal> {
        let (agent, task) = (AgentId::new(agent).unwrap(), TaskId::new(task).unwrap());
        let request = LeaseRequest::new(&[]).preferring(&agent).of_task(&task).awaited_in(awaited_in);
        self.slots.acquire(request).await
    }

    fn runs(&self, lease: &Lease) -> RunningTask {
        RunningTask::new(&self.slots, &lease.mark())
    }

    /// Holds a lease for a while, of which there are at most `most` at a time.
    fn work(&self, lease: Lease, most: usize) {
        let working = self.working.fetch_add(1, Ordering::SeqCst) + 1;
        assert!(working <= most, "{working} work at a time");
        shuttle::thread::yield_now();
        self.working.fetch_sub(1, Ordering::SeqCst);
        drop(lease);
    }

    fn check(&self) {
        self.registry.shared.with_dispatch(|dispatch| dispatch.check());
    }

    /// Nothing is left of all that was, but for the two limits.
    fn is_quiet(&self) {
        self.check();
        assert_eq!(self.registry.shared.with_dispatch(|dispatch| dispatch.in_use()), [0, 0, 0, 2]);
        for agent in self.registry.list() {
            assert_eq!((agent.active, agent.detached, agent.waiting), (0, 0, 0));
        }
    }
}

/// Polls once with a waker that wakes nobody.
fn poll_once<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

fn is_wait_cycle(answer: &Result<Lease, Refusal>) -> bool {
    answer.as_ref().is_err_and(|refusal| refusal.code() == ErrorCode::WaitCycle)
}
