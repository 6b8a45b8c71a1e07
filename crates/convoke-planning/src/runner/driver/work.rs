//! The work of one attempt.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use convoke_core::{InScope, Scope, StepId};
use convoke_observability::panic_detail;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{
    StepContext, StepOutcome, StillRunning,
    executor::{Executed, settled},
    machine::{Event, Placement, Start, StepError, StepErrorCode, WorkOutcome},
    runner::{
        driver::{Driver, Teller, Told},
        live,
    },
};

pub(super) enum Work {
    Inline(InlineWork),
    /// It tells of its end.
    Spawned,
}

impl Work {
    pub(super) fn new(driver: &Driver, start: Start, id: &StepId, scope: &Scope) -> Self {
        let input = driver.machine.input(start.step);
        let (number, placement) = (start.start, start.placement);
        let outputs = driver.machine.outputs().as_of(start.sequence);
        let of_run = (scope.clone(), Arc::clone(&driver.shared));
        let ctx = StepContext::new(driver.machine.plan().clone(), outputs, start, of_run);
        // Making the future is the executor's code too.
        let executor = &driver.settings.executor;
        let begun = catch_unwind(AssertUnwindSafe(|| executor.begin(input, ctx)));
        let work = InlineWork {
            start: number,
            opened: driver.clock.opened(),
            work: match begun {
                Ok(work) => Some(scope.wrap(after_earlier(driver, id, scope, work))),
                Err(payload) => return Self::panicked_at_once(driver, number, panic_detail(payload)),
            },
        };
        match placement {
            Placement::Inline => Self::Inline(work),
            Placement::Spawned => {
                let teller = driver.teller.clone();
                tokio::spawn(async move {
                    let (ended, still_running) = work.await;
                    let _ = teller.send(Told::Event(ended));
                    if let Some(still_running) = still_running {
                        end_of_rest(teller, number, still_running).await;
                    }
                });
                Self::Spawned
            }
        }
    }

    fn panicked_at_once(driver: &Driver, start: u64, detail: Option<String>) -> Self {
        let ended = driver.clock.running();
        let _ = driver.teller.send(Told::Event(Event::WorkEnded { start, outcome: panicked(detail), ended }));
        Self::Spawned
    }
}

/// Has work wait for what an earlier run of this process left running of the same step, where no record said so.
fn after_earlier(driver: &Driver, id: &StepId, scope: &Scope, work: Executed) -> Executed {
    if !driver.has_earlier {
        return work;
    }
    let earlier = live::all_ended(driver.shared.id(), id);
    if earlier.is_empty() {
        return work;
    }
    let stop = scope.cancellation().clone();
    Box::pin(async move {
        let ended = futures_util::future::join_all(earlier.iter().map(CancellationToken::cancelled));
        match stop.run_until_cancelled(ended).await {
            Some(_) => work.await,
            None => Ok(StepOutcome::Cancelled),
        }
    })
}

/// Tells when what an executor left running has ended.
pub(super) fn await_rest(teller: Teller, start: u64, still_running: StillRunning) {
    tokio::spawn(end_of_rest(teller, start, still_running));
}

async fn end_of_rest(teller: Teller, start: u64, still_running: StillRunning) {
    // A panic ends it as well.
    let _ = futures_util::FutureExt::catch_unwind(AssertUnwindSafe(still_running.ended())).await;
    let _ = teller.send(Told::Event(Event::DetachedEnded { start }));
}

fn panicked(detail: Option<String>) -> WorkOutcome {
    let message = match detail {
        Some(detail) => format!("executor panicked: {detail}"),
        None => "executor panicked".to_owned(),
    };
    WorkOutcome::Failed(StepError::new(StepErrorCode::ExecutorPanicked, message))
}

/// The work of one attempt as a future of its end, which it never panics over.
pub(super) struct InlineWork {
    start: u64,
    opened: Instant,
    work: Option<InScope<Executed>>,
}

impl Future for InlineWork {
    type Output = (Event, Option<StillRunning>);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let Some(work) = &mut this.work else { return Poll::Pending };
        // What an error says of itself is the executor's code as well.
        let polled = catch_unwind(AssertUnwindSafe(|| Pin::new(work).poll(cx).map(settled)));
        let (outcome, still_running) = match polled {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(settled)) => settled,
            Err(payload) => (panicked(panic_detail(payload)), None),
        };
        let ended = this.opened.elapsed();
        // Its destructors are the executor's too.
        convoke_observability::drop_isolated(this.work.take());
        Poll::Ready((Event::WorkEnded { start: this.start, outcome, ended }, still_running))
    }
}
