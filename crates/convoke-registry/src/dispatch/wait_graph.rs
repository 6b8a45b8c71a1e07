//! The waits that could never end: found, told by their path, refused.
//!
//! **The rule.** A task can end unless it awaits a task that cannot. A task in line can end if some unit that could serve
//! it is free, is held outside any wait (by running, detached or the host's work), or is held by a task that can end.
//! Everything else cannot: what can end is the least set that these two sentences give, deadlines left aside. Slots play
//! no part, since a task lends its own to what it awaits.
//!
//! **When it is asked.** The machine keeps it true that every wait can end. What may break it is a new ticket that is
//! awaited, a new wait for a task that exists already, and an agent that takes no more work. The first two are checked
//! alone, since what could end before still can if they can: with the newest refused all is as it was. After the third,
//! the youngest ticket that waits for itself is refused, until none does; whoever merely stands in line behind such a
//! circle goes on once it is broken. Of a task that was there before anybody awaited it, the wait is refused and not the
//! ticket.
//!
//! **What it costs.** Nothing where nobody awaits a ticket. Otherwise the search follows who waits for whom from the one
//! that is checked, over tasks that run and await something. Of the agents that could serve a ticket it looks at all only
//! where none has a unit that ends by itself; of all that a task awaits only where the task has such a unit.

use std::collections::{HashMap, HashSet, VecDeque};

use super::{
    ClaimKey, Dispatch, Effect, Refusal, WaitStep,
    agent::Agent,
    claim::{Claim, Standing},
    pool::Target,
};

/// What can end or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Node {
    /// A task.
    Claim(ClaimKey),
    /// Standing in line for a target.
    Target(Target),
}

/// What the end of a node rests on.
enum Rest {
    /// Nothing: it ends.
    Nothing,
    /// All of these must end.
    All(Vec<Node>),
    /// One of these must end.
    Any(Vec<Node>),
}

impl<W> Dispatch<W> {
    /// The path from a claim back to itself, if it could never end.
    pub(super) fn endless_wait(&self, start: ClaimKey) -> Option<Vec<WaitStep>> {
        let claim = self.claims.get(start)?;
        if let Some(ticket) = claim.ticket() {
            // Nothing hangs on its end, so that it cannot wait for itself; or a unit for it comes free whatever it awaits,
            // which is the rule where many are asked at once.
            if claim.awaited_in.is_none() || matches!(self.needs_of_target(ticket.target), Rest::Nothing) {
                return None;
            }
        }
        let mut search = Search::new(self);
        search.explore(Node::Claim(start));
        search.derive();
        search.circle(Node::Claim(start))
    }

    /// Refuses tickets that wait for themselves, the youngest first, until there is none.
    pub(super) fn refuse_endless(&mut self) {
        while let Some((key, path)) = self.youngest_endless() {
            let refusal = Refusal::WaitCycle { path };
            if self.claims.get(key).is_some_and(|claim| claim.predates_wait) {
                self.refuse_wait(key, refusal);
            } else {
                self.refuse_claim(key, refusal);
            }
        }
    }

    /// Refuses the wait for a claim that was there before it; the claim can end without that.
    pub(super) fn refuse_wait(&mut self, claim: ClaimKey, refusal: Refusal) {
        self.unlink(claim);
        self.effects.push(Effect::Unawaited { claim, refusal });
    }

    fn youngest_endless(&self) -> Option<(ClaimKey, Vec<WaitStep>)> {
        let awaited = self.waits.values().flat_map(|wait| wait.awaited.iter());
        let mut tickets: Vec<_> =
            awaited.filter_map(|key| Some((self.claims.get(key)?.ticket()?.age, key))).collect();
        tickets.sort_unstable_by(|one, other| other.cmp(one));
        let mut search = Search::new(self);
        for &(_, key) in &tickets {
            search.explore(Node::Claim(key));
        }
        search.derive();
        tickets.into_iter().find_map(|(_, key)| Some((key, search.circle(Node::Claim(key))?)))
    }

    /// What the end of a node rests on, as things stand.
    fn rest(&self, node: Node) -> Rest {
        match node {
            Node::Claim(key) => {
                self.claims.get(key).map_or(Rest::Nothing, |claim| self.needs_of_claim(claim))
            }
            Node::Target(target) => self.needs_of_target(target),
        }
    }

    fn needs_of_claim(&self, claim: &Claim<W>) -> Rest {
        match &claim.standing {
            Standing::Coming => Rest::Nothing,
            Standing::Queued(ticket) => Rest::Any(vec![Node::Target(ticket.target)]),
            // Detached work has no waits.
            Standing::Holding(_) => {
                let waits = claim.open_waits.iter().filter_map(|wait| self.waits.get(wait));
                Rest::All(waits.flat_map(|wait| wait.awaited.iter()).map(Node::Claim).collect())
            }
        }
    }

    fn needs_of_target(&self, target: Target) -> Rest {
        let mut blocked = Vec::new();
        // One that ends is enough, so that this mostly looks at the first.
        let mut holds_up = |agent: &Agent| {
            blocked.extend(agent.blocked.iter().map(Node::Claim));
            !agent.has_unit_that_ends()
        };
        let all_hold_up = match target {
            Target::SlotAlone => return Rest::Nothing,
            Target::Agent(agent) => self.agents.get(agent).is_none_or(&mut holds_up),
            Target::AnyWith(demand) => {
                self.agents_of(demand).filter(|agent| agent.is_available()).all(&mut holds_up)
            }
        };
        if all_hold_up { Rest::Any(blocked) } else { Rest::Nothing }
    }
}

/// What can end of all that a few nodes rest on.
struct Search<'a, W> {
    dispatch: &'a Dispatch<W>,
    /// Each node before those that it rests on, as they were found.
    found: Vec<(Node, Rest)>,
    seen: HashSet<Node>,
    ends: HashSet<Node>,
}

impl<'a, W> Search<'a, W> {
    fn new(dispatch: &'a Dispatch<W>) -> Self {
        Self { dispatch, found: Vec::new(), seen: HashSet::new(), ends: HashSet::new() }
    }

    /// Finds all that a node rests on.
    fn explore(&mut self, start: Node) {
        let mut open = vec![start];
        while let Some(node) = open.pop() {
            if !self.seen.insert(node) {
                continue;
            }
            let rest = self.dispatch.rest(node);
            open.extend_from_slice(rest.nodes());
            self.found.push((node, rest));
        }
    }

    /// Draws the conclusions: what rests on nothing ends, then what rests on that, until nothing is added. Backwards, so
    /// that a plain chain takes one round.
    fn derive(&mut self) {
        loop {
            let before = self.ends.len();
            for (node, rest) in self.found.iter().rev() {
                if rest.is_met(&self.ends) {
                    self.ends.insert(*node);
                }
            }
            if self.ends.len() == before {
                return;
            }
        }
    }

    /// The shortest way from a node back to itself through nodes that cannot end.
    fn circle(&self, start: Node) -> Option<Vec<WaitStep>> {
        if self.ends.contains(&start) {
            return None;
        }
        let rests: HashMap<Node, &Rest> = self.found.iter().map(|(node, rest)| (*node, rest)).collect();
        let mut came_from: HashMap<Node, Node> = HashMap::new();
        let mut open = VecDeque::from([start]);
        while let Some(node) = open.pop_front() {
            for &next in rests.get(&node)?.nodes() {
                if self.ends.contains(&next) || came_from.contains_key(&next) {
                    continue;
                }
                came_from.insert(next, node);
                if next == start {
                    return Some(self.steps(start, &came_from));
                }
                open.push_back(next);
            }
        }
        None
    }

    /// The way as a person reads it.
    fn steps(&self, start: Node, came_from: &HashMap<Node, Node>) -> Vec<WaitStep> {
        let mut way = vec![start];
        let mut node = start;
        while let Some(&before) = came_from.get(&node) {
            way.push(before);
            node = before;
            if node == start {
                break;
            }
        }
        way.reverse();
        let claims: Vec<&Claim<W>> = way
            .iter()
            .filter_map(|node| match node {
                Node::Claim(key) => self.dispatch.claims.get(*key),
                Node::Target(_) => None,
            })
            .collect();
        claims.windows(2).filter_map(|pair| self.step(pair.first()?, pair.last()?)).collect()
    }

    fn step(&self, from: &Claim<W>, to: &Claim<W>) -> Option<WaitStep> {
        let (task, other) = (from.task.clone()?, to.task.clone()?);
        if from.ticket().is_none() {
            return Some(WaitStep::Awaits { task, awaited: other });
        }
        let agent = self.dispatch.agents.get(to.holding()?.agent?)?.load.id.clone();
        Some(WaitStep::Needs { task, agent, holder: other })
    }
}

impl Rest {
    fn nodes(&self) -> &[Node] {
        match self {
            Self::Nothing => &[],
            Self::All(nodes) | Self::Any(nodes) => nodes,
        }
    }

    fn is_met(&self, ends: &HashSet<Node>) -> bool {
        match self {
            Self::Nothing => true,
            Self::All(nodes) => nodes.iter().all(|node| ends.contains(node)),
            Self::Any(nodes) => nodes.iter().any(|node| ends.contains(node)),
        }
    }
}
