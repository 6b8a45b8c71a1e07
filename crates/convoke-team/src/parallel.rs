//! Many tasks at once: one owner for all that wait, a task for each that runs.

use std::{collections::BTreeSet, iter::Zip, sync::Arc, vec};

use futures_util::StreamExt as _;
use tokio::{
    sync::mpsc,
    task::yield_now,
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;
use tracing::Span;

use convoke_core::{Scope, TaskId, TaskRequest};
use convoke_registry::{Lease, LeaseBatch, Refusal, RunOptions, TeamAnswer, Wait, WaitId};

use crate::{
    answer::{Answer, Asker},
    attempt::Job,
    caller::Caller,
    each::{Awaited, Each},
    ending::StopCause,
    outcome::Conclusion,
    prepared::{Origin, Prepared, task_id},
    shared::Shared,
    stops::Above,
};

/// Runs `requests`, and gives their answers in the order of these; dropped, it stops them all.
pub(crate) async fn run(
    shared: Arc<Shared>,
    requests: Vec<TaskRequest>,
    options: RunOptions,
    caller: Option<Scope>,
) -> Vec<TeamAnswer> {
    let mut answers: Vec<_> = requests.iter().map(|_| None).collect();
    let mut each = Each::new(shared, requests, options, caller);
    while let Some((index, answer)) = each.next().await {
        if let Some(place) = answers.get_mut(index) {
            *place = Some(answer);
        }
    }
    answers.into_iter().flatten().map(|answer| answer.map(Arc::unwrap_or_clone)).collect()
}

/// How many requests are put in line before what runs is looked after again.
const ASKED_AT_ONCE: usize = 64;

/// What a request that is ended in line was doing.
const WHILE_WAITING: &str = "while it waited for an agent";

/// The owner of all that waits: it ends when nothing does. What runs answers whoever awaits the batch.
pub(crate) struct Batch {
    /// The requests that are not in line yet.
    requests: Zip<vec::IntoIter<TaskRequest>, vec::IntoIter<TaskId>>,
    /// Those that were, in their order: what waits for its agent and its slot.
    places: Vec<Option<Box<Prepared>>>,
    /// How many of them wait.
    waiting: usize,
    leases: LeaseBatch,
    /// When those that wait run out of time.
    deadlines: BTreeSet<(Instant, usize)>,
    /// Where the answers go.
    answering: mpsc::UnboundedSender<(usize, Answer)>,
    shared: Arc<Shared>,
    options: RunOptions,
    caller: Caller,
    awaited_in: Option<WaitId>,
    stop: CancellationToken,
    started: Instant,
    span: Span,
}

/// What the owner of a batch hears next.
enum News {
    Lease(usize, Result<Lease, Refusal>),
    Stopped,
    Draining,
    Deadline,
    /// Nothing else happened: it is time to put more requests in line.
    Quiet,
}

impl Batch {
    /// A batch whose answers go to `answering`, the tasks that it will run, and what whoever awaits it keeps.
    pub(crate) fn new(
        shared: &Arc<Shared>,
        requests: Vec<TaskRequest>,
        options: RunOptions,
        caller: Option<Scope>,
        answering: mpsc::UnboundedSender<(usize, Answer)>,
    ) -> (Self, Vec<TaskId>, Awaited) {
        let caller = Caller::find(caller, &shared.slots);
        let wait = caller.wait(&shared.slots);
        let (stop, started) = (caller.stop(shared), Instant::now());
        let stop_on_drop = stop.clone().drop_guard();
        let tasks: Vec<_> = requests.iter().map(|request| task_id(shared, request, started)).collect();
        let batch = Self {
            places: Vec::with_capacity(requests.len()),
            requests: requests.into_iter().zip(tasks.clone()),
            waiting: 0,
            leases: shared.slots.batch(),
            deadlines: BTreeSet::new(),
            answering,
            shared: Arc::clone(shared),
            options,
            awaited_in: wait.as_ref().map(Wait::id),
            stop,
            started,
            span: caller.span(),
            caller,
        };
        (batch, tasks, Awaited { wait, stop_on_drop })
    }

    /// Starts or ends all requests.
    pub(crate) async fn run(mut self) {
        let token = self.options.cancellation.clone().unwrap_or_default();
        while self.waiting > 0 || self.requests.len() > 0 {
            match self.news(&token).await {
                News::Lease(index, Ok(lease)) => self.start(index, lease),
                News::Lease(index, Err(refusal)) => {
                    self.end_waiting(index, Conclusion::of_error(refusal.into()));
                }
                News::Quiet => self.ask_more(ASKED_AT_ONCE),
                News::Stopped => {
                    let cancelled =
                        |_: &Prepared| Some(Conclusion::of_stop(StopCause::Cancelled, WHILE_WAITING));
                    self.end_all_waiting(cancelled);
                }
                News::Draining => {
                    self.end_all_waiting(|prepared| prepared.defect().map(Conclusion::of_error));
                }
                News::Deadline => {
                    let now = Instant::now();
                    while let Some((_, index)) = self.deadlines.first().copied().filter(|(at, _)| *at <= now)
                    {
                        self.deadlines.pop_first();
                        self.leases.withdraw(index);
                        self.end_waiting(index, Conclusion::of_stop(StopCause::Deadline, WHILE_WAITING));
                    }
                }
            }
        }
    }

    async fn news(&mut self, token: &CancellationToken) -> News {
        let deadline = self.deadlines.first().map(|(at, _)| *at);
        let deadline = async {
            match deadline {
                Some(at) => sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.stop.cancelled() => News::Stopped,
            () = token.cancelled() => News::Stopped,
            // What a running task asks for still runs.
            () = self.shared.draining.cancelled(), if !self.caller.is_task() => News::Draining,
            () = deadline => News::Deadline,
            (index, lease) = self.leases.next() => News::Lease(index, lease),
            // After a yield, so that many requests hold up neither what runs nor the thread.
            () = yield_now(), if self.requests.len() > 0 => News::Quiet,
        }
    }

    /// Puts the next requests in line.
    fn ask_more(&mut self, count: usize) {
        for _ in 0..count {
            let Some((request, task)) = self.requests.next() else { return };
            let origin = Origin {
                caller: self.caller.clone(),
                awaited_in: self.awaited_in,
                claim: None,
                coordinated: None,
                started: self.started,
                span: self.span.clone(),
            };
            let above = Above::Token(self.stop.clone());
            let asker = Asker::Batch(self.places.len(), self.answering.clone());
            let options = self.options.clone();
            let prepared = Prepared::new(
                Arc::clone(&self.shared),
                Box::new(request),
                task,
                options,
                origin,
                above,
                asker,
            );
            self.places.push(Some(prepared));
            self.waiting += 1;
            self.ask(self.places.len() - 1);
        }
    }

    /// Puts a request in line, or ends it at once.
    fn ask(&mut self, index: usize) {
        let Some(Some(prepared)) = self.places.get(index) else { return };
        if let Some(error) = prepared.defect() {
            self.end_waiting(index, Conclusion::of_error(error));
            return;
        }
        if let Some(cause) = prepared.is_stopped() {
            self.end_waiting(index, Conclusion::of_stop(cause, "before it was dispatched"));
            return;
        }
        let deadline = prepared.stops.deadline;
        let paused_at = prepared.paused_at();
        match self.leases.request(index, prepared.wanted(paused_at.as_ref())) {
            Ok(Some(lease)) => self.start(index, lease),
            Ok(None) => self.deadlines.extend(deadline.map(|at| (at, index))),
            Err(refusal) => self.end_waiting(index, Conclusion::of_error(refusal.into())),
        }
    }

    fn start(&mut self, index: usize, lease: Lease) {
        // A lease for a request that has ended meanwhile goes back as it is dropped here.
        if let Some(prepared) = self.take(index) {
            // Boxed: spawning moves a future several times.
            drop(tokio::spawn(Box::pin(prepared.run(Job::Granted(lease)))));
        }
    }

    /// Ends all that wait; those that are not in line yet hear of it as they ask.
    fn end_all_waiting(&mut self, conclusion: impl Fn(&Prepared) -> Option<Conclusion>) {
        self.ask_more(self.requests.len());
        for index in 0..self.places.len() {
            let Some(Some(prepared)) = self.places.get(index) else { continue };
            if let Some(conclusion) = conclusion(prepared) {
                // An answer that is on its way already comes too late: the place is taken, and a lease in it goes back.
                self.leases.withdraw(index);
                self.end_waiting(index, conclusion);
            }
        }
    }

    fn end_waiting(&mut self, index: usize, conclusion: Conclusion) {
        let reply = self.take(index).and_then(|prepared| prepared.refuse_as(conclusion));
        if let Some(reply) = reply {
            reply.send();
        }
    }

    /// Takes a request out of the line; `None` if it is not in it any more.
    fn take(&mut self, index: usize) -> Option<Box<Prepared>> {
        let prepared = self.places.get_mut(index)?.take()?;
        self.waiting -= 1;
        if let Some(at) = prepared.stops.deadline {
            self.deadlines.remove(&(at, index));
        }
        Some(prepared)
    }
}
