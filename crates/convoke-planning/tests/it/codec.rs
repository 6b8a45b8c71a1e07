use std::{error::Error, time::Duration};

use proptest::prelude::*;

use convoke_core::{Artifact, ExecutorError, TaskOutput};
use convoke_planning::{
    ApprovalDecision, BoxError, CodecError, FunctionStepExecutor, PlanCodec, PlanPolicy, PlanPolicyBuilder,
    PlanRun, PlanRunner, PlanValidator, PrioritySignals, Review, StepContext, StepDraft, StepOutcome,
    StepRequest, StepStatus, machine::Finding,
};

use crate::{
    fixtures::{draft, plan, step},
    generated,
};

fn told(error: &CodecError) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

#[test]
fn a_plan_is_written_so() {
    let signals = PrioritySignals::new().with_urgency(2.5).with_deadline(1_767_225_600_000);
    let plan = plan([
        step("a").with_signals(signals).requiring("read"),
        StepDraft::new("b").after("a").after_end_of("c").input_from("a").gated().by_agent("ada"),
        step("c").with_tool("search").with_input("{}").with_data(serde_json::json!({"q": 0.1})),
    ]);
    let json = PlanCodec::default().encode(&plan).unwrap();
    let expected = concat!(
        r#"{"format_version":1,"id":"plan","goal":"goal","revision":0,"steps":["#,
        r#"{"id":"a","title":"x","required_skills":["read"],"signals":{"urgency":2.5,"deadline_unix_millis":1767225600000}},"#,
        r#"{"id":"b","depends_on":["a",{"step":"c","wait":"ended"}],"input_from":["a"],"agent":"ada","requires_approval":true},"#,
        r#"{"id":"c","title":"x","tool":"search","input":"{}","data":{"q":0.1}}]}"#,
    );
    assert_eq!(json, expected);
}

#[test]
fn what_cannot_be_read_is_an_error_that_says_why() {
    let codec = PlanCodec::new(&PlanPolicy::builder().max_steps(2).build().unwrap()).with_max_bytes(300);
    let plan =
        |json: &str, expected: &str| assert_eq!(told(&codec.decode(json).unwrap_err()), expected, "{json}");
    let draft = |json: &str, expected: &str| {
        assert_eq!(told(&codec.decode_draft(json).unwrap_err()), expected, "{json}");
    };

    plan(
        r#"{"format_version":2,"news":true}"#,
        "plan text has format version 2 and this version reads 1; use a later version of the SDK",
    );
    draft(r#"{"format_version":0}"#, "plan text has format version 0, which does not exist; write 1");
    plan("{}", "plan text has no `format_version`; read it as a draft if a person or a model wrote it");
    plan(
        r#"{"format_version":1,"id":"p"}"#,
        "plan text has no `revision`; read it as a draft if a person or a model wrote it",
    );
    plan(
        r#"{"format_version":1,"revision":0}"#,
        "plan text has no `id`; read it as a draft if a person or a model wrote it",
    );
    draft(r#"{"revision":3}"#, "plan text has a `revision`, so it is no draft; read it as a plan");
    draft(r#"{"steps":[{},{},{}]}"#, "plan text has 3 steps and `max_steps` is 2; raise it");
    draft(&" ".repeat(301), "plan text has 301 bytes and 300 are allowed; raise the limit of the codec");
    draft(
        r#"{"steps":[{"status":"done"}]}"#,
        "plan text cannot be read as a plan; mend it: unknown variant `done`, expected one of `pending`, `running`, \
         `completed`, `failed`, `skipped`, `blocked` at line 1 column 26",
    );
    draft(
        r#"{"steps":[{"depends_on":[{"step":"a","wait":"started"}]}]}"#,
        "plan text cannot be read as a plan; mend it: unknown variant `started`, expected `completed` or `ended` at \
         line 1 column 53",
    );
    draft(
        r#"{"steps":[{"depends_on":[7]}]}"#,
        "plan text cannot be read as a plan; mend it: invalid type: integer `7`, expected the id of a step, or an object \
         with `step` and `wait` at line 1 column 26",
    );
    draft(
        r#"{"goals":[]}"#,
        "plan text cannot be read as a plan; mend it: unknown field `goals`, expected one of `format_version`, `id`, \
         `goal`, `revision`, `steps`, `artifacts`, `metadata` at line 1 column 8",
    );
    plan(
        r#"{"format_version":1,"id":"p","revision":0,"goal":"g","steps":[{"id":"a","title":"x","depends_on":["b"]}]}"#,
        "plan is not valid: unknown_dependency: step `a` waits for `b`, which is not there; name a step of the plan",
    );
}

#[test]
fn a_number_that_json_cannot_say_is_not_written() {
    let nan = draft([step("a").with_signals(PrioritySignals::new().with_urgency(f64::NAN))]);
    assert_eq!(
        told(&PlanCodec::default().encode_draft(&nan).unwrap_err()),
        "plan cannot be written as JSON; mend what the source names: priority signal is NaN, which JSON cannot say; \
         give a number"
    );
}

#[test]
fn what_could_not_be_read_again_is_not_written() {
    let nested = |levels| (0..levels).fold(serde_json::json!(0), |inner, _| serde_json::json!([inner]));
    let codec = PlanCodec::default();
    // Document, list of steps and step are three levels.
    let deepest = draft([step("a").with_data(nested(124))]);
    assert_eq!(codec.decode_draft(&codec.encode_draft(&deepest).unwrap()).unwrap(), deepest);
    assert_eq!(codec.from_text(&codec.encode_draft(&deepest).unwrap()).unwrap(), deepest);
    let deeper = draft([step("a").with_data(nested(125))]);
    assert!(matches!(codec.encode_draft(&deeper), Err(CodecError::TooDeep)));
    assert!(matches!(codec.encode(&plan([step("a").with_data(nested(125))])), Err(CodecError::TooDeep)));
}

#[test]
fn an_answer_is_read_as_a_draft() {
    let answer = "I would do {this}:\n\n```json\n{\n  \"goal\": \"publish }\",\n  \"steps\": [\n    {\"id\": \"a\", \
                  \"title\": \"Say \\\"{\\\"\"},\n    {\"id\": \"b\", \"title\": \"B\", \"depends_on\": [\"a\"]}\n  ]\n}\n```\nGood?";
    let read = PlanCodec::default().from_text(answer).unwrap();
    let plan = PlanValidator::default().validate(read).unwrap();
    assert_eq!(
        (plan.goal(), plan.steps()[0].title.as_str(), plan.edge_count()),
        ("publish }", "Say \"{\"", 1)
    );

    let short = PlanCodec::default().with_max_bytes(10);
    assert!(matches!(short.from_text(answer), Err(CodecError::TooLong { allowed: 10, .. })));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    #[test]
    fn a_draft_is_read_as_it_was_written(draft in generated::any_draft()) {
        let codec = PlanCodec::default();
        let json = codec.encode_draft(&draft).unwrap();
        let read = codec.decode_draft(&json).unwrap();
        prop_assert_eq!(&read, &draft);
        prop_assert_eq!(codec.encode_draft(&read).unwrap(), json);
    }

    #[test]
    fn a_plan_is_read_as_it_was_written(draft in generated::valid_draft(), revisions in 0..3) {
        let codec = PlanCodec::default();
        let validator = PlanValidator::default();
        let mut plan = validator.validate(draft).unwrap();
        for _ in 0..revisions {
            plan = validator.validate_revision(&plan, plan.to_draft()).unwrap();
        }
        let json = codec.encode(&plan).unwrap();
        let read = codec.decode(&json).unwrap();
        prop_assert_eq!(&read, &plan);
        prop_assert_eq!(codec.encode(&read).unwrap(), json);
    }

    /// Whatever a model writes around it, the object is found; whatever it writes instead is an error or a draft.
    #[test]
    fn an_object_is_found_among_prose(
        draft in generated::any_draft(), before in "[^{]{0,20}", after in "[^{]{0,20}", instead in ".{0,60}",
    ) {
        let codec = PlanCodec::default();
        let json = codec.encode_draft(&draft).unwrap();
        prop_assert_eq!(codec.from_text(&format!("{before}```json\n{json}\n```{after}")).unwrap(), draft);
        let _ = codec.from_text(&instead);
        let cut: String = json.chars().take(json.chars().count() - 1).collect();
        prop_assert!(codec.from_text(&cut).is_err());
    }
}

/// What a run of these steps came to, each of which does as its description says.
fn ran(policy: PlanPolicy, steps: impl IntoIterator<Item = StepDraft>) -> PlanRun {
    let executor = FunctionStepExecutor::new(|_, ctx: StepContext| async move {
        tokio::time::sleep(Duration::from_millis(5)).await;
        let step = ctx.step();
        match step.description.as_str() {
            "fails" => Err(ExecutorError::new("it is broken")),
            "asks" => Ok(StepOutcome::asked("which one?")),
            "hangs" => std::future::pending().await,
            _ => {
                let mut output = TaskOutput::text(step.title.clone());
                output.data.clone_from(&step.data);
                output.metadata.clone_from(&step.metadata);
                output = output.with_artifact(Artifact::text("notes", step.input.clone()).unwrap());
                Ok(output.into())
            }
        }
    });
    let reflector = |review: Review| async move {
        let step = review.step();
        Ok::<_, BoxError>(if step.title.len().is_multiple_of(2) {
            Finding::Pass
        } else {
            Finding::Revise(step.title.clone())
        })
    };
    let grant = |_: StepRequest| async {
        let by = [("by".to_owned(), serde_json::json!("Ann"))].into_iter().collect();
        Ok::<_, BoxError>(ApprovalDecision::Approve(by))
    };
    let runner = PlanRunner::builder().executor(executor).reflector(reflector).approvals(grant);
    let runner = runner.policy(policy).wall_clock(|| 1_000).seed(1).build().unwrap();
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build().unwrap();
    let mut run = runtime.block_on(runner.run_plan(plan(steps))).unwrap();
    run.run = "run".try_into().unwrap();
    run
}

fn going_on() -> PlanPolicyBuilder {
    PlanPolicy::builder().continue_after_failure().step_timeout(Duration::from_millis(20))
}

#[test]
fn a_run_is_written_so() {
    let steps = [
        StepDraft::new("a").titled("even"),
        step("b").described("fails").after("a"),
        step("c").after("b"),
        step("d").described("asks"),
        StepDraft::new("e").titled("odd").gated(),
        step("f").described("hangs"),
    ];
    let run = ran(going_on().build().unwrap(), steps);
    let json = PlanCodec::default().encode_run(&run).unwrap();
    let expected = concat!(
        r#"{"format_version":1,"run":"run","stop":"failed","completed":2,"failed":2,"blocked":0,"skipped":1,"timed_out":1,"#,
        r#""detached":1,"executed":5,"elapsed":{"secs":0,"nanos":90000000},"observer_failures":0,"#,
        r#""error":{"step":"b","message":"executor returned an error: it is broken"},"#,
        r#""pending":[{"step":"d","kind":{"question":{"start":2,"question":{"prompt":"which one?"}}}}],"steps":["#,
        r#"{"step":"a","report":{"status":"completed","attempts":1,"output":"#,
        r#"{"text":"even","data":null,"artifacts":[{"id":"notes","text":""}],"messages":[],"metadata":{}},"took_millis":5}},"#,
        r#"{"step":"b","report":{"status":"failed","attempts":1,"error":{"code":"execution_failed","#,
        r#""message":"executor returned an error: it is broken"},"took_millis":5}},"#,
        r#"{"step":"c","report":{"status":"skipped","attempts":0,"skipped_because_of":["b"]}},"#,
        r#"{"step":"d","report":{"status":"pending","attempts":0}},"#,
        r#"{"step":"e","report":{"status":"completed","attempts":1,"output":"#,
        r#"{"text":"odd","data":null,"artifacts":[{"id":"notes","text":""}],"messages":[],"metadata":{}},"#,
        r#""finding":{"revise":"odd"},"approval":{"by":"Ann"},"took_millis":5}},"#,
        r#"{"step":"f","report":{"status":"failed","attempts":1,"error":{"code":"step_timeout","#,
        r#""message":"step `f` did not end before its deadline; allow it more time, or split it"},"execution_detached":true,"took_millis":70}}],"#,
        r#""plan":{"format_version":1,"id":"plan","goal":"goal","revision":0,"steps":["#,
        r#"{"id":"a","title":"even"},{"id":"b","title":"x","description":"fails","depends_on":["a"]},"#,
        r#"{"id":"c","title":"x","depends_on":["b"]},{"id":"d","title":"x","description":"asks"},"#,
        r#"{"id":"e","title":"odd","requires_approval":true},{"id":"f","title":"x","description":"hangs"}]}}"#,
    );
    assert_eq!(json, expected);
    assert_eq!(PlanCodec::default().decode_run(&json).unwrap(), run);
}

#[test]
fn a_run_that_cannot_be_read_is_an_error_that_says_why() {
    let run = ran(going_on().build().unwrap(), [step("a"), step("b").described("fails")]);
    let json = PlanCodec::default().encode_run(&run).unwrap();
    let two = PlanCodec::new(&PlanPolicy::builder().max_steps(2).build().unwrap());
    assert_eq!(two.decode_run(&json).unwrap(), run);
    let changed = |from: &str, to: &str, expected: &str| {
        assert!(json.contains(from), "{from}: {json}");
        let error = two.decode_run(&json.replacen(from, to, 1)).unwrap_err();
        assert!(told(&error).starts_with(expected), "{from}: {}", told(&error));
    };
    let itself = "run does not agree with itself: its steps are not those of its plan, or its counts not those of its \
                  steps; take it as the runner gave it";

    changed(
        r#"{"format_version":1,"run""#,
        r#"{"format_version":2,"run""#,
        "plan text has format version 2 and this version reads 1; use a later version of the SDK",
    );
    changed(
        r#""plan":{"format_version":1"#,
        r#""plan":{"format_version":2"#,
        "plan text has format version 2 and this version reads 1; use a later version of the SDK",
    );
    changed(
        r#"{"format_version":1,"run""#,
        r#"{"run""#,
        "run text cannot be read as a run; mend it: missing field `format_version`",
    );
    changed(
        r#""plan":{"format_version":1,"#,
        r#""plan":{"#,
        "plan text has no `format_version`; read it as a draft if a person or a model wrote it",
    );
    changed(
        r#""status":"completed""#,
        r#""status":"done""#,
        "run text cannot be read as a run; mend it: unknown variant `done`, expected one of `pending`",
    );
    changed(
        r#""stop":"failed""#,
        r#""stop":"tired""#,
        "run text cannot be read as a run; mend it: unknown variant `tired`, expected one of `claim_lost`",
    );
    changed(
        r#""code":"execution_failed""#,
        r#""code":"bad_luck""#,
        "run text cannot be read as a run; mend it: unknown variant `bad_luck`",
    );
    changed(
        r#""executed":2"#,
        r#""executed":2,"mood":"good""#,
        "run text cannot be read as a run; mend it: unknown field `mood`",
    );
    changed(r#""steps":[{"step":"a""#, r#""steps":[{"step":"b""#, itself);
    changed(r#""completed":1"#, r#""completed":2"#, itself);
    changed(r#""steps":["#, r#""steps":[{},{},"#, "plan text has 4 steps and `max_steps` is 2; raise it");
    changed(
        r#","steps":[{"id":"a""#,
        r#","steps":[{},{"id":"a""#,
        "plan text has 3 steps and `max_steps` is 2; raise it",
    );
    changed(
        r#"{"id":"b","title":"x""#,
        r#"{"id":"b","title":"x","depends_on":["b"]"#,
        "plan is not valid: self_dependency",
    );
    assert!(matches!(two.with_max_bytes(10).decode_run(&json), Err(CodecError::TooLong { allowed: 10, .. })));
}

#[test]
fn a_run_that_somebody_changed_is_not_written() {
    let mut run = ran(PlanPolicy::default(), [step("a")]);
    run.steps[0].status = StepStatus::Failed;
    assert!(matches!(PlanCodec::default().encode_run(&run), Err(CodecError::InconsistentRun)));
    run.steps.clear();
    run.completed = 0;
    assert!(matches!(PlanCodec::default().encode_run(&run), Err(CodecError::InconsistentRun)));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    /// Whatever the steps came to, and whatever came out of them.
    #[test]
    fn a_run_is_read_as_it_was_written(
        draft in generated::valid_draft(),
        acts in prop::collection::vec(prop::sample::select(vec!["fails", "asks", "hangs", "", "", ""]), 8),
        parallel in 1_u32..4, attempts in 1_u32..3, nanos in any::<u64>(), failures in any::<u64>(),
    ) {
        let steps = draft.steps.into_iter().zip(acts).map(|(mut step, act)| {
            step.description = act.to_owned();
            step.data = step.data.filter(|data| !data.is_null());
            step
        });
        let policy = going_on().max_parallel_steps(parallel).max_attempts(attempts).build().unwrap();
        let mut run = ran(policy, steps);
        (run.elapsed, run.observer_failures) = (Duration::from_nanos(nanos), failures);
        let codec = PlanCodec::default();
        let json = codec.encode_run(&run).unwrap();
        let read = codec.decode_run(&json).unwrap();
        prop_assert_eq!(&read, &run);
        prop_assert_eq!(codec.encode_run(&read).unwrap(), json);
    }
}
