//! How loaded an agent is, in the order in which dispatch prefers agents.

use std::cmp::Ordering;

use convoke_core::AgentId;

use super::AgentKey;

/// Orders agents that have a free unit: least utilisation first, then fewest active, then smallest id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Load {
    pub(super) active: u32,
    pub(super) max: u32,
    pub(super) id: AgentId,
    pub(super) key: AgentKey,
}

impl Ord for Load {
    fn cmp(&self, other: &Self) -> Ordering {
        // active / max < active' / max' without a division; both products fit, since each factor has 32 bits.
        let own = u64::from(self.active) * u64::from(other.max);
        let others = u64::from(other.active) * u64::from(self.max);
        own.cmp(&others).then_with(|| self.active.cmp(&other.active)).then_with(|| self.id.cmp(&other.id))
    }
}

impl PartialOrd for Load {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
