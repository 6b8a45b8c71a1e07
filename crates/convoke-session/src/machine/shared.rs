//! Shared state: values by key, each with the revision that wrote it.

use std::sync::Arc;

use serde_json::Value;

use convoke_core::json_size;

use super::{Machine, Writer, check_depth};
use crate::{Expected, Oversized, SessionError, SessionUsage, StateEntry};

/// On what a write depends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum When {
    Always,
    Found(Expected),
}

impl Machine {
    pub(crate) fn set(
        &mut self,
        writer: Writer<'_>,
        key: Arc<str>,
        when: When,
        value: Value,
    ) -> Result<Arc<StateEntry>, SessionError> {
        self.check_open()?;
        self.check_writer(writer)?;
        if key.is_empty() {
            return Err(SessionError::EmptyKey);
        }
        let what = || Oversized::State(String::from(&*key));
        check_depth(Some(&value), what)?;
        let bytes = self.check_value(json_size(&value), what)?;
        let found = self.state.shared.get(&*key);
        let actual = Expected::of(found.map(Arc::as_ref));
        match when {
            When::Found(expected) if expected != actual => {
                return Err(SessionError::Conflict { key: String::from(&*key), expected, actual });
            }
            _ => {}
        }
        let freed = found.map_or(SessionUsage::default(), |entry| SessionUsage::entry(&key, &entry.value));
        let needed = bytes + key.len() as u64;
        self.check_room(freed, SessionUsage::bytes(needed))?;
        Ok(self.commit().set(key, value))
    }

    /// Whether there was a value.
    pub(crate) fn erase(&mut self, writer: Writer<'_>, key: &str) -> Result<bool, SessionError> {
        self.check_open()?;
        self.check_writer(writer)?;
        if key.is_empty() {
            return Err(SessionError::EmptyKey);
        }
        if !self.state.shared.contains_key(key) {
            return Ok(false);
        }
        self.commit().erase(key);
        Ok(true)
    }
}
