//! Who awaits whom, and the slots that go with it.
//!
//! A task keeps its slot from its start to its end. While it awaits others it lends that slot to one of them at a time,
//! so that one slot is enough for any depth of nesting. A lender is a pool of one slot: what it awaits stands in a queue
//! of that pool too, and whichever pool has a slot first serves it. The slot is lent for as long as the wait lasts. When
//! it ends before the borrower, because the waiter has given up or has ended, the borrower takes a slot of its own; when
//! the borrower is detached, it goes on without one.

use std::mem;

use super::{
    ClaimKey, Dispatch, PoolKey, Refusal, WaitKey,
    claim::{Claim, Standing},
    few::Few,
    pool::Pool,
};

/// Somebody who awaits others, from the first of them to the last.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct Wait {
    pub(super) waiter: ClaimKey,
    pub(super) awaited: Few<ClaimKey>,
}

impl<W> Dispatch<W> {
    /// Opens a wait of running work; `None` where it has ended, or nobody waits for it any more.
    pub(crate) fn open_wait(&mut self, waiter: ClaimKey) -> Option<WaitKey> {
        let claim = self.claims.get_mut(waiter)?;
        if claim.holding()?.detached {
            return None;
        }
        let wait = self.waits.insert(Wait { waiter, awaited: Few::default() });
        claim.waits.push(wait);
        if claim.lends.is_none() {
            claim.lends = Some(self.pools.insert(Pool::lent()));
        }
        Some(wait)
    }

    /// Says that a claim is awaited; on what has ended nothing hangs any more.
    ///
    /// # Errors
    ///
    /// The path of who waits for whom, where the wait could never end; then it is not awaited.
    pub(crate) fn await_claim(&mut self, wait: WaitKey, key: ClaimKey) -> Result<(), Refusal> {
        self.link(wait, key);
        // From the awaited one, which mostly rests on nothing: its waiter may await many others.
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

    /// Grants nothing: who has several waits to end still holds what goes back with the next one.
    fn end_wait(&mut self, key: WaitKey) {
        let Some(wait) = self.waits.get_mut(key) else { return };
        let waiter = wait.waiter;
        for claim in mem::take(&mut wait.awaited).iter() {
            self.unlink(claim);
        }
        self.waits.remove(key);
        let Some(claim) = self.claims.get_mut(waiter) else { return };
        let place = claim.waits.iter().position(|wait| wait == key);
        if let Some(place) = place {
            claim.waits.remove(place);
        }
    }

    pub(super) fn close_waits(&mut self, waiter: ClaimKey) {
        let Some(claim) = self.claims.get_mut(waiter).filter(|claim| !claim.waits.is_empty()) else { return };
        for wait in mem::take(&mut claim.waits).iter() {
            self.end_wait(wait);
        }
    }

    /// Hangs a claim on a wait, if there still is one and nobody else awaits it.
    pub(super) fn link(&mut self, key: WaitKey, claim_key: ClaimKey) {
        let Some(wait) = self.waits.get_mut(key) else { return };
        let Some(claim) = self.claims.get_mut(claim_key).filter(|claim| claim.awaited_in.is_none()) else {
            return;
        };
        claim.awaited_in = Some(key);
        claim.awaited_at = wait.awaited.push(claim_key);
        let waiter = wait.waiter;
        self.awaits_one_more(waiter);
        self.queue_for_lent(claim_key);
    }

    /// Takes a claim off the wait that it hangs on. Where it has the slot of whoever waited, that goes back at once, so
    /// that the waiter can lend it again; the claim takes one of its own, beyond the limit if there is none left, and
    /// nothing is granted until there is.
    pub(super) fn unlink(&mut self, claim_key: ClaimKey) {
        let Some(claim) = self.claims.get(claim_key).filter(|claim| claim.awaited_in.is_some()) else {
            return;
        };
        let (lent, own) = (self.lent_to(claim), claim.pool);
        let Some(claim) = self.claims.get_mut(claim_key) else { return };
        let (place, Some(key)) = (claim.awaited_at, claim.awaited_in.take()) else { return };
        match &mut claim.standing {
            Standing::Coming => {}
            Standing::Queued(ticket) => {
                if let (age, Some(queue)) = (ticket.age, ticket.lent.take()) {
                    self.leave(queue, age, claim_key);
                }
            }
            Standing::Holding(holding) => {
                if let Some(lent) = lent.filter(|_| holding.slot == lent) {
                    holding.slot = Some(own);
                    self.change_pool(own, |pool| pool.taken += 1);
                    self.free_up(lent);
                }
            }
        }
        let Some(wait) = self.waits.get_mut(key) else { return };
        let (waiter, moved) = (wait.waiter, wait.awaited.remove(place));
        if let Some(moved) = moved.and_then(|moved| self.claims.get_mut(moved)) {
            moved.awaited_at = place;
        }
        self.awaits_one_less(waiter);
    }

    /// The slot that a claim can have at once: the one that is lent to it, before one of its own limit.
    pub(super) fn free_slot(&self, key: ClaimKey) -> Option<PoolKey> {
        let claim = self.claims.get(key)?;
        let is_free = |pool: &PoolKey| self.pools.get(*pool).is_some_and(Pool::is_free);
        self.lent_to(claim).filter(is_free).or_else(|| Some(claim.pool).filter(is_free))
    }

    /// The slot that is lent to whom a claim is awaited by, taken or not.
    pub(super) fn lent_to(&self, claim: &Claim<W>) -> Option<PoolKey> {
        let waiter = self.waits.get(claim.awaited_in?)?.waiter;
        let lender = self.claims.get(waiter)?;
        lender.lends.filter(|_| lender.pool == claim.pool)
    }

    /// Takes back the slot of work that has ended, and with it the one that it lent, which nobody has any more.
    pub(super) fn give_back(&mut self, slot: Option<PoolKey>, lends: Option<PoolKey>) {
        if let Some(lends) = lends {
            self.close_pool(lends);
        }
        if let Some(slot) = slot {
            self.free_up(slot);
        }
    }

    /// Takes a claim out of the graph and forgets it.
    pub(super) fn forget(&mut self, key: ClaimKey) {
        self.close_waits(key);
        self.unlink(key);
        self.claims.remove(key);
    }

    /// Lists a task as a blocked holder of its agent with the first that it awaits.
    fn awaits_one_more(&mut self, waiter: ClaimKey) {
        let Some(claim) = self.claims.get_mut(waiter) else { return };
        claim.awaits += 1;
        if claim.awaits == 1
            && let Some(agent) = claim.holding().and_then(|holding| self.agents.get_mut(holding.agent?))
        {
            claim.blocked_at = agent.blocked.push(waiter);
        }
    }

    /// Lists it no more with the last.
    fn awaits_one_less(&mut self, waiter: ClaimKey) {
        let Some(claim) = self.claims.get_mut(waiter) else { return };
        claim.awaits -= 1;
        let place = claim.blocked_at;
        if claim.awaits == 0
            && let Some(agent) = claim.holding().and_then(|holding| self.agents.get_mut(holding.agent?))
            && let Some(moved) = agent.blocked.remove(place)
            && let Some(moved) = self.claims.get_mut(moved)
        {
            moved.blocked_at = place;
        }
    }
}
