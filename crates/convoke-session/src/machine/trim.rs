//! Trimming: the oldest messages go, and a call never goes without its output.

use std::collections::BTreeSet;

use convoke_core::{CallId, Message};

use super::{Machine, open::OpenAttempt};
use crate::{SessionError, SessionMessage};

impl Machine {
    /// Keeps the newest `keep` messages, and the older ones whose call one of those shares, or one that an open attempt
    /// or a late report has yet to publish. Gives the number that went.
    pub(crate) fn trim(&mut self, keep: usize) -> Result<usize, SessionError> {
        self.check_open()?;
        let candidates = self.state.messages.len().saturating_sub(keep);
        let is_kept = {
            let newest = self.state.messages.iter().skip(candidates).map(|message| &message.message);
            let calls: BTreeSet<CallId> = newest
                .chain(self.open.values().flat_map(OpenAttempt::messages))
                .chain(self.late_messages())
                .filter_map(|message| message.call.clone())
                .collect();
            move |message: &SessionMessage| {
                message.message.call.as_ref().is_some_and(|call| calls.contains(call))
            }
        };
        let kept_older = self.state.messages.iter().take(candidates).filter(|message| is_kept(message));
        let kept_older: Vec<u64> = kept_older.map(|message| message.sequence).collect();
        let cut = candidates - kept_older.len();
        if cut == 0 {
            return Ok(0);
        }

        let newest = self.state.messages.get(candidates).map(|message| message.sequence);
        let before = newest.unwrap_or(self.state.last_sequence + 1);
        self.commit().trim(before, &kept_older);
        Ok(cut)
    }

    /// What late reports publish if they are accepted. Most sessions have none, and are not searched for them.
    fn late_messages(&self) -> impl Iterator<Item = &Message> {
        let records = (self.activity().late > 0).then(|| self.state.tasks.iter());
        let reports = records.into_iter().flatten().filter_map(|(_, record)| record.late.as_ref());
        reports.filter_map(|report| report.output.as_ref()).flat_map(|output| &output.messages)
    }
}
