//! Random calls, to the machine and to the reference.

use proptest::prelude::*;

use convoke_core::CapacityPolicy;

use super::{
    both::Both,
    reference::{RefClaim, RefStanding},
    rules::{Call, Name, Request, Rules, Wanted},
};
use crate::dispatch::Availability;

const AGENTS: [&str; 4] = ["a", "b", "c", "d"];
const SKILLS: [&str; 3] = ["x", "y", "z"];
const POOLS: usize = 2;

/// A call in which "which one" is a number, counted around those that are there.
#[derive(Clone, Debug)]
enum Op {
    Register {
        agent: usize,
        skills: Vec<&'static str>,
        max: u32,
    },
    Remove {
        agent: usize,
    },
    Set {
        agent: usize,
        availability: Availability,
    },
    Claim {
        pool: usize,
    },
    Request {
        want: Wanted,
        policy: CapacityPolicy,
        pool: usize,
        claimed: Option<usize>,
        wait: Option<usize>,
    },
    /// A running task starts another and awaits it.
    Nested {
        parent: usize,
        want: Wanted,
    },
    Release {
        nth: usize,
    },
    Detach {
        nth: usize,
    },
    ForfeitSlot {
        nth: usize,
    },
    Withdraw {
        nth: usize,
    },
    OpenWait {
        nth: usize,
    },
    Await {
        wait: usize,
        nth: usize,
    },
    CloseWait {
        nth: usize,
    },
    /// What is done to a task that may be gone.
    Stale {
        nth: usize,
        call: usize,
    },
}

/// So many cases, or as many as `PROPTEST_CASES` says.
pub(super) fn cases(usual: u32) -> ProptestConfig {
    let given = ProptestConfig::default();
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { given.cases } else { usual };
    ProptestConfig { cases, ..given }
}

fn want() -> impl Strategy<Value = Wanted> {
    let agent = (
        proptest::sample::subsequence(SKILLS.to_vec(), 0..=2),
        proptest::option::weighted(0.3, proptest::sample::select(AGENTS.to_vec())),
        any::<bool>(),
    )
        .prop_map(|(mut skills, preferred, again)| {
            // Named again, which asks for nothing more.
            skills.extend(skills.first().copied().filter(|_| again));
            Wanted::Agent { skills, preferred }
        });
    prop_oneof![9 => agent, 1 => Just(Wanted::Slot)]
}

fn op() -> impl Strategy<Value = Op> {
    let availability =
        prop_oneof![Just(Availability::Available), Just(Availability::Draining), Just(Availability::Offline)];
    let policy = prop_oneof![3 => Just(CapacityPolicy::Wait), 1 => Just(CapacityPolicy::Reject)];
    let nth = || 0..64usize;
    let request = (
        want(),
        policy,
        0..POOLS,
        proptest::option::weighted(0.2, nth()),
        proptest::option::weighted(0.6, nth()),
    );
    prop_oneof![
        3 => (0..4usize, proptest::sample::subsequence(SKILLS.to_vec(), 0..=3), 1..4u32)
            .prop_map(|(agent, skills, max)| Op::Register { agent, skills, max }),
        1 => (0..4usize).prop_map(|agent| Op::Remove { agent }),
        2 => (0..4usize, availability).prop_map(|(agent, availability)| Op::Set { agent, availability }),
        1 => (0..POOLS).prop_map(|pool| Op::Claim { pool }),
        12 => request.prop_map(|(want, policy, pool, claimed, wait)| {
            Op::Request { want, policy, pool, claimed, wait }
        }),
        10 => (nth(), want()).prop_map(|(parent, want)| Op::Nested { parent, want }),
        4 => nth().prop_map(|nth| Op::Release { nth }),
        1 => nth().prop_map(|nth| Op::Detach { nth }),
        1 => nth().prop_map(|nth| Op::ForfeitSlot { nth }),
        1 => nth().prop_map(|nth| Op::Withdraw { nth }),
        5 => nth().prop_map(|nth| Op::OpenWait { nth }),
        3 => (nth(), nth()).prop_map(|(wait, nth)| Op::Await { wait, nth }),
        1 => nth().prop_map(|nth| Op::CloseWait { nth }),
        1 => (nth(), 0..6usize).prop_map(|(nth, call)| Op::Stale { nth, call }),
    ]
}

struct Run {
    both: Both,
    names: Vec<Name>,
}

impl Run {
    fn new(limits: (usize, usize)) -> Self {
        let mut both = Both::new(&[limits.0, limits.1]);
        // Small and alike, so that waits for each other are common.
        for agent in &AGENTS[..3] {
            both.call(&Call::Register { agent, skills: vec!["x", "y"], max: 1 });
        }
        Self { both, names: Vec::new() }
    }

    fn fresh(&mut self) -> Name {
        let name = char::from_u32('一' as u32 + u32::try_from(self.names.len()).unwrap()).unwrap();
        self.names.push(name);
        name
    }

    fn claim(&self, nth: usize, is: impl Fn(&RefStanding) -> bool) -> Option<Name> {
        let all = self.both.reference.claims.iter().filter(|(_, claim)| is(&claim.standing));
        pick(all.map(|(&name, _)| name), nth)
    }

    fn holding(&self, nth: usize) -> Option<Name> {
        self.claim(nth, |standing| matches!(standing, RefStanding::Holding { .. }))
    }

    fn wait(&self, nth: usize) -> Option<Name> {
        pick(self.both.reference.waits.keys().copied(), nth)
    }

    /// The call that an operation comes to, if what it is about is there.
    fn call(&mut self, op: Op) -> Option<Call> {
        Some(match op {
            Op::Register { agent, skills, max } => Call::Register { agent: AGENTS[agent], skills, max },
            Op::Remove { agent } => Call::Remove { agent: AGENTS[agent] },
            Op::Set { agent, availability } => Call::Set { agent: AGENTS[agent], availability },
            Op::Claim { pool } => Call::Claim { task: self.fresh(), pool },
            Op::Request { want, policy, pool, claimed, wait } => {
                let coming = |standing: &RefStanding| matches!(standing, RefStanding::Coming);
                let claimed = claimed.and_then(|nth| self.claim(nth, coming));
                let pool = claimed.map_or(pool, |task| self.both.reference.claims[&task].pool);
                let awaited_in = wait.and_then(|nth| self.wait(nth));
                let task = claimed.unwrap_or_else(|| self.fresh());
                Call::Request(Request { task, want, policy, pool, is_claimed: claimed.is_some(), awaited_in })
            }
            Op::Nested { parent, want } => {
                let (awaiter, task) = (self.holding(parent)?, self.fresh());
                let wait = self.fresh();
                self.both.call(&Call::OpenWait { wait, awaiter });
                let pool = self.both.reference.claims[&awaiter].pool;
                Call::Request(Request { pool, awaited_in: Some(wait), ..Request::new(task, want) })
            }
            Op::Release { nth } => Call::Release { task: self.holding(nth)? },
            Op::Detach { nth } => Call::Detach { task: self.holding(nth)? },
            Op::ForfeitSlot { nth } => Call::ForfeitSlot { task: self.holding(nth)? },
            Op::Withdraw { nth } => {
                let waits = |standing: &RefStanding| !matches!(standing, RefStanding::Holding { .. });
                Call::Withdraw { task: self.claim(nth, waits)? }
            }
            Op::OpenWait { nth } => {
                let awaiter = self.holding(nth)?;
                Call::OpenWait { wait: self.fresh(), awaiter }
            }
            Op::Await { wait, nth } => {
                let task = self.claim(nth, |_| true)?;
                Call::Await { wait: self.wait(wait)?, task }
            }
            Op::CloseWait { nth } => Call::CloseWait { wait: self.wait(nth)? },
            Op::Stale { nth, call } => {
                let task = pick(self.names.iter().copied(), nth)?;
                match call {
                    0 => Call::Release { task },
                    1 => Call::Detach { task },
                    2 => Call::Withdraw { task },
                    3 => Call::Await { wait: self.wait(nth)?, task },
                    4 => Call::CloseWait { wait: task },
                    _ => {
                        let wait = self.fresh();
                        Call::OpenWait { wait, awaiter: task }
                    }
                }
            }
        })
    }

    /// Whatever happened, everything can be given back.
    fn give_everything_back(&mut self) {
        while let Some((&task, claim)) = self.both.reference.claims.first_key_value() {
            let holds = |claim: &RefClaim| matches!(claim.standing, RefStanding::Holding { .. });
            self.both.call(&if holds(claim) { Call::Release { task } } else { Call::Withdraw { task } });
        }
        assert_eq!(self.both.machine.in_use(), [0, 0, 0, POOLS]);
    }
}

fn pick(all: impl Iterator<Item = Name>, nth: usize) -> Option<Name> {
    let all: Vec<_> = all.collect();
    all.get(nth.checked_rem(all.len())?).copied()
}

proptest! {
    #![proptest_config(cases(128))]

    #[test]
    fn grants_queues_and_refuses_as_the_rules_say(
        limits in (1..4usize, 1..3usize),
        ops in proptest::collection::vec(op(), 1..80),
    ) {
        let mut run = Run::new(limits);
        for op in ops {
            if let Some(call) = run.call(op) {
                run.both.call(&call);
            }
        }
        run.give_everything_back();
    }
}
