//! What other processes say to a run, through the journal.

use convoke_core::{Metadata, Record};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::machine::{Event, RequestId};

const VERSION: u64 = 1;

/// What anybody may say to whoever runs a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum PlanSignal {
    Approve {
        request: RequestId,
        #[serde(default, skip_serializing_if = "Metadata::is_empty")]
        metadata: Metadata,
    },
    Deny {
        request: RequestId,
        reason: String,
    },
    Answer {
        start: u64,
        answer: Value,
    },
    /// Meant for the run that began or was resumed with this record, and for none after it.
    Cancel {
        since: u64,
    },
}

/// What is heard of a signal.
#[derive(Debug)]
pub(super) enum Heard {
    Signal(PlanSignal),
    /// It is left for a version that understands it.
    Newer,
    /// It says nothing to anybody.
    Nothing,
}

#[derive(Deserialize)]
struct Probe {
    version: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    version: u64,
    signal: PlanSignal,
}

impl PlanSignal {
    pub(super) fn to_record(&self) -> Result<Record, serde_json::Error> {
        let text = serde_json::to_string(&Document { version: VERSION, signal: self.clone() })?;
        // What nests too deeply to be read is refused where it is said.
        serde_json::from_str::<Document>(&text)?;
        Ok(Record::from(text))
    }

    /// What a record says.
    pub(super) fn from_record(record: &Record) -> Heard {
        let probe = serde_json::from_slice::<Probe>(record.as_bytes());
        match serde_json::from_slice::<Document>(record.as_bytes()) {
            Ok(document) if document.version == VERSION => Heard::Signal(document.signal),
            _ if probe.is_ok_and(|probe| probe.version > VERSION) => Heard::Newer,
            _ => Heard::Nothing,
        }
    }

    /// What it means to a run that began with the record `since`.
    pub(super) fn into_event(self, since: u64) -> Option<Event> {
        match self {
            Self::Approve { request, metadata } => Some(Event::Approved { request, metadata }),
            Self::Deny { request, reason } => Some(Event::Denied { request, reason }),
            Self::Answer { start, answer } => Some(Event::Answered { start, answer }),
            Self::Cancel { since: meant } => (meant == since).then_some(Event::Cancel),
        }
    }
}
