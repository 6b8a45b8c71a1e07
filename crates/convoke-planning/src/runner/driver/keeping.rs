//! What a run writes into its log, and what it hears from there.

use std::task::{Context, Poll};

use convoke_core::{JournalErrorKind, Record};
use tokio::sync::oneshot;

use crate::{
    machine::{Durability, Event},
    runner::{
        PlanError,
        driver::{Driver, Told},
        log::{self, Head},
        signal::{Heard, PlanSignal},
        writer::Told as FromLog,
    },
};

impl Driver {
    /// Tells whoever said something that it is taken, once that is durable where it is to be.
    pub(super) fn acknowledge(&mut self, answer: oneshot::Sender<Result<(), PlanError>>) {
        if self.writer.is_some() && self.settings.durability == Durability::Strict {
            self.unacknowledged.push_back((self.machine.sequence(), answer));
        } else {
            let _ = answer.send(Ok(()));
        }
    }

    pub(super) fn acknowledge_upto(&mut self, durable: u64) {
        while let Some((_, answer)) = self.unacknowledged.pop_front_if(|(sequence, _)| *sequence <= durable) {
            let _ = answer.send(Ok(()));
        }
    }

    pub(super) fn write(&mut self, record: Record) {
        if let Some(writer) = &mut self.writer {
            writer.push(record);
        }
    }

    pub(super) fn poll_log(&mut self, cx: &mut Context<'_>) {
        loop {
            let Some(writer) = &mut self.writer else { return };
            let Poll::Ready(told) = writer.poll(cx) else { return };
            match told {
                FromLog::Durable(next) => {
                    let before = self.head.as_ref().map_or(0, Head::len);
                    let sequence = next.get().saturating_sub(before);
                    self.came.push_back(Told::Event(Event::Persisted { sequence }));
                    self.acknowledge_upto(sequence);
                    self.observe_checkpoint();
                }
                FromLog::Signals(signals) => {
                    self.hear(signals);
                    // Another commit would take them before what they say is on record.
                    return;
                }
                FromLog::Failed(error) => {
                    let kind = error.kind();
                    self.store_failed(convoke_core::error_chain(&error), Some(kind));
                }
            }
        }
    }

    /// Writes a snapshot where that is worth its bytes.
    pub(super) fn compact(&mut self) {
        let (Some(writer), Some(head)) = (&mut self.writer, &self.head) else { return };
        if !writer.is_snapshot_due() {
            return;
        }
        match log::snapshot(head, (self.since, self.machine.recorded_stop()), &self.machine.snapshot()) {
            Ok(records) => writer.compact(records),
            Err(error) => self.store_failed(convoke_core::error_chain(&error), None),
        }
    }

    pub(super) fn store_failed(&mut self, message: String, kind: Option<JournalErrorKind>) {
        self.store_error.get_or_insert(message);
        let event =
            if kind == Some(JournalErrorKind::Fenced) { Event::ClaimLost } else { Event::StoreFailed };
        self.came.push_back(Told::Event(event));
    }

    pub(super) fn hear(&mut self, signals: Vec<convoke_core::Signal>) {
        for signal in signals {
            let said = PlanSignal::from_record(&signal.body);
            if matches!(said, Heard::Newer) || !self.heard.insert(signal.id.clone()) {
                continue;
            }
            if let Some(writer) = &mut self.writer {
                writer.take(signal.id);
            }
            if let Heard::Signal(said) = said
                && let Some(event) = said.into_event(self.since)
            {
                self.came.push_back(Told::Event(event));
            }
        }
    }
}
