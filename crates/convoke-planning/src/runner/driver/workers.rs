//! The tasks that do the work of steps.

use std::{
    future::poll_fn,
    mem,
    task::{Poll, Waker},
};

use crate::{
    machine::Event,
    runner::driver::{
        Told,
        inbox::Teller,
        work::{Work, end_of_rest},
    },
};

/// The tasks of a run that do work, one start at a time each. One that is done waits for another start, since to wake a
/// task costs a part of what it costs to make one.
#[derive(Default)]
pub(super) struct Seats {
    seats: Vec<Seat>,
    /// Those whose task waits for work.
    idle: Vec<usize>,
}

struct Seat {
    waker: Waker,
    work: Option<Work>,
}

impl Seats {
    /// Gives work to a task that waits for some, which is to be woken; gives it back where none does.
    fn give(&mut self, work: Work) -> Result<Waker, Work> {
        let Some(seat) = self.idle.pop().and_then(|seat| self.seats.get_mut(seat)) else { return Err(work) };
        seat.work = Some(work);
        Ok(seat.waker.clone())
    }

    /// Has the tasks end that wait for work.
    pub(super) fn dismiss(&mut self) {
        for seat in mem::take(&mut self.idle) {
            if let Some(seat) = self.seats.get(seat) {
                seat.waker.wake_by_ref();
            }
        }
    }

    fn add(&mut self, waker: Waker) -> usize {
        self.seats.push(Seat { waker, work: None });
        self.seats.len() - 1
    }

    fn take(&mut self, seat: usize) -> Option<Work> {
        self.seats.get_mut(seat)?.work.take()
    }
}

/// Has work done in a task that does nothing else meanwhile, and that tells of its end.
pub(super) fn give(work: Work, teller: &Teller) {
    // The task may ask for the lock at once, on another thread.
    let given = teller.lock().seats.give(work);
    match given {
        Ok(waker) => waker.wake(),
        Err(work) => drop(tokio::spawn(works(work, teller.clone()))),
    }
}

/// Does one work after the other, until the run is over.
async fn works(mut work: Work, teller: Teller) {
    let seat = poll_fn(|cx| Poll::Ready(teller.lock().seats.add(cx.waker().clone()))).await;
    loop {
        let start = work.start();
        let (ended, still_running) = work.await;
        let goes_on = match still_running {
            None => rest(&teller, seat, Some(ended)),
            Some(still_running) => {
                // The run may be over.
                let _ = teller.tell(Told::Event(ended));
                // Few leave something, and the task is as large as the largest that it waits for.
                Box::pin(end_of_rest(teller.clone(), start, still_running)).await;
                rest(&teller, seat, None)
            }
        };
        if !goes_on {
            return;
        }
        let mut is_woken = false;
        let given = poll_fn(|_| {
            // Whoever gives work wakes the task, so that there is no need to look before.
            if mem::replace(&mut is_woken, true) { poll_given(&teller, seat) } else { Poll::Pending }
        });
        let Some(given) = given.await else { return };
        work = given;
    }
}

/// Says that a task waits for work, and how the last ended; `false` where there is none any more.
fn rest(teller: &Teller, seat: usize, ended: Option<Event>) -> bool {
    let mut state = teller.lock();
    if state.is_over {
        return false;
    }
    state.seats.idle.push(seat);
    if let Some(ended) = ended {
        teller.tell_locked(state, Told::Event(ended));
    }
    true
}

/// The work that a task was given; none where the run is over.
fn poll_given(teller: &Teller, seat: usize) -> Poll<Option<Work>> {
    let mut state = teller.lock();
    match state.seats.take(seat) {
        None if !state.is_over => Poll::Pending,
        given => Poll::Ready(given),
    }
}
