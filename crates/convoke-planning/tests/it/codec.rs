use std::error::Error;

use proptest::prelude::*;

use convoke_planning::{CodecError, PlanCodec, PlanPolicy, PlanValidator, PrioritySignals, StepDraft};

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
