use convoke_core::Metadata;

use crate::{
    PlanPolicyBuilder,
    machine::{
        Entry, Event, Machine, Question, Record, RecordError, WorkOutcome,
        tests::bench::{Bench, policy, step},
    },
};

#[test]
fn records_are_read_as_they_were_written() {
    let set = policy(|policy| policy.max_attempts(2).continue_after_failure());
    let mut bench = Bench::new(set, [step("a").gated(), step("b").after("a"), step("c")]).begin();
    let request = bench.gates()[0].1;
    let metadata = Metadata::from_iter([("by".to_owned(), serde_json::json!({"n": 0.1}))]);
    bench.send(Event::Approved { request, metadata });
    bench.pass(7).done("c").end("a", WorkOutcome::Asked(Question::new("which?")));
    let start = bench.starts[1].start;
    assert_eq!(start, 2);
    let mut bench = bench.again(policy(PlanPolicyBuilder::continue_after_failure));
    bench.send(Event::Answered { start, answer: "this".into() });
    let mut bench = bench.resume();
    bench.fail("a");
    for entry in &bench.journal {
        let json = entry.to_json().unwrap();
        assert_eq!(&Entry::from_json(&json).unwrap(), entry, "{json}");
    }
    let texts: Vec<_> = bench.journal.iter().rev().take(2).map(|entry| entry.to_json().unwrap()).collect();
    assert_eq!(
        texts[0],
        r#"{"version":1,"sequence":14,"elapsed_millis":7,"record":{"stopped":{"stop":"failed"}}}"#
    );
    assert_eq!(
        texts[1],
        r#"{"version":1,"sequence":13,"elapsed_millis":7,"record":{"skipped":{"step":"b"}}}"#
    );
    let machine =
        Machine::replay(bench.plan.clone(), policy(|policy| policy), bench.journal.clone(), |_, _| None)
            .unwrap();
    assert!(machine.ledger.same_as(&bench.machine.ledger));
}

#[test]
fn what_is_no_record_of_this_version_is_an_error() {
    let read = Entry::from_json;
    let newer = r#"{"version":2,"sequence":1,"elapsed_millis":0,"record":{"dreamt":{}}}"#;
    assert!(matches!(read(newer), Err(RecordError::OtherVersion { version: 2 })));
    for text in [
        "",
        "{}",
        r#"{"version":1,"sequence":1,"elapsed_millis":0,"record":{"dreamt":{}}}"#,
        r#"{"version":1,"sequence":1,"elapsed_millis":0,"record":{"skipped":{"step":"a","why":1}}}"#,
        r#"{"version":1,"sequence":1,"elapsed_millis":0,"more":1,"record":"begun"}"#,
        r#"{"version":1,"sequence":1,"elapsed_millis":0,"record":{"skipped":{"step":""}}}"#,
    ] {
        assert!(matches!(read(text), Err(RecordError::Malformed(_))), "{text}");
    }
    let begun = read(r#"{"version":1,"sequence":1,"elapsed_millis":0,"record":"begun"}"#).unwrap();
    assert_eq!(begun.record, Record::Begun);
}
