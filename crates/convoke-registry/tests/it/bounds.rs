//! What may cross threads.

use std::fmt::Debug;

use convoke_registry::{
    AgentRegistry, AgentSnapshot, Answers, AnyExecutor, Availability, CoordinatedContext, Coordination,
    CoordinationError, CoordinationMoment, ExecutionContext, ExecutorCapabilities, Lease, LeaseBatch,
    LeaseMark, LeaseRequest, Progress, Refusal, RegistryError, RunOptions, SlotUsage, Slots, TaskDriver,
    TaskHandle, TeamError, Updates,
};

use crate::fixtures::registry;

fn is_shared<T: Send + Sync + Debug + 'static>() {}
fn is_sent<T: Send>(_: &T) {}

#[test]
fn values_may_be_shared() {
    is_shared::<AgentRegistry>();
    is_shared::<AgentSnapshot>();
    is_shared::<AnyExecutor>();
    is_shared::<Availability>();
    is_shared::<CoordinatedContext>();
    is_shared::<CoordinationError>();
    is_shared::<CoordinationMoment<'static>>();
    is_shared::<ExecutionContext>();
    is_shared::<ExecutorCapabilities>();
    is_shared::<Lease>();
    is_shared::<LeaseBatch>();
    is_shared::<LeaseMark>();
    is_shared::<LeaseRequest<'static>>();
    is_shared::<Progress>();
    is_shared::<Refusal>();
    is_shared::<RegistryError>();
    is_shared::<RunOptions>();
    is_shared::<SlotUsage>();
    is_shared::<Slots>();
    is_shared::<TaskDriver>();
    is_shared::<TaskHandle>();
    is_shared::<TeamError>();
    is_shared::<Updates>();
}

#[test]
fn values_with_a_future_or_a_stream_in_them_may_be_sent() {
    is_sent(&Answers::new(futures_util::stream::empty()));
    is_sent(&Coordination::new(|_| std::future::pending()));
}

#[tokio::test]
async fn futures_may_be_sent() {
    let registry = registry(&[("a", &[], 2)]);
    let slots = registry.slots(1);
    let mut batch = slots.batch();
    let (acquire, with_slot) =
        (registry.acquire(LeaseRequest::new(&[])), slots.acquire(LeaseRequest::new(&[])));
    is_sent(&acquire);
    is_sent(&with_slot);
    is_sent(&batch.next());
    let (first, second) = tokio::join!(acquire, with_slot);
    assert!(first.is_ok() && second.is_ok());
}
