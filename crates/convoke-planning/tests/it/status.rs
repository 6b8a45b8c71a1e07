use convoke_planning::StepStatus::{self, Blocked, Completed, Failed, Pending, Running, Skipped};

#[test]
fn a_step_goes_these_ways_and_no_other() {
    let ways = [
        (Pending, Running),
        (Pending, Skipped),
        (Pending, Blocked),
        (Running, Pending),
        (Running, Completed),
        (Running, Failed),
        (Running, Blocked),
        (Failed, Pending),
        (Skipped, Pending),
        (Blocked, Pending),
    ];
    for from in StepStatus::ALL {
        for to in StepStatus::ALL {
            assert_eq!(from.can_become(*to), ways.contains(&(*from, *to)), "{from} to {to}");
        }
    }
    let ended: Vec<_> = StepStatus::ALL.iter().filter(|status| status.is_terminal()).collect();
    assert_eq!(ended, [&Completed, &Failed, &Skipped, &Blocked]);
}

#[test]
fn its_name_is_that_of_its_json() {
    for status in StepStatus::ALL {
        assert_eq!(serde_json::to_value(status).unwrap(), status.as_str());
        assert_eq!(status.to_string(), status.as_str());
    }
}
