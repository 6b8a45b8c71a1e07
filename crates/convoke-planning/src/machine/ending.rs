//! How a run ends.

use std::time::Duration;

use crate::{
    StepIndex, StepStatus,
    machine::{
        Closing, Machine,
        command::Command,
        event::Moment,
        phase::Phase,
        record::Record,
        stop::StopReason,
        timers::{Alarm, Timer},
    },
};

/// A run that was told to end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ending {
    pub(super) stop: StopReason,
    /// What ended by then counts.
    pub(super) by: Duration,
    /// So long the work that was asked to stop is waited for.
    until: Duration,
}

impl Machine {
    /// Tells the run to end. Told twice, the reason is the one that comes first among the reasons.
    pub(super) fn end(&mut self, now: Moment, stop: StopReason, by: Duration, out: &mut Vec<Command>) {
        if !self.is_running() {
            return;
        }
        if let Some(ending) = &mut self.ending {
            ending.stop = ending.stop.min(stop);
            return;
        }
        self.ending = Some(Ending { stop, by, until: now.running.saturating_add(self.policy.grace()) });
        self.held.clear();
        for step in self.phases.active() {
            match self.phase(step) {
                Phase::Starting => {
                    self.enter(step, Phase::Idle);
                    self.record_of(now, out, step, |step| Record::Released { step });
                    self.vacate(now, step);
                }
                Phase::Running => {
                    self.enter(step, Phase::Stopping);
                    out.push(Command::Stop { step, start: self.ledger.row(step).start });
                }
                _ => {}
            }
        }
    }

    /// The store is not ours any more, or does not work: the run ends without another record.
    pub(super) fn abandon(&mut self, now: Moment, stop: StopReason, out: &mut Vec<Command>) {
        self.muted = true;
        if self.is_running() {
            self.end(now, stop, now.running, out);
        } else {
            self.closing = Some(Closing::Done(stop));
        }
    }

    /// Ends the run where its time was over before `at`.
    pub(super) fn end_overdue_run(&mut self, now: Moment, at: Duration, out: &mut Vec<Command>) {
        let unfinished = self.ledger.count(StepStatus::Pending) + self.ledger.count(StepStatus::Running) > 0;
        if let Some(deadline) = self.run.and_then(|run| run.deadline).filter(|deadline| *deadline < at)
            && unfinished
        {
            self.end(now, StopReason::RunTimeout, deadline, out);
        }
    }

    /// What time has brought.
    pub(super) fn expire(&mut self, now: Moment, out: &mut Vec<Command>) {
        // A moment is over when the next one begins; what ends in it counts.
        self.end_overdue_run(now, now.running.saturating_add(Duration::from_nanos(1)), out);
        while let Some(timer) = self.next_timer().filter(|timer| timer.at <= now.running) {
            self.count();
            self.timers.pop();
            let Timer { step, start, .. } = timer;
            match timer.alarm {
                Alarm::Backoff => {
                    self.enter(step, Phase::Idle);
                    self.agenda.push_back(step);
                }
                Alarm::Deadline => {
                    self.enter(step, Phase::Stopping);
                    out.push(Command::Stop { step, start });
                    let at = now.running.saturating_add(self.policy.grace());
                    self.set_timer(Timer { at, step, start, alarm: Alarm::Grace });
                }
                Alarm::Grace => self.give_up(now, step, out),
            }
        }
    }

    pub(super) fn set_timer(&mut self, timer: Timer) {
        let live = self.phases.count_active() + self.phases.count(Phase::Backoff);
        let (phases, ledger, ending) = (&self.phases, &self.ledger, self.ending.is_some());
        self.timers.push(timer);
        self.timers
            .sweep(live, |timer| holds(timer, phases.of(timer.step), ledger.row(timer.step).start, ending));
    }

    fn next_timer(&mut self) -> Option<Timer> {
        let (phases, ledger, ending) = (&self.phases, &self.ledger, self.ending.is_some());
        self.timers.peek(|timer| holds(timer, phases.of(timer.step), ledger.row(timer.step).start, ending))
    }

    /// When to look again.
    pub(super) fn wake_at(&mut self) -> Option<Duration> {
        if !self.is_running() {
            return None;
        }
        if let Some(ending) = self.ending {
            return Some(ending.until);
        }
        let of_run = self.run.and_then(|run| run.deadline);
        self.next_timer().map(|timer| timer.at).into_iter().chain(of_run).min()
    }

    /// Closes the run where nothing is left that it waits for.
    pub(super) fn close(&mut self, now: Moment, out: &mut Vec<Command>) {
        let under_way = self.phases.count_active() > 0 || self.phases.count(Phase::Reviewing) > 0;
        if let Some(ending) = self.ending {
            if under_way && now.running < ending.until {
                return;
            }
            for step in self.phases.active() {
                self.detach(now, step, ending.stop, out);
            }
            return self.finish(now, ending.stop, out);
        }
        let asked = [Phase::Hook, Phase::Approval, Phase::Backoff];
        let asking = self.is_revising()
            || !self.is_halted() && asked.iter().any(|phase| self.phases.count(*phase) > 0);
        if !under_way && !asking {
            let stop = self.reason(now);
            self.finish(now, stop, out);
        }
    }

    /// The run ends while the work goes on, which nobody waits for any more.
    pub(super) fn detach(&mut self, now: Moment, step: StepIndex, why: StopReason, out: &mut Vec<Command>) {
        let executor_cooperative_cancellation = self.executor(step).cooperative;
        self.record_of(now, out, step, |step| Record::Detached {
            step,
            stop: why,
            executor_cooperative_cancellation,
        });
        self.enter(step, Phase::Detached);
    }

    /// Why a run ends that nobody told to.
    fn reason(&self, now: Moment) -> StopReason {
        if self.score_error.is_some() {
            return StopReason::InvalidScore;
        }
        let ready = self.phases.count(Phase::Queued) + self.phases.count(Phase::Parked) > 0;
        let count = |status| self.ledger.count(status);
        if ready && !self.is_halted() && !self.is_past_last_start(now) {
            if !self.run_limit_allows() {
                return StopReason::StepRunLimit;
            }
            if !self.budget_allows() {
                return StopReason::StepBudget;
            }
            return StopReason::Detached;
        }
        if count(StepStatus::Failed) > 0 {
            StopReason::Failed
        } else if count(StepStatus::Blocked) > 0 {
            StopReason::Blocked
        } else if self.pending().next().is_some() {
            StopReason::ApprovalRequired
        } else if count(StepStatus::Pending) + count(StepStatus::Running) == 0 {
            StopReason::Completed
        } else {
            StopReason::NoReadyStep
        }
    }

    fn finish(&mut self, now: Moment, stop: StopReason, out: &mut Vec<Command>) {
        self.timers.clear();
        self.record(now, out, Record::Stopped { stop });
        self.closing = Some(if self.muted { Closing::Done(stop) } else { Closing::At(stop) });
    }
}

/// Whether a timer is not out of date.
fn holds(timer: &Timer, phase: Phase, start: u64, ending: bool) -> bool {
    let wanted = match timer.alarm {
        Alarm::Deadline => Phase::Running,
        Alarm::Grace => Phase::Stopping,
        Alarm::Backoff => Phase::Backoff,
    };
    // The end of the run has a grace of its own.
    !ending && phase == wanted && start == timer.start
}
