//! Many tasks at once: one owner for all that wait, a task for each that runs.

use std::{collections::BTreeSet, iter::Zip, mem, sync::Arc, vec};

use futures_util::{
    StreamExt as _,
    stream::{self, Stream},
};
use tokio::{
    runtime::Handle,
    sync::{mpsc, oneshot},
    task::yield_now,
    time::{Instant, sleep_until},
};
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::Span;

use convoke_core::{Scope, TaskId, TaskRequest};
use convoke_registry::{Lease, LeaseBatch, Refusal, RunOptions, TeamAnswer, TeamError, Wait, WaitId};

use crate::{
    answer::{Answer, Asker},
    attempt::Job,
    caller::Caller,
    ending::StopCause,
    outcome::Conclusion,
    prepared::{Origin, Prepared, task_id},
    shared::Shared,
    stops::Above,
};

/// Runs `requests` on a task of their own; dropped, it stops them all.
pub(crate) async fn run(
    shared: Arc<Shared>,
    requests: Vec<TaskRequest>,
    options: RunOptions,
    caller: Option<Scope>,
) -> Vec<TeamAnswer> {
    let Ok(runtime) = Handle::try_current() else {
        return requests.iter().map(|_| Err(TeamError::NoTokio)).collect();
    };
    let (batch, Asked { wait: _wait, stop_on_drop, tasks }) = Batch::new(&shared, requests, options, caller);
    let (sender, answers) = oneshot::channel();
    runtime.spawn(async move {
        // Nobody waits for the answers of a run that was dropped; the records have them.
        let _ = sender.send(batch.run().await);
        shared.release();
    });
    let answers = answers.await;
    stop_on_drop.disarm();
    answers.unwrap_or_else(|_| tasks.into_iter().map(|task| Err(TeamError::Lost { task })).collect())
}

/// A batch, as whoever awaits it has it.
struct Asked {
    wait: Option<Wait>,
    stop_on_drop: DropGuard,
    tasks: Vec<TaskId>,
}

/// As [`run`], each answer as it comes; begins at the first poll.
pub(crate) fn each(
    shared: Arc<Shared>,
    requests: Vec<TaskRequest>,
    options: RunOptions,
    caller: Option<Scope>,
) -> impl Stream<Item = (usize, TeamAnswer)> + Send + 'static {
    let begin = async move {
        let Ok(runtime) = Handle::try_current() else {
            let answers: Vec<_> = requests.iter().map(|_| Err(TeamError::NoTokio)).collect();
            return stream::iter(answers.into_iter().enumerate()).boxed();
        };
        let (batch, asked) = Batch::new(&shared, requests, options, caller);
        let (sender, answers) = mpsc::unbounded_channel();
        runtime.spawn(async move {
            batch.told_to(sender).run().await;
            shared.release();
        });
        let left = Left { answers, tasks: asked.tasks.into_iter().map(Some).collect(), lost: 0 };
        stream::unfold((left, asked.wait, asked.stop_on_drop), |(mut left, wait, stop_on_drop)| async {
            Some((left.next().await?, (left, wait, stop_on_drop)))
        })
        .boxed()
    };
    stream::once(begin).flatten()
}

/// The answers that are still to come.
struct Left {
    answers: mpsc::UnboundedReceiver<(usize, Answer)>,
    /// The tasks that have not answered.
    tasks: Vec<Option<TaskId>>,
    /// How many of them were looked at since there are no more answers.
    lost: usize,
}

impl Left {
    async fn next(&mut self) -> Option<(usize, TeamAnswer)> {
        if let Some((index, answer)) = self.answers.recv().await {
            if let Some(task) = self.tasks.get_mut(index) {
                *task = None;
            }
            return Some((index, answer.map(Arc::unwrap_or_clone)));
        }
        // The tokio runtime has dropped the batch.
        let (index, task) = self
            .tasks
            .iter_mut()
            .enumerate()
            .skip(self.lost)
            .find_map(|(index, task)| Some((index, task.take()?)))?;
        self.lost = index + 1;
        Some((index, Err(TeamError::Lost { task })))
    }
}

/// How many requests are put in line before what runs is looked after again.
const ASKED_AT_ONCE: usize = 64;

/// What a request that is ended in line was doing.
const WHILE_WAITING: &str = "while it waited for an agent";

/// Where one request of a batch is.
enum Place {
    /// It waits for its agent and its slot.
    Waiting(Box<Prepared>),
    Running,
    Done(Answer),
    /// Its answer was told.
    Told,
}

struct Batch {
    /// The requests that are not in line yet.
    requests: Zip<vec::IntoIter<TaskRequest>, vec::IntoIter<TaskId>>,
    /// Those that were, in their order.
    places: Vec<Place>,
    leases: LeaseBatch,
    /// When those that wait run out of time.
    deadlines: BTreeSet<(Instant, usize)>,
    /// Kept by what is in line or runs, and here, so that it is open as long as the batch.
    answering: mpsc::UnboundedSender<(usize, Answer)>,
    answers: mpsc::UnboundedReceiver<(usize, Answer)>,
    unanswered: usize,
    /// How many are in line.
    waiting: usize,
    shared: Arc<Shared>,
    options: RunOptions,
    caller: Caller,
    awaited_in: Option<WaitId>,
    stop: CancellationToken,
    started: Instant,
    span: Span,
    /// Who hears of each answer as it comes; kept in the places where nobody does.
    told_to: Option<mpsc::UnboundedSender<(usize, Answer)>>,
}

/// What the owner of a batch hears next.
enum News {
    Lease(usize, Result<Lease, Refusal>),
    Ended(usize, Answer),
    Stopped,
    Draining,
    Deadline,
    /// Nothing else happened: it is time to put more requests in line.
    Quiet,
}

impl Batch {
    fn new(
        shared: &Arc<Shared>,
        requests: Vec<TaskRequest>,
        options: RunOptions,
        caller: Option<Scope>,
    ) -> (Self, Asked) {
        let caller = Caller::find(caller, &shared.slots);
        let wait = caller.wait(&shared.slots);
        let (stop, started) = (caller.stop(shared), Instant::now());
        let stop_on_drop = stop.clone().drop_guard();
        let tasks: Vec<_> = requests.iter().map(|request| task_id(shared, request, started)).collect();
        let (answering, answers) = mpsc::unbounded_channel();
        let batch = Self {
            places: Vec::with_capacity(requests.len()),
            unanswered: requests.len(),
            requests: requests.into_iter().zip(tasks.clone()),
            leases: shared.slots.batch(),
            deadlines: BTreeSet::new(),
            answering,
            answers,
            waiting: 0,
            shared: Arc::clone(shared),
            options,
            awaited_in: wait.as_ref().map(Wait::id),
            stop,
            started,
            span: caller.span(),
            caller,
            told_to: None,
        };
        (batch, Asked { wait, stop_on_drop, tasks })
    }

    fn told_to(self, listener: mpsc::UnboundedSender<(usize, Answer)>) -> Self {
        Self { told_to: Some(listener), ..self }
    }

    async fn run(mut self) -> Vec<TeamAnswer> {
        let token = self.options.cancellation.clone().unwrap_or_default();
        while self.unanswered > 0 {
            match self.news(&token).await {
                News::Ended(index, answer) => self.done(index, answer),
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
        let unwrap = |place| match place {
            Place::Done(answer) => Some(answer.map(Arc::unwrap_or_clone)),
            Place::Waiting(_) | Place::Running | Place::Told => None,
        };
        self.places.drain(..).filter_map(unwrap).collect()
    }

    async fn news(&mut self, token: &CancellationToken) -> News {
        let waits = self.waiting > 0 || self.requests.len() > 0;
        let deadline = self.deadlines.first().map(|(at, _)| *at);
        let deadline = async {
            match deadline {
                Some(at) => sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            Some((index, answer)) = self.answers.recv() => News::Ended(index, answer),
            () = self.stop.cancelled(), if waits => News::Stopped,
            () = token.cancelled(), if waits => News::Stopped,
            // What a running task asks for still runs.
            () = self.shared.draining.cancelled(), if waits && !self.caller.is_task() => News::Draining,
            () = deadline, if waits => News::Deadline,
            // Also where nobody waits any more: a lease that crossed the end of its wait goes back at once.
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
            let prepared =
                Prepared::new(&self.shared, Box::new(request), task, options, origin, above, asker);
            self.places.push(Place::Waiting(prepared));
            self.waiting += 1;
            self.ask(self.places.len() - 1);
        }
    }

    /// Puts a request in line, or ends it at once.
    fn ask(&mut self, index: usize) {
        let Some(Place::Waiting(prepared)) = self.places.get(index) else { return };
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
            let Some(Place::Waiting(prepared)) = self.places.get(index) else { continue };
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
        let place = self.places.get_mut(index)?;
        match mem::replace(place, Place::Running) {
            Place::Waiting(prepared) => {
                self.waiting -= 1;
                if let Some(at) = prepared.stops.deadline {
                    self.deadlines.remove(&(at, index));
                }
                Some(prepared)
            }
            other => {
                *place = other;
                None
            }
        }
    }

    fn done(&mut self, index: usize, answer: Answer) {
        self.unanswered -= 1;
        let Some(place) = self.places.get_mut(index) else { return };
        *place = match &self.told_to {
            None => Place::Done(answer),
            Some(listener) => {
                // Nobody hears of what was stopped by dropping the answers; the records have it.
                let _ = listener.send((index, answer));
                Place::Told
            }
        };
    }
}
