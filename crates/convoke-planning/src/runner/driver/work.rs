//! The work of one attempt.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use convoke_core::{InScope, Scope};
use convoke_observability::panic_detail;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{
    StepContext, StepIndex, StepOutcome, StillRunning,
    executor::{Executed, Surroundings, settled},
    machine::{Event, Placement, Start, StepError, StepErrorCode, WorkOutcome},
    runner::{
        driver::{Driver, Teller, Told, workers},
        live,
    },
};

impl Driver {
    /// Begins the work of a start; gives it back where it is to be polled here, and else it tells of its end.
    pub(super) fn begin(&self, start: Start, surroundings: &Arc<Surroundings>) -> Option<Work> {
        let input = self.machine.input(start.step);
        let (step, number, placement) = (start.step, start.start, start.placement);
        let opened = start.deadline.map(|_| self.clock.opened());
        let ctx = StepContext::new(Arc::clone(surroundings), start);
        // Making the future is the executor's code too.
        let executor = &self.settings.executor;
        let work = match catch_unwind(AssertUnwindSafe(|| executor.begin(input, ctx))) {
            Ok(work) => surroundings.scope.wrap(self.after_earlier(step, &surroundings.scope, work)),
            Err(payload) => {
                let (outcome, ended) = (panicked(panic_detail(payload)), self.clock.running());
                let _ =
                    self.inbox.teller().tell(Told::Event(Event::WorkEnded { start: number, outcome, ended }));
                return None;
            }
        };
        let work = Work { start: number, opened, future: Some(work) };
        match placement {
            Placement::Inline => Some(work),
            Placement::Spawned => {
                workers::give(work, self.inbox.teller());
                None
            }
        }
    }

    /// Has work wait for what an earlier run of this process left running of the same step, where no record said so.
    fn after_earlier(&self, index: StepIndex, scope: &Scope, work: Executed) -> Executed {
        let definition = self.machine.plan().step(index).filter(|_| self.has_earlier);
        let earlier = definition.map(|step| live::all_ended(self.shared.id(), &step.id)).unwrap_or_default();
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
}

/// Tells when what an executor left running has ended.
pub(super) fn await_rest(teller: Teller, start: u64, still_running: StillRunning) {
    tokio::spawn(end_of_rest(teller, start, still_running));
}

pub(super) async fn end_of_rest(teller: Teller, start: u64, still_running: StillRunning) {
    // A panic ends it as well.
    let _ = futures_util::FutureExt::catch_unwind(AssertUnwindSafe(still_running.ended())).await;
    let _ = teller.tell(Told::Event(Event::DetachedEnded { start }));
}

fn panicked(detail: Option<String>) -> WorkOutcome {
    let message = match detail {
        Some(detail) => format!("executor panicked: {detail}"),
        None => "executor panicked".to_owned(),
    };
    WorkOutcome::Failed(StepError::new(StepErrorCode::ExecutorPanicked, message))
}

/// The work of one attempt as a future of its end, which it never panics over.
pub(super) struct Work {
    start: u64,
    /// When the run was opened. None where there is no deadline: then it has ended when the run hears of it.
    opened: Option<Instant>,
    future: Option<InScope<Executed>>,
}

impl Work {
    pub(super) fn start(&self) -> u64 {
        self.start
    }
}

impl Future for Work {
    type Output = (Event, Option<StillRunning>);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let Some(work) = &mut this.future else { return Poll::Pending };
        // What an error says of itself is the executor's code as well.
        let polled = catch_unwind(AssertUnwindSafe(|| Pin::new(work).poll(cx).map(settled)));
        let (outcome, still_running) = match polled {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(settled)) => settled,
            Err(payload) => (panicked(panic_detail(payload)), None),
        };
        let ended = this.opened.map_or(Duration::MAX, |opened| opened.elapsed());
        // Its destructors are the executor's too.
        convoke_observability::drop_isolated(this.future.take());
        Poll::Ready((Event::WorkEnded { start: this.start, outcome, ended }, still_running))
    }
}
