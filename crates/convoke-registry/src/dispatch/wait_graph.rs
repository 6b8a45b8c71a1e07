//! The waits that could never end: found, told by their path, refused.
//!
//! **The rule.** A task that runs can end once all that it awaits can. A task in line can end once some unit that could
//! serve it is free, is held by work that awaits nothing, or by a task that can. Whatever does not follow from these
//! cannot; deadlines are left aside. Slots play no part: within a limit a task lends its own, and no runtime lets a task
//! await across limits.
//!
//! **An example.** P has ada and awaits C, which needs bob; Q has bob and asks for D, which needs ada: D → P → C → Q → D,
//! so D is refused. In pictures: `docs/concepts/wait-graph.md`.
//!
//! **When it is asked.** The machine keeps it true that every wait can end. What may break it is a new ticket that is
//! awaited, a new wait for a task that exists already, and an agent that takes no more work. Of the first two only the
//! new one is checked: if it can end, so can all that could before. After the third, the youngest ticket that waits for
//! itself is refused, until none does; whoever merely stands in line behind such a circle goes on once it is broken. Of a
//! task that was there before anybody awaited it (`predates_wait`), the wait is refused and not the ticket.
//!
//! **What it costs.** Nothing for a ticket that nobody awaits, and one look at its agents where one of them has a unit
//! that ends. Otherwise a search over whom the claim waits for, directly or not. Of the agents of a target it looks only
//! as far as the first with a unit that ends. Once an agent is gone, all who are awaited in line are searched, and again
//! after each refusal.

use std::collections::{HashMap, HashSet, VecDeque, hash_map::Entry};

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
    /// Standing in line for a target. A node of its own, so that its agents are looked at once, however many tickets are
    /// in line for it.
    Target(Target),
}

/// What must end first, so that a node can end.
enum Needs {
    Nothing,
    AllOf(Vec<Node>),
    AnyOf(Vec<Node>),
}

impl Needs {
    fn nodes(&self) -> &[Node] {
        match self {
            Self::Nothing => &[],
            Self::AllOf(nodes) | Self::AnyOf(nodes) => nodes,
        }
    }

    fn are_met(&self, can_end: &HashSet<Node>) -> bool {
        match self {
            Self::Nothing => true,
            Self::AllOf(nodes) => nodes.iter().all(|node| can_end.contains(node)),
            Self::AnyOf(nodes) => nodes.iter().any(|node| can_end.contains(node)),
        }
    }
}

impl<W> Dispatch<W> {
    fn needs_of(&self, node: Node) -> Needs {
        match node {
            Node::Claim(key) => {
                self.claims.get(key).map_or(Needs::Nothing, |claim| self.needs_of_claim(claim))
            }
            Node::Target(target) => self.needs_of_target(target),
        }
    }

    fn needs_of_claim(&self, claim: &Claim<W>) -> Needs {
        match &claim.standing {
            // Checked when it gets in line.
            Standing::Coming => Needs::Nothing,
            Standing::Queued(ticket) => Needs::AnyOf(vec![Node::Target(ticket.target)]),
            // Detached work included: its waits were closed (`detach`), so that it needs nothing.
            Standing::Holding(_) => {
                let waits = claim.open_waits.iter().filter_map(|&wait| self.waits.get(wait));
                Needs::AllOf(waits.flat_map(|wait| &wait.awaited).copied().map(Node::Claim).collect())
            }
        }
    }

    fn needs_of_target(&self, target: Target) -> Needs {
        let mut blocked = Vec::new();
        // One agent that is not stuck is enough, and it mostly is the first.
        let mut is_stuck = |agent: &Agent| {
            blocked.extend(agent.blocked.iter().copied().map(Node::Claim));
            !agent.has_unit_that_ends()
        };
        let all_are_stuck = match target {
            Target::SlotAlone => return Needs::Nothing,
            Target::Agent(agent) => self.agents.get(agent).is_none_or(&mut is_stuck),
            Target::AnyWith(demand) => {
                self.agents_of(demand).filter(|agent| agent.is_available()).all(&mut is_stuck)
            }
        };
        if all_are_stuck { Needs::AnyOf(blocked) } else { Needs::Nothing }
    }
}

/// All that a few nodes need, directly or not, and what of it can end.
struct Search<'a, W> {
    dispatch: &'a Dispatch<W>,
    /// In the order in which they were reached.
    found: Vec<(Node, Needs)>,
    /// Where each is in that.
    index: HashMap<Node, usize>,
    can_end: HashSet<Node>,
}

impl<'a, W> Search<'a, W> {
    fn new(dispatch: &'a Dispatch<W>) -> Self {
        Self { dispatch, found: Vec::new(), index: HashMap::new(), can_end: HashSet::new() }
    }

    /// Finds a node and all that it needs, directly or not.
    fn explore(&mut self, start: Node) {
        let mut ahead = vec![start];
        while let Some(node) = ahead.pop() {
            if let Entry::Vacant(index) = self.index.entry(node) {
                index.insert(self.found.len());
                let needs = self.dispatch.needs_of(node);
                ahead.extend_from_slice(needs.nodes());
                self.found.push((node, needs));
            }
        }
    }

    /// Concludes what can end, in rounds, until a round adds nothing. Backwards, so that a plain chain is done in the first
    /// round; the last one only finds that nothing is left. The worst case is a round for each node.
    fn conclude(&mut self) {
        loop {
            let before = self.can_end.len();
            for (node, needs) in self.found.iter().rev() {
                if needs.are_met(&self.can_end) {
                    self.can_end.insert(*node);
                }
            }
            if self.can_end.len() == before {
                return;
            }
        }
    }

    /// The shortest way from a node back to itself through nodes that cannot end.
    fn circle(&self, start: Node) -> Option<Vec<WaitStep>> {
        if self.can_end.contains(&start) {
            return None;
        }
        let mut came_from: HashMap<Node, Node> = HashMap::new();
        let mut ahead = VecDeque::from([start]);
        while let Some(node) = ahead.pop_front() {
            for &next in self.needs_found(node) {
                if self.can_end.contains(&next) || came_from.contains_key(&next) {
                    continue;
                }
                came_from.insert(next, node);
                if next == start {
                    return Some(self.steps(start, &came_from));
                }
                ahead.push_back(next);
            }
        }
        None
    }

    fn needs_found(&self, node: Node) -> &[Node] {
        let found = self.index.get(&node).and_then(|&index| self.found.get(index));
        found.map_or(&[], |(_, needs)| needs.nodes())
    }
}

impl<W> Dispatch<W> {
    /// The path from a claim back to itself, if it could never end. `None` also where it only stands behind a circle, which
    /// cannot be while every other wait can end.
    pub(super) fn endless_wait(&self, start: ClaimKey) -> Option<Vec<WaitStep>> {
        let claim = self.claims.get(start)?;
        if let Some(ticket) = claim.ticket() {
            // One that nobody awaits is on no circle.
            claim.awaited_in?;
            // Only faster: a unit for it comes free anyway. That is the common case where a task asks many at once.
            if matches!(self.needs_of_target(ticket.target), Needs::Nothing) {
                return None;
            }
        }
        let mut search = Search::new(self);
        search.explore(Node::Claim(start));
        search.conclude();
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

    fn youngest_endless(&self) -> Option<(ClaimKey, Vec<WaitStep>)> {
        let awaited = self.waits.values().flat_map(|wait| &wait.awaited).copied();
        let mut tickets: Vec<_> =
            awaited.filter_map(|key| Some((self.claims.get(key)?.ticket()?.age, key))).collect();
        tickets.sort_unstable_by(|one, other| other.cmp(one));
        let mut search = Search::new(self);
        for &(_, key) in &tickets {
            search.explore(Node::Claim(key));
        }
        search.conclude();
        tickets.into_iter().find_map(|(_, key)| Some((key, search.circle(Node::Claim(key))?)))
    }

    /// Refuses the wait for a claim that was there before it; the claim can end without that.
    pub(super) fn refuse_wait(&mut self, claim: ClaimKey, refusal: Refusal) {
        self.unlink(claim);
        self.effects.push(Effect::Unawaited { claim, refusal });
    }
}

impl<W> Search<'_, W> {
    /// The way as a person reads it. A claim of the host has no name, so that its steps are left out.
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
        let step = |pair: &[&Claim<W>]| {
            let [from, to] = pair else { return None };
            self.step(from, to)
        };
        claims.windows(2).filter_map(step).collect()
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
