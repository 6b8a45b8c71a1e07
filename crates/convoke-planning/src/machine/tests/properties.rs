//! Plans by chance, failures by chance, ends in an order by chance.

use std::{cmp::Reverse, collections::BTreeMap};

use proptest::{collection::vec, prelude::*, sample::Index};

use crate::{
    Plan, PlanPolicy, PrioritySignals, StepDraft, StepIndex, StepStatus, Wait,
    machine::{
        Capabilities, Durability, Effects, Entry, Event, Finding, Machine, Record, StopReason, WorkOutcome,
        phase::Phase,
        tests::{
            bench::{Begun, Bench, plan, policy},
            storms::{storm, stormy, told},
        },
    },
};

#[derive(Clone, Debug)]
pub(super) struct Case {
    /// Of each step the steps before it that it waits for, and whether for their end alone.
    edges: Vec<Vec<(Index, bool)>>,
    /// Of each step how many attempts fail.
    failures: Vec<u32>,
    /// Of each step which of the serial keys it has; few have one.
    keys: Vec<u8>,
    /// Of each step what it is worth.
    worth: Vec<u8>,
    /// What becomes of the world where steps of one of the keys run twice.
    effects: Effects,
    pub(super) parallel: u32,
    pub(super) attempts: u32,
    pub(super) waits: bool,
    pub(super) continues: bool,
    reviewed: bool,
    durability: Durability,
    /// Which of the steps at work ends next.
    order: Vec<Index>,
}

pub(super) fn case() -> impl Strategy<Value = Case> {
    let shape = (1_usize..12).prop_flat_map(|steps| {
        let edges = vec(vec((any::<Index>(), any::<bool>()), 0..4), steps);
        (edges, vec(0_u32..4, steps), vec(0_u8..6, steps), vec(0_u8..3, steps))
    });
    let durability = prop::sample::select(vec![Durability::Strict, Durability::Relaxed, Durability::OnExit]);
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), durability);
    (shape, 1_u32..4, 1_u32..4, flags, vec(any::<Index>(), 1..24)).prop_map(
        |((edges, failures, keys, worth), parallel, attempts, flags, order)| {
            let (waits, continues, reviewed, affects, durability) = flags;
            Case {
                edges,
                failures,
                keys,
                worth,
                effects: if affects { Effects::SideEffect } else { Effects::Idempotent },
                parallel,
                attempts,
                waits,
                continues,
                reviewed,
                durability,
                order,
            }
        },
    )
}

impl Case {
    pub(super) fn plan(&self) -> Plan {
        plan(self.edges.iter().enumerate().map(|(place, edges)| {
            let signals = PrioritySignals::new().with_priority(self.worth[place].into());
            let mut step = StepDraft::new(format!("s{place}")).titled("x").with_signals(signals);
            let mut seen = Vec::new();
            for (source, end) in edges.iter().filter(|_| place > 0) {
                let source = source.index(place);
                if seen.contains(&source) {
                    continue;
                }
                seen.push(source);
                let source = format!("s{source}");
                step = if *end { step.after_end_of(source) } else { step.after(source) };
            }
            step
        }))
    }

    pub(super) fn policy(&self) -> PlanPolicy {
        policy(|mut policy| {
            policy =
                policy.max_parallel_steps(self.parallel).max_attempts(self.attempts).max_step_runs(10_000);
            if self.waits {
                policy = policy.backoff(crate::Backoff::default());
            }
            if self.continues { policy.continue_after_failure() } else { policy }
        })
    }

    pub(super) fn capabilities(&self, step: StepIndex) -> Capabilities {
        match self.keys[step.row()] {
            key @ 0..=1 => Capabilities::new().serial(key.to_string()),
            2 => Capabilities::new().with_effects(self.effects),
            _ => Capabilities::new(),
        }
    }

    pub(super) fn machine(&self) -> Machine {
        self.set(Machine::new(self.plan(), self.policy(), |_, step| Some(self.capabilities(step))))
    }

    pub(super) fn set(&self, machine: Machine) -> Machine {
        let machine = machine.with_durability(self.durability);
        if self.reviewed { machine.with_reflection() } else { machine }
    }

    /// Whether an attempt of a step fails: the same in every run.
    fn fails(&self, step: StepIndex, attempt: u32) -> bool {
        attempt <= self.failures[step.row()]
    }

    /// A new process with the first records.
    pub(super) fn again(&self, journal: &[Entry]) -> Bench {
        let machine = Machine::replay(self.plan(), self.policy(), journal.to_vec(), |_, step| {
            Some(self.capabilities(step))
        })
        .unwrap();
        Bench { journal: journal.to_vec(), ..Bench::of(self.set(machine)) }
    }

    /// Runs to the end, looking after each event.
    pub(super) fn run(&self, bench: &mut Bench, turn: usize, look: &mut dyn FnMut(&Bench)) {
        bench.send(Event::Resume { retry_failed: false, still_running: Vec::new() });
        look(bench);
        for step in turn.. {
            if bench.stop.is_some() {
                return;
            }
            let reviews: Vec<_> = bench
                .machine
                .plan()
                .indices()
                .filter(|step| bench.machine.phase(*step) == Phase::Reviewing)
                .collect();
            let working: Vec<_> = bench.at_work.keys().copied().collect();
            let pick = self.order[step % self.order.len()];
            if let Some(review) = reviews.first().filter(|_| working.is_empty() || step % 2 == 0) {
                let id = bench.name(*review);
                bench.find(&id, Finding::Pass);
            } else if !working.is_empty() {
                let step = working[pick.index(working.len())];
                let (id, attempt) = (bench.name(step), bench.at_work[&step].attempt);
                bench.pass(1);
                if self.fails(step, attempt) {
                    bench.fail(&id);
                } else {
                    bench.done(&id);
                }
            } else {
                // Nothing is under way, so there must be something to wait for.
                let wake = bench.wake.expect("the run is neither at work, nor waiting, nor over");
                bench.now.running = bench.now.running.max(wake);
                bench.send(Event::Tick);
            }
            look(bench);
        }
    }

    /// What must hold at each moment.
    fn check(&self, bench: &Bench, seen: &mut usize) {
        let plan = bench.machine.plan();
        assert!(bench.at_work.len() <= self.parallel as usize);
        let mut turns = BTreeMap::new();
        for step in bench.at_work.keys() {
            if let Some(key) = self.capabilities(*step).serial {
                assert_eq!(turns.insert(key, *step), None, "two of one key at work");
            }
        }
        for start in &bench.starts[*seen..] {
            for edge in plan.dependencies(start.step) {
                let status = bench.machine.status(edge.step);
                let satisfied = match edge.wait {
                    Wait::Completed => status == StepStatus::Completed,
                    Wait::Ended => status.is_terminal(),
                };
                assert!(satisfied, "{start:?} before {edge:?}, which is {status}");
            }
            let has_side_effects = self.capabilities(start.step).effects == Effects::SideEffect;
            if self.durability == Durability::Strict || has_side_effects {
                assert!(bench.machine.persisted >= start.sequence);
            }
        }
        *seen = bench.starts.len();
        self.check_turn(bench);
    }

    /// Whose start was the last to be decided was the best of those that waited for the turn.
    fn check_turn(&self, bench: &Bench) {
        let Some(Record::Started { step, .. }) = bench.journal.last().map(|entry| &entry.record) else {
            return;
        };
        let (machine, plan) = (&bench.machine, bench.machine.plan());
        let started = plan.index_of(step).unwrap();
        let Some(key) = self.capabilities(started).serial else { return };
        let rank = |step: StepIndex| (self.worth[step.row()], Reverse(step));
        let waits = |step: &StepIndex| {
            let is_ready = matches!(machine.phase(*step), Phase::Queued | Phase::Parked);
            is_ready && self.capabilities(*step).serial.as_ref() == Some(&key)
        };
        for other in plan.indices().filter(waits) {
            assert!(rank(started) > rank(other), "{started:?} took the turn before {other:?}");
        }
    }

    /// Where each step ends where the run goes on after failures, by the rule and not by events.
    fn model(&self) -> Vec<StepStatus> {
        let plan = self.plan();
        let mut ends: Vec<StepStatus> = Vec::new();
        for step in plan.indices() {
            let barred = plan
                .dependencies(step)
                .any(|edge| edge.wait == Wait::Completed && ends[edge.step.row()] != StepStatus::Completed);
            ends.push(match barred {
                true => StepStatus::Skipped,
                false if self.failures[step.row()] >= self.attempts => StepStatus::Failed,
                false => StepStatus::Completed,
            });
        }
        ends
    }

    /// The failed steps that a skipped one can be traced to.
    fn causes(&self, step: StepIndex) -> Vec<StepIndex> {
        let (plan, ends) = (self.plan(), self.model());
        let mut causes = Vec::new();
        for edge in plan.dependencies(step).filter(|edge| edge.wait == Wait::Completed) {
            match ends[edge.step.row()] {
                StepStatus::Failed => causes.push(edge.step),
                StepStatus::Skipped => causes.extend(self.causes(edge.step)),
                _ => {}
            }
        }
        causes.sort_unstable();
        causes.dedup();
        causes
    }
}

pub(super) fn standing(bench: &Bench) -> Vec<(StepStatus, u32, bool)> {
    let machine = &bench.machine;
    let of = |step| (machine.status(step), machine.attempts(step), machine.outputs().get(step).is_some());
    machine.plan().indices().map(of).collect()
}

pub(super) fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) }
}

proptest! {
    #![proptest_config(config(512))]

    /// Whatever happens in whatever order: edges, places and turns hold, attempts are no more than allowed, and the run ends.
    #[test]
    fn a_run_keeps_the_rules_and_ends(case in case()) {
        let mut bench = Bench::of(case.machine());
        let mut seen = 0;
        case.run(&mut bench, 0, &mut |bench| case.check(bench, &mut seen));
        prop_assert_eq!(bench.at_work.len(), 0);

        let mut starts: BTreeMap<StepIndex, Vec<u32>> = BTreeMap::new();
        for start in &bench.starts {
            starts.entry(start.step).or_default().push(start.attempt);
        }
        for (step, attempts) in starts {
            let wanted: Vec<_> = (1..=u32::try_from(attempts.len()).unwrap()).collect();
            prop_assert_eq!(&attempts, &wanted, "{:?} ran again without a failure", step);
            prop_assert!(wanted.len() <= case.attempts as usize);
        }
        let mut ends = BTreeMap::new();
        for entry in &bench.journal {
            let end = matches!(
                entry.record,
                Record::Completed { .. } | Record::Failed { .. } | Record::Blocked { .. } | Record::Skipped { .. }
            );
            if let Some(step) = entry.record.step().filter(|_| end) {
                prop_assert_eq!(ends.insert(step.clone(), entry.sequence), None);
            }
        }
        if case.continues {
            let model = case.model();
            let found: Vec<_> = standing(&bench).into_iter().map(|standing| standing.0).collect();
            prop_assert_eq!(&found, &model);
            for step in bench.machine.plan().indices().filter(|step| model[step.row()] == StepStatus::Skipped) {
                prop_assert_eq!(bench.machine.skip_causes(step), case.causes(step));
            }
            let failed = model.contains(&StepStatus::Failed);
            prop_assert_eq!(bench.stop, Some(if failed { StopReason::Failed } else { StopReason::Completed }));
        }
    }

    /// Replaying what is recorded gives what the live machine knew at that moment.
    #[test]
    fn records_say_all(case in case()) {
        let mut bench = Bench::of(case.machine());
        case.run(&mut bench, 0, &mut |bench| {
            let again = case.again(&bench.journal);
            assert!(again.machine.ledger.same_as(&bench.machine.ledger));
        });
    }

    /// Cut after any record and resumed, a run comes to the same end, with the same keys and each attempt once more at most.
    #[test]
    fn a_run_that_is_cut_comes_to_the_same_end(case in case(), cut in any::<Index>(), turn in 0_usize..24) {
        // What may have taken effect is left alone.
        let case = Case { continues: true, effects: Effects::Idempotent, ..case };
        let mut whole = Bench::of(case.machine());
        case.run(&mut whole, 0, &mut |_| {});
        let cut = cut.index(whole.journal.len() + 1);
        let mut rest = case.again(&whole.journal[..cut]);
        let done: Vec<_> = rest.machine.plan().indices().filter(|step| rest.machine.status(*step).is_terminal()).collect();
        let mut seen = 0;
        case.run(&mut rest, turn, &mut |bench| case.check(bench, &mut seen));
        prop_assert_eq!(standing(&rest), standing(&whole));
        prop_assert!(rest.starts.iter().all(|start| !done.contains(&start.step)), "an ended step ran again");
        let key = |bench: &Bench, step: StepIndex| {
            bench.starts.iter().find(|start| start.step == step).map(|start| start.key.clone())
        };
        for start in &rest.starts {
            prop_assert_eq!(Some(start.key.clone()), key(&whole, start.step));
        }
    }

    /// A machine whose records go nowhere does and knows what one does and knows that tells them.
    #[test]
    fn records_that_nobody_hears_of_say_the_same(case in case()) {
        let (mut told, mut untold) = (Bench::of(case.machine()), Bench::of(case.machine()));
        untold.machine.tell_records(false);
        case.run(&mut told, 0, &mut |_| {});
        case.run(&mut untold, 0, &mut |bench| assert!(bench.journal.is_empty()));
        prop_assert!(untold.machine.ledger.same_as(&told.machine.ledger));
        prop_assert_eq!((&untold.starts, untold.stop), (&told.starts, told.stop));
    }

    /// Killed at any moment, a run leaves in the journal what was durable; resumed from that, no attempt with side effects
    /// executes twice, under each durability.
    #[test]
    fn no_side_effect_takes_place_twice(case in case(), kill in any::<Index>(), turn in 0_usize..24) {
        let case = Case { effects: Effects::SideEffect, ..case };
        let mut moments = Vec::new();
        let mut whole = Bench::of(case.machine());
        case.run(&mut whole, 0, &mut |bench| {
            moments.push((usize::try_from(bench.machine.persisted).unwrap(), bench.starts.len()));
        });
        let (durable, starts) = moments[kill.index(moments.len())];
        let mut rest = case.again(&whole.journal[..durable]);
        case.run(&mut rest, turn, &mut |_| {});
        let effects = |starts: &[Begun]| -> Vec<_> {
            let of = |start: &&Begun| case.capabilities(start.step).effects == Effects::SideEffect;
            starts.iter().filter(of).map(|start| (start.step, start.attempt)).collect()
        };
        let before = effects(&whole.starts[..starts]);
        prop_assert!(effects(&rest.starts).iter().all(|start| !before.contains(start)), "{:?}", before);
    }

    /// A run that is cancelled at any moment, and resumed, comes to the same end, no attempt counted that was cut short.
    #[test]
    fn a_run_that_is_cancelled_comes_to_the_same_end(case in case(), after in 0_usize..30, turn in 0_usize..24) {
        let case = Case { continues: true, ..case };
        let mut whole = Bench::of(case.machine());
        case.run(&mut whole, 0, &mut |_| {});

        let mut first = Bench::of(case.machine());
        first.send(Event::Begin);
        for step in 0..after {
            let working: Vec<_> = first.at_work.keys().copied().collect();
            if working.is_empty() || first.stop.is_some() {
                break;
            }
            let step = working[case.order[step % case.order.len()].index(working.len())];
            let (id, attempt) = (first.name(step), first.at_work[&step].attempt);
            if case.fails(step, attempt) { first.fail(&id) } else { first.done(&id) };
        }
        if first.stop.is_none() {
            first.send(Event::Cancel);
            for step in first.at_work.keys().copied().collect::<Vec<_>>() {
                let id = first.name(step);
                first.end(&id, WorkOutcome::Cancelled);
            }
            first.pass(60).try_send(Event::Tick).ok();
        }
        prop_assert!(first.stop.is_some());
        let mut rest = case.again(&first.journal);
        case.run(&mut rest, turn, &mut |_| {});
        prop_assert_eq!(standing(&rest), standing(&whole));
    }

    /// Whatever is told, in whatever order and however late, breaks nothing: places and turns hold, the records replay, and
    /// the run ends once it is told to.
    #[test]
    fn nothing_that_is_told_breaks_it(case in case(), told in told()) {
        let mut bench = storm(&case, told, &mut |bench| {
            let again =
                Machine::replay(case.plan(), stormy(&case), bench.journal.clone(), |_, _| None).unwrap();
            assert!(again.ledger.same_as(&bench.machine.ledger));
            assert!(bench.machine.phases.places() <= case.parallel as usize);
        });
        if bench.stop.is_none() {
            bench.send(Event::Cancel);
            bench.pass(60).try_send(Event::Tick).ok();
        }
        prop_assert!(bench.stop.is_some());
        for entry in &bench.journal {
            let json = entry.to_json().unwrap();
            prop_assert_eq!(&Entry::from_json(&json).unwrap(), entry, "{}", json);
        }
    }
}
