//! Who awaits whom, and the slots that go with it.
//!
//! A task keeps its slot from its start to its end. While it awaits others it lends that slot to one of them at a time,
//! so that one slot is enough for any depth of nesting. A lender is a pool of one slot: what it awaits stands in a queue
//! of that pool too, and whichever pool has a slot first serves it. As in any pool, the oldest whose target has a free
//! unit comes first. A slot is lent within its own limit only, and for as long as the wait lasts. When the wait ends
//! before the borrower, because the awaiter has given up or has ended, the borrower takes a slot of its own; when the
//! borrower is detached, it goes on without one.

use std::mem;

use super::{
    ClaimKey, Dispatch, PoolKey, Refusal, WaitKey,
    claim::{Claim, Standing},
    few::{Few, take_out},
    pool::Pool,
};

/// Somebody who awaits others, from the first of them to the last.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct Wait {
    pub(super) awaiter: ClaimKey,
    pub(super) awaited: Few<ClaimKey>,
    /// Where it is among the open waits of the awaiter.
    pub(super) index: usize,
}

impl<W> Dispatch<W> {
    /// Opens a wait of running work; `None` where the work has ended, or is detached.
    pub(crate) fn open_wait(&mut self, awaiter: ClaimKey) -> Option<WaitKey> {
        let claim = self.claims.get_mut(awaiter)?;
        if claim.holding()?.detached {
            return None;
        }
        let index = claim.open_waits.len();
        let wait = self.waits.insert(Wait { awaiter, awaited: Few::default(), index });
        claim.open_waits.push(wait);
        if claim.lent_pool.is_none() {
            claim.lent_pool = Some(self.pools.insert(Pool::lent()));
        }
        Some(wait)
    }

    /// Says that a claim is awaited. Does nothing where either has ended.
    ///
    /// # Errors
    ///
    /// The circle, where the wait could never end; then the claim is not awaited.
    pub(crate) fn await_claim(&mut self, wait: WaitKey, key: ClaimKey) -> Result<(), Refusal> {
        self.link(wait, key);
        // From the awaited one, which mostly needs nothing: its awaiter may await many others.
        if let Some(path) = self.endless_wait(key) {
            self.unlink(key);
            return Err(Refusal::WaitCycle { path });
        }
        self.grant();
        Ok(())
    }

    /// Ends a wait, whatever became of what it awaited.
    pub(crate) fn close_wait(&mut self, key: WaitKey) {
        self.end_wait(key);
        self.grant();
    }

    /// Does not grant: with several waits to end, a slot must not be lent in between to somebody whose wait ends next. The
    /// caller grants afterwards.
    fn end_wait(&mut self, key: WaitKey) {
        let Some(wait) = self.waits.get_mut(key) else { return };
        let (awaiter, index) = (wait.awaiter, wait.index);
        // The wait stays until all are off it: `lender_slot` finds the lender through it. Its list is emptied first, so
        // that nobody is moved up in it.
        for claim in mem::take(&mut wait.awaited) {
            self.unlink(claim);
        }
        self.waits.remove(key);
        let Some(claim) = self.claims.get_mut(awaiter) else { return };
        let moved = take_out(&mut claim.open_waits, index);
        if let Some(moved) = moved.and_then(|moved| self.waits.get_mut(moved)) {
            moved.index = index;
        }
    }

    pub(super) fn close_waits(&mut self, awaiter: ClaimKey) {
        let Some(claim) = self.claims.get_mut(awaiter).filter(|claim| !claim.open_waits.is_empty()) else {
            return;
        };
        for wait in mem::take(&mut claim.open_waits) {
            self.end_wait(wait);
        }
    }

    /// Says that a claim is awaited in a wait, if that is still there and nobody else awaits the claim.
    pub(super) fn link(&mut self, key: WaitKey, claim_key: ClaimKey) {
        let Some(wait) = self.waits.get_mut(key) else { return };
        let Some(claim) = self.claims.get_mut(claim_key).filter(|claim| claim.awaited_in.is_none()) else {
            return;
        };
        claim.awaited_in = Some(key);
        claim.index_in_wait = wait.awaited.len();
        wait.awaited.push(claim_key);
        let awaiter = wait.awaiter;
        self.awaits_one_more(awaiter);
        self.queue_for_lent(claim_key);
    }

    /// Takes a claim off the wait that it is awaited in. Where it has the slot of its awaiter, that goes back at once, so
    /// that the awaiter can lend it again; the claim takes one of its own, beyond the limit if none is left, and nothing
    /// from that limit is granted until there is.
    pub(super) fn unlink(&mut self, claim_key: ClaimKey) {
        let Some(claim) = self.claims.get(claim_key).filter(|claim| claim.awaited_in.is_some()) else {
            return;
        };
        let (lent, own) = (self.lender_slot(claim), claim.pool);
        let Some(claim) = self.claims.get_mut(claim_key) else { return };
        let (index, Some(key)) = (claim.index_in_wait, claim.awaited_in.take()) else { return };
        match &mut claim.standing {
            Standing::Coming => {}
            Standing::Queued(ticket) => {
                let age = ticket.age;
                if let Some(queue) = ticket.lent_queue.take() {
                    self.leave(queue, age, claim_key);
                }
            }
            Standing::Holding(holding) => {
                if let Some(lent) = lent
                    && holding.slot == Some(lent)
                {
                    holding.slot = Some(own);
                    self.change_pool(own, |pool| pool.taken += 1);
                    self.free_up(lent);
                }
            }
        }
        let Some(wait) = self.waits.get_mut(key) else { return };
        let (awaiter, moved) = (wait.awaiter, take_out(&mut wait.awaited, index));
        if let Some(moved) = moved.and_then(|moved| self.claims.get_mut(moved)) {
            moved.index_in_wait = index;
        }
        self.awaits_one_less(awaiter);
    }

    /// The slot that a claim can have at once: the one that is lent to it, before one of its own limit.
    pub(super) fn free_slot(&self, key: ClaimKey) -> Option<PoolKey> {
        let claim = self.claims.get(key)?;
        let is_free = |pool: &PoolKey| self.pools.get(*pool).is_some_and(Pool::is_free);
        self.lender_slot(claim).filter(is_free).or_else(|| Some(claim.pool).filter(is_free))
    }

    /// The slot that whoever awaits a claim lends to it, taken or not; a slot is lent within its own limit only.
    pub(super) fn lender_slot(&self, claim: &Claim<W>) -> Option<PoolKey> {
        let lender = self.claims.get(self.waits.get(claim.awaited_in?)?.awaiter)?;
        lender.lent_pool.filter(|_| lender.pool == claim.pool)
    }

    /// Takes back the slot of work that has ended, and the one that it lent, which nobody has or is in line for any more.
    pub(super) fn give_back(&mut self, slot: Option<PoolKey>, lent_pool: Option<PoolKey>) {
        if let Some(lent_pool) = lent_pool {
            self.close_pool(lent_pool);
        }
        if let Some(slot) = slot {
            self.free_up(slot);
        }
    }

    /// Forgets a claim: it awaits nothing any more, and nobody awaits it.
    pub(super) fn forget(&mut self, key: ClaimKey) {
        self.close_waits(key);
        self.unlink(key);
        self.claims.remove(key);
    }

    /// With the first that it awaits, lists a task among the blocked holders of its agent.
    fn awaits_one_more(&mut self, awaiter: ClaimKey) {
        let Some(claim) = self.claims.get_mut(awaiter) else { return };
        claim.awaited_count += 1;
        if claim.awaited_count == 1
            && let Some(agent) = claim.holding().and_then(|holding| self.agents.get_mut(holding.agent?))
        {
            claim.index_in_blocked = agent.blocked.len();
            agent.blocked.push(awaiter);
        }
    }

    /// With the last, takes it off that list.
    fn awaits_one_less(&mut self, awaiter: ClaimKey) {
        let Some(claim) = self.claims.get_mut(awaiter) else { return };
        claim.awaited_count -= 1;
        let index = claim.index_in_blocked;
        if claim.awaited_count == 0
            && let Some(agent) = claim.holding().and_then(|holding| self.agents.get_mut(holding.agent?))
            && let Some(moved) = take_out(&mut agent.blocked, index)
            && let Some(moved) = self.claims.get_mut(moved)
        {
            moved.index_in_blocked = index;
        }
    }
}
