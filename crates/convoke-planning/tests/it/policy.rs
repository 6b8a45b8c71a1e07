use std::time::Duration;

use convoke_planning::{
    Backoff, PlanPolicy, PlanPolicyBuilder, PolicyError, Prioritization, PriorityWeights, StepLimit,
};

#[test]
fn the_defaults_are_these() {
    let policy = PlanPolicy::default();
    assert_eq!(PlanPolicy::builder().build().unwrap(), policy);
    assert_eq!(policy.max_steps(), 10_000);
    assert_eq!(policy.max_step_runs(9), StepLimit::AtMost(136));
    assert_eq!((policy.max_attempts(), policy.max_parallel_steps()), (1, 1));
    assert_eq!(policy.steps_per_run(), StepLimit::Unlimited);
    assert_eq!(
        (policy.step_timeout(), policy.run_timeout(), policy.no_start_after_unix_millis()),
        (None, None, None)
    );
    assert_eq!((policy.max_replans(), policy.continue_after_failure()), (None, false));
    assert_eq!((policy.reset_running_on_resume(), policy.reset_detached_on_resume()), (true, false));
    assert_eq!(policy.grace(), Duration::from_millis(50));
    assert_eq!(policy.prioritization(), &Prioritization::ByScore(PriorityWeights::new()));
    let weights = PriorityWeights::new();
    assert_eq!((weights.deadline().to_bits(), weights.horizon_millis()), (1.0_f64.to_bits(), 86_400_000));
}

#[test]
fn what_is_set_is_what_is_there() {
    let second = Duration::from_secs(1);
    let policy = PlanPolicy::builder()
        .max_steps(1)
        .max_step_runs(2)
        .max_attempts(3)
        .steps_per_run(4)
        .max_parallel_steps(5)
        .step_timeout(second)
        .run_timeout(2 * second)
        .no_start_after(6)
        .replanning(StepLimit::Unlimited)
        .continue_after_failure()
        .keep_running_on_resume()
        .reset_detached_on_resume()
        .backoff(Backoff::none())
        .grace(3 * second)
        .prioritization(Prioritization::PlanOrder)
        .build()
        .unwrap();
    assert_eq!((policy.max_steps(), policy.max_step_runs(9)), (1, StepLimit::AtMost(2)));
    assert_eq!((policy.max_attempts(), policy.max_parallel_steps()), (3, 5));
    assert_eq!(
        (policy.steps_per_run(), policy.max_replans()),
        (StepLimit::AtMost(4), Some(StepLimit::Unlimited))
    );
    assert_eq!((policy.step_timeout(), policy.run_timeout()), (Some(second), Some(2 * second)));
    assert_eq!((policy.no_start_after_unix_millis(), policy.grace()), (Some(6), 3 * second));
    assert!(
        policy.continue_after_failure()
            && !policy.reset_running_on_resume()
            && policy.reset_detached_on_resume()
    );
    assert_eq!((policy.backoff(), policy.prioritization()), (Backoff::none(), &Prioritization::PlanOrder));
    assert!(policy.steps_per_run().allows(4) && !policy.steps_per_run().allows(5));
}

#[test]
fn what_lets_nothing_happen_is_refused() {
    let check = |set: fn(PlanPolicyBuilder) -> PlanPolicyBuilder, expected: &str| {
        assert_eq!(set(PlanPolicy::builder()).build().unwrap_err().to_string(), expected);
    };
    check(|policy| policy.max_steps(0), "`max_steps` is 0; allow at least 1");
    check(|policy| policy.max_step_runs(0), "`max_step_runs` is 0; allow at least 1");
    check(|policy| policy.max_attempts(0), "`max_attempts` is 0; allow at least 1");
    check(|policy| policy.steps_per_run(0), "`steps_per_run` is 0; allow at least 1");
    check(|policy| policy.max_parallel_steps(0), "`max_parallel_steps` is 0; allow at least 1");
    check(|policy| policy.replanning(0), "`max_replans` is 0; allow at least 1");
    check(
        |policy| policy.step_timeout(Duration::ZERO),
        "`step_timeout` is 0; leave it out, or give it a time",
    );
    check(|policy| policy.run_timeout(Duration::ZERO), "`run_timeout` is 0; leave it out, or give it a time");
    check(|policy| policy.grace(Duration::ZERO), "`grace` is 0; leave it out, or give it a time");
    // The first defect is the one that is told.
    check(
        |policy| policy.max_attempts(0).max_steps(0).max_attempts(1),
        "`max_attempts` is 0; allow at least 1",
    );
}

#[test]
fn weights_are_finite_and_not_negative() {
    type Set = fn(PriorityWeights, f64) -> Result<PriorityWeights, PolicyError>;
    let sets: [(Set, &str); 5] = [
        (PriorityWeights::with_priority, "priority weight"),
        (PriorityWeights::with_urgency, "urgency weight"),
        (PriorityWeights::with_expected_value, "expected value weight"),
        (PriorityWeights::with_estimated_cost, "estimated cost weight"),
        (PriorityWeights::with_deadline, "deadline weight"),
    ];
    for (set, name) in sets {
        assert!(set(PriorityWeights::new(), 0.0).is_ok());
        for weight in [-1.0, f64::NAN, f64::INFINITY, 1e14] {
            let error = set(PriorityWeights::new(), weight).unwrap_err();
            assert_eq!(error.to_string(), format!("`{name}` is {weight}; give a number from 0 to 2^46"));
        }
    }
    for horizon in [Duration::ZERO, Duration::from_micros(999), Duration::from_secs(1 << 40)] {
        assert!(PriorityWeights::new().with_horizon(horizon).is_err(), "{horizon:?}");
    }
}

#[test]
fn a_back_off_that_cannot_be_is_refused() {
    let second = Duration::from_secs(1);
    let told = |first, longest, jitter| Backoff::new(first, longest, jitter).unwrap_err().to_string();
    assert_eq!(told(Duration::ZERO, second, 0.0), "`first` is 0; leave it out, or give it a time");
    assert_eq!(told(second, second / 2, 0.0), "`longest` is 500ms; give at least `first`");
    assert_eq!(told(second, second, 1.5), "`jitter` is 1.5; give a number from 0 to 1");
    assert_eq!(told(second, second, f64::NAN), "`jitter` is NaN; give a number from 0 to 1");

    let backoff = Backoff::default();
    for failures in [0, 1, 7, 8, 31, 32, 33, u32::MAX] {
        for chance in [0.0, 0.3, 1.0, -1.0, 2.0, f64::NAN] {
            let delay = backoff.delay(failures, chance);
            assert!(
                (Duration::from_millis(50)..=Duration::from_secs(10)).contains(&delay),
                "{failures}, {chance}"
            );
        }
    }
    assert_eq!(Backoff::none().delay(5, 0.5), Duration::ZERO);
}
