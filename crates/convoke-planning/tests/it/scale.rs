//! Size costs memory and time with its measure, and no stack.

use std::{error::Error, thread};

use convoke_planning::{
    PlanCodec, PlanDraft, PlanNormalizer, PlanValidator, Readiness, StepDraft,
    StepStatus::{Completed, Running},
};

use crate::fixtures::{large, step};

/// A walk that called itself for each step would need hundreds of times as much.
const STACK: usize = 256 * 1024;

fn on_a_small_stack(work: impl FnOnce() + Send + 'static) {
    thread::Builder::new().stack_size(STACK).spawn(work).unwrap().join().unwrap();
}

fn chain(steps: usize) -> PlanDraft {
    let step = |n: usize| {
        let step = step(format!("s{n}"));
        if n == 0 { step } else { step.after(format!("s{}", n - 1)) }
    };
    PlanDraft::new("chain").with_steps((0..steps).map(step))
}

#[test]
fn a_chain_of_a_million_steps_is_checked_run_and_dropped() {
    on_a_small_stack(|| {
        let plan = PlanValidator::new(&large()).validate(chain(1_000_000)).unwrap();
        let mut readiness = Readiness::new(&plan);
        let mut ready = plan.indices().next();
        let mut done = 0;
        while let Some(step) = ready {
            readiness.set(&plan, step, Running).unwrap();
            readiness.set(&plan, step, Completed).unwrap();
            done += 1;
            ready = plan.dependents(step).map(|edge| edge.step).find(|step| readiness.is_ready(*step));
        }
        assert_eq!(done, 1_000_000);
    });
}

#[test]
fn a_ring_of_many_steps_is_found() {
    on_a_small_stack(|| {
        let mut draft = chain(200_000);
        draft.steps[0] = step("s0").after("s199999");
        let refusal = PlanValidator::new(&large()).validate(draft).unwrap_err();
        assert_eq!((refusal.issues().len(), refusal.issues()[0].path.len()), (1, 200_000));
    });
}

#[test]
fn a_long_chain_is_repaired_written_read_and_drawn() {
    on_a_small_stack(|| {
        let normalized = PlanNormalizer::new().normalize(chain(50_000));
        assert_eq!(normalized.repairs, []);
        let plan = PlanValidator::new(&large()).validate(normalized.draft).unwrap();
        let codec = PlanCodec::new(&large());
        assert_eq!(codec.decode(&codec.encode(&plan).unwrap()).unwrap(), plan);
        assert_eq!(plan.to_dot().lines().count(), 4 + 50_000 + 49_999);
        assert_eq!(plan.to_mermaid().lines().count(), 1 + 50_000 + 49_999);
    });
}

#[test]
fn an_answer_that_nests_without_end_is_an_error_and_takes_no_stack() {
    on_a_small_stack(|| {
        let codec = PlanCodec::default();
        for part in ["{\"a\":", "[", "{\"steps\":[{\"data\":", "{"] {
            assert!(codec.from_text(&part.repeat(100_000)).is_err(), "{part}");
            assert!(codec.decode_draft(&part.repeat(100_000)).is_err(), "{part}");
        }
        let (open, close) = ("[".repeat(100_000), "]".repeat(100_000));
        let whole = format!("{{\"steps\":[{{\"data\":{open}{close}}}]}}");
        for error in [codec.from_text(&whole).unwrap_err(), codec.decode_draft(&whole).unwrap_err()] {
            let reason = error.source().map(ToString::to_string).unwrap_or_default();
            assert!(reason.starts_with("recursion limit exceeded"), "{error}: {reason}");
        }
    });
}

#[test]
fn a_definition_is_lean() {
    // What a step takes without its texts and lists; a plan of a million holds as many.
    assert!(size_of::<convoke_planning::PlanStep>() <= 320, "{}", size_of::<convoke_planning::PlanStep>());
    assert!(size_of::<StepDraft>() <= 384, "{}", size_of::<StepDraft>());
}
