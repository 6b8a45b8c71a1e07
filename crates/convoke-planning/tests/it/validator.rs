use convoke_core::{AgentId, StepId};
use convoke_planning::{
    IssueCode::{self, *},
    KnownTool, PlanDraft, PlanPolicy, PlanValidator, PrioritySignals, StepDraft, StepStatus,
};

use crate::fixtures::{at, draft, id, plan, step, wrong};

#[test]
fn nine_steps_pass_where_the_policy_allows_a_hundred() {
    let nine = || draft((0..9).map(|n| step(format!("s{n}"))));
    let policy = |max_steps| PlanPolicy::builder().max_steps(max_steps).build().unwrap();
    assert_eq!(PlanValidator::new(&policy(100)).validate(nine()).unwrap().steps().len(), 9);
    assert_eq!(PlanValidator::new(&policy(9)).validate(nine()).unwrap().steps().len(), 9);

    let refusal = PlanValidator::new(&policy(8)).validate(nine()).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "plan is not valid: too_many_steps: plan has 9 steps and `max_steps` is 8; raise it, or plan in fewer steps"
    );
}

#[test]
fn all_that_is_wrong_is_told_at_once() {
    let validator = PlanValidator::default().with_tools([KnownTool::new("search")]);
    let refusal = validator
        .validate(draft([
            step("first").after("second"),
            step("second").after("first"),
            step("twin").with_tool("search").with_input("where is it"),
            step("twin"),
        ]))
        .unwrap_err();
    let told: Vec<_> =
        refusal.issues().iter().map(|issue| (issue.code, issue.position, issue.message.as_str())).collect();
    assert_eq!(
        told,
        [
            (
                InvalidToolInput,
                Some(2),
                "step `twin` gives tool `search` an input that it does not take: \
                 no JSON object (expected value at line 1 column 1); give one"
            ),
            (DuplicateStepId, Some(3), "step `twin` has the id of step number 3; give it another"),
            (
                DependencyCycle,
                Some(0),
                "steps wait for each other: `first` after `second` after `first`; take one of these edges away"
            ),
        ]
    );
    let path: Vec<_> = refusal.issues()[2].path.iter().map(StepId::as_str).collect();
    assert_eq!(path, ["first", "second"]);
}

/// Each code, by the least draft that has it.
#[test]
fn each_code_has_its_case() {
    let validator = PlanValidator::default()
        .with_tools([KnownTool::new("search")])
        .with_agents([AgentId::new("ada").unwrap()]);
    let one = |step: StepDraft| draft([step]);
    let signals = |signals| one(step("a").with_signals(signals));
    let mut running = step("a");
    running.status = Some(StepStatus::Running);
    let cases: Vec<(IssueCode, PlanDraft)> = vec![
        (MissingGoal, PlanDraft::new(" \n").with_step(step("a"))),
        (MissingSteps, draft([])),
        (MissingStepId, one(step(""))),
        (DuplicateStepId, draft([step("a"), step("a")])),
        (InvalidId, one(step(" a"))),
        (InvalidId, one(step("a").requiring("two\nlines"))),
        (InvalidId, one(step("a")).with_id("")),
        (EmptyStep, one(StepDraft::new("a").titled(" "))),
        (UnexpectedStatus, one(running)),
        (InvalidPrioritySignal, signals(PrioritySignals::new().with_priority(f64::NAN))),
        (InvalidPrioritySignal, signals(PrioritySignals::new().with_estimated_cost(f64::INFINITY))),
        (NegativePrioritySignal, signals(PrioritySignals::new().with_urgency(-1.0))),
        (NegativePrioritySignal, signals(PrioritySignals::new().with_expected_value(-0.1))),
        (NegativePrioritySignal, signals(PrioritySignals::new().with_estimated_cost(-1e9))),
        (SelfDependency, one(step("a").after("a"))),
        (SelfDependency, one(step("a").input_from("a"))),
        (UnknownDependency, one(step("a").after("b"))),
        (UnknownDependency, one(step("a").after_end_of(""))),
        (UnknownInputSource, one(step("a").input_from("b"))),
        (UnknownTool, one(step("a").with_tool("find"))),
        (UnknownTool, one(step("a").with_tool(""))),
        (UnknownAgent, one(step("a").by_agent("bob"))),
        (InvalidId, one(step("a").by_agent(""))),
        (InvalidToolInput, one(step("a").with_tool("search").with_input("[]"))),
        (InvalidToolInput, one(step("a").with_tool("search").with_data(7))),
        (DependencyCycle, draft([step("a").after("b"), step("b").input_from("a")])),
    ];
    for (code, draft) in &cases {
        let codes: Vec<_> = wrong(&validator, draft.clone()).into_iter().map(|(code, _)| code).collect();
        assert_eq!(codes, [*code], "{draft:?}");
    }
    let without: Vec<_> =
        IssueCode::ALL.iter().filter(|code| cases.iter().all(|(other, _)| other != *code)).collect();
    assert_eq!(without, [&TooManySteps], "this one has a test of its own");
}

#[test]
fn a_code_has_one_name() {
    let names: Vec<_> = IssueCode::ALL.iter().map(|code| code.as_str()).collect();
    let mut unique = names.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), names.len());
    for code in IssueCode::ALL {
        let words: Vec<_> =
            code.as_str().split('_').map(|word| word[..1].to_uppercase() + &word[1..]).collect();
        assert_eq!(words.concat(), format!("{code:?}"));
    }
}

#[test]
fn what_passes_is_what_says_something() {
    plan([
        StepDraft::new("described").described("do it"),
        StepDraft::new("fed").input_from("described"),
        StepDraft::new("given").with_input("text"),
        StepDraft::new("computed").with_data(1),
        StepDraft::new("tool").with_tool("anything"),
        step("negative").with_signals(PrioritySignals::new().with_priority(-3.0)),
        step("pending"),
    ]);
}

#[test]
fn a_catalogue_that_names_nothing_knows_nothing() {
    let asks = || draft([step("a").with_tool("search").by_agent("ada")]);
    assert!(PlanValidator::default().validate(asks()).is_ok());
    let strict = PlanValidator::default().with_tools([]).with_agents([]);
    assert_eq!(wrong(&strict, asks()), [(UnknownTool, Some("a".into())), (UnknownAgent, Some("a".into()))]);
}

#[test]
fn a_tool_checks_what_it_would_get_and_not_what_it_cannot_know() {
    let search = KnownTool::new("search")
        .checking_input(|input| input.get("query").map(|_| ()).ok_or_else(|| "`query` is missing".into()));
    let validator = PlanValidator::default().with_tools([search]);
    let asks = |change: fn(StepDraft) -> StepDraft| {
        let step = change(step("a").with_tool("search"));
        validator
            .validate(draft([step, crate::fixtures::step("b")]))
            .map(|_| ())
            .map_err(|error| error.to_string())
    };
    let missing =
        Err("plan is not valid: invalid_tool_input: step `a` gives tool `search` an input that it does not \
                       take: `query` is missing"
            .to_owned());
    assert_eq!(asks(|step| step.with_input(r#"{"query": "x"}"#)), Ok(()));
    assert_eq!(asks(|step| step.with_data(serde_json::json!({"query": "x"}))), Ok(()));
    assert_eq!(asks(|step| step.with_input("{}")), missing);
    assert_eq!(asks(|step| step), missing);
    // JSON goes before text; text must be readable all the same.
    assert_eq!(asks(|step| step.with_input(r#"{"query": "x"}"#).with_data(serde_json::json!({}))), missing);
    // What another step gives is not there yet.
    assert_eq!(asks(|step| step.input_from("b")), Ok(()));
}

#[test]
fn foreign_texts_are_cut_and_escaped() {
    let validator = PlanValidator::default();
    let refusal = validator.validate(draft([step("a").after("x\n".repeat(1_000))])).unwrap_err();
    let message = &refusal.issues()[0].message;
    assert!(message.len() < 250 && !message.contains('\n'), "{message}");

    let refusal =
        validator.validate(draft((0..50).map(|n| step(format!("s{n}")).after("gone")))).unwrap_err();
    assert_eq!(refusal.issues().len(), 50);
    assert!(refusal.to_string().ends_with("; and 30 more"), "{refusal}");
}

#[test]
fn two_edges_between_the_same_steps_are_the_stricter_one() {
    use convoke_planning::Wait::{Completed, Ended};
    let plan = plan([
        step("a"),
        step("both").after_end_of("a").after("a"),
        step("end").after_end_of("a").input_from("a").input_from("a"),
        step("input").input_from("a"),
    ]);
    let waits: Vec<_> =
        plan.dependents(at(&plan, "a")).map(|edge| (id(&plan, edge.step), edge.wait)).collect();
    assert_eq!(waits, [("both", Completed), ("end", Ended), ("input", Completed)]);
    assert_eq!(plan.in_degrees(), [0, 1, 1, 1]);
    assert_eq!(plan.edge_count(), 3);
}
