//! A small team for the examples: tasks by letter, agents by name, answers in words.

use std::collections::BTreeMap;

use convoke_core::CapacityPolicy;

use super::{
    both::Both,
    rules::{Call, Name, Request, Rules, Told, Wanted},
};
use crate::dispatch::{Availability, Refusal, WaitStep};

/// Every agent has the skill `any`. A task has one wait, which has its name.
pub(super) struct House {
    pub(super) both: Both,
    news: BTreeMap<Name, Told>,
}

impl House {
    pub(super) fn new(limit: usize, agents: &[(&'static str, u32)]) -> Self {
        let mut house = Self { both: Both::new(&[limit, limit]), news: BTreeMap::new() };
        for &(agent, max) in agents {
            house.call(&Call::Register { agent, skills: vec!["any"], max });
        }
        house
    }

    pub(super) fn call(&mut self, call: &Call) -> String {
        let (own, told) = self.both.call(call);
        self.news.extend(told);
        words(&own)
    }

    /// A task of the host asks for an agent.
    pub(super) fn asks(&mut self, task: Name, agent: &'static str) -> String {
        self.call(&Call::Request(Request::new(task, Wanted::agent(agent))))
    }

    /// A running task starts another, which asks for an agent, and awaits it.
    pub(super) fn calls(&mut self, parent: Name, task: Name, agent: &'static str) -> String {
        self.calls_for(parent, task, Wanted::agent(agent))
    }

    pub(super) fn calls_for(&mut self, parent: Name, task: Name, want: Wanted) -> String {
        let awaited_in = Some(self.wait_of(parent));
        self.call(&Call::Request(Request { awaited_in, ..Request::new(task, want) }))
    }

    pub(super) fn rejects(&mut self, parent: Name, task: Name, agent: &'static str) -> String {
        let wait = self.wait_of(parent);
        let policy = CapacityPolicy::Reject;
        let request = Request::new(task, Wanted::agent(agent));
        self.call(&Call::Request(Request { policy, awaited_in: Some(wait), ..request }))
    }

    /// A running task awaits one that is there already.
    pub(super) fn awaits(&mut self, awaiter: Name, task: Name) -> String {
        let wait = self.wait_of(awaiter);
        self.call(&Call::Await { wait, task })
    }

    pub(super) fn stops_waiting(&mut self, awaiter: Name) {
        self.call(&Call::CloseWait { wait: awaiter });
    }

    pub(super) fn ends(&mut self, task: Name) {
        assert_eq!(self.call(&Call::Release { task }), "done");
    }

    pub(super) fn detaches(&mut self, task: Name) {
        assert_eq!(self.call(&Call::Detach { task }), "done");
    }

    pub(super) fn withdraws(&mut self, task: Name) {
        assert_eq!(self.call(&Call::Withdraw { task }), "done");
    }

    pub(super) fn takes_offline(&mut self, agent: &'static str) {
        self.call(&Call::Set { agent, availability: Availability::Offline });
    }

    fn wait_of(&mut self, awaiter: Name) -> Name {
        if !self.both.reference.waits.contains_key(&awaiter) {
            assert_eq!(self.call(&Call::OpenWait { wait: awaiter, awaiter }), "done");
        }
        awaiter
    }

    /// What those who waited were told since the last question.
    pub(super) fn news(&mut self) -> String {
        let news = std::mem::take(&mut self.news);
        let lines: Vec<_> = news.iter().map(|(task, told)| format!("{task} {}", words(told))).collect();
        lines.join(", ")
    }

    /// How many slots of the limit are taken.
    pub(super) fn taken(&self) -> usize {
        self.both.machine.pool_load(self.both.pools[0]).taken
    }

    /// The path of the last refusal.
    pub(super) fn path(&self) -> String {
        let Some(Refusal::WaitCycle { path }) = &self.both.refusal else {
            panic!("{:?} has no path", self.both.refusal)
        };
        let step = |step: &WaitStep| match step {
            WaitStep::Awaits { task, awaited } => format!("{task} awaits {awaited}"),
            WaitStep::Needs { task, agent, holder } => format!("{task} needs {agent} of {holder}"),
        };
        path.iter().map(step).collect::<Vec<_>>().join(", ")
    }

    /// Nothing is left of what was: what stands is withdrawn or ends, in the order of the letters.
    pub(super) fn empties(mut self) {
        for task in self.both.claims.clone().into_keys() {
            self.call(&Call::Withdraw { task });
            self.call(&Call::Release { task });
        }
        assert_eq!(self.both.machine.in_use(), [0, 0, 0, 2]);
    }
}

fn words(told: &Told) -> String {
    match told {
        Told::Granted(Some(agent)) => format!("has {agent}"),
        Told::Granted(None) => "has a slot".into(),
        Told::Refused(code) => code.to_string(),
        Told::Queued => "waits".into(),
        Told::Unawaited => "unawaited".into(),
        Told::Done(true) => "done".into(),
        Told::Done(false) => "nothing".into(),
    }
}
