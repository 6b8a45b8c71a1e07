use std::time::Duration;

use proptest::prelude::*;

use convoke_core::{ExecutorError, PlanId};
use convoke_journal::MemoryJournal;
use convoke_planning::{
    Backoff, BoxError, FunctionStepExecutor, PlanDraft, PlanPolicy, PlanPolicyBuilder, PlanRun, PlanRunner,
    PlanValidator, Review, StepContext, StepDraft, StepOutcome, StepStatus, machine::Finding,
};

use crate::{
    fixtures::{plan, step},
    generated,
};

fn release() -> convoke_planning::Plan {
    plan([
        StepDraft::new("tests").titled("Read the \"report\""),
        StepDraft::new("verdict").titled("A <b> & C\\N").after("tests").gated(),
        StepDraft::new("notes").described("Write").after_end_of("tests"),
    ])
}

#[test]
fn a_plan_is_drawn_so() {
    assert_eq!(
        release().to_mermaid(),
        r#"flowchart TD
    s0["Read the #34;report#34;"]
    s1{{"A #60;b#62; #38; C#92;N"}}
    s2["notes"]
    s0 --> s1
    s0 -.-> s2
"#
    );
    assert_eq!(
        release().to_dot(),
        r##"digraph plan {
    label="goal";
    node [shape=box, style=filled, fillcolor="#ffffff"];
    s0 [label="Read the \"report\""];
    s1 [label="A <b> &amp; C\\N", shape=hexagon];
    s2 [label="notes"];
    s0 -> s1;
    s0 -> s2 [style=dashed];
}
"##
    );
}

#[test]
fn a_plan_with_statuses_has_colours_and_says_them() {
    let plan = release();
    let status = |step: convoke_planning::StepIndex| StepStatus::ALL[step.row() + 1];
    let mermaid = plan.diagram().with_statuses(status).to_mermaid();
    assert!(mermaid.contains("    s2[\"notes (failed)\"]\n"), "{mermaid}");
    assert!(mermaid.contains("    classDef failed fill:#f8d7da,stroke:#333333,color:#000000\n"), "{mermaid}");
    assert!(
        mermaid.ends_with("    class s0 running\n    class s1 completed\n    class s2 failed\n"),
        "{mermaid}"
    );
    let dot = plan.diagram().with_statuses(status).to_dot();
    assert!(dot.contains("    s2 [label=\"notes (failed)\", fillcolor=\"#f8d7da\"];\n"), "{dot}");
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    Quoted(String),
    Mark(char),
}

/// The words of DOT as Graphviz reads them, quoted strings with their escapes and entities resolved.
fn tokens(dot: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = dot.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            c if c.is_whitespace() => {}
            '"' => {
                let mut text = String::new();
                loop {
                    match rest.next().expect("a string ends") {
                        '"' => break,
                        '\\' => text
                            .push(rest.next().filter(|c| matches!(c, '"' | '\\')).expect("a known escape")),
                        c => text.push(c),
                    }
                }
                tokens.push(Token::Quoted(text.replace("&amp;", "&")));
            }
            c if c.is_ascii_alphanumeric() => {
                let mut word = String::from(c);
                while let Some(c) = rest.next_if(char::is_ascii_alphanumeric) {
                    word.push(c);
                }
                tokens.push(Token::Word(word));
            }
            c => tokens.push(Token::Mark(c)),
        }
    }
    tokens
}

/// The text as both pictures show it.
fn shown(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// What Mermaid makes of a label: its character codes resolved.
fn label(line: &str) -> String {
    let (start, end) = (line.find('"').unwrap() + 1, line.rfind('"').unwrap());
    let mut label = String::new();
    let mut rest = &line[start..end];
    while let Some((before, behind)) = rest.split_once('#') {
        let (code, behind) = behind.split_once(';').expect("a code ends");
        label.push_str(before);
        label.push(char::from_u32(code.parse().expect("a code is a number")).unwrap());
        rest = behind;
    }
    label + rest
}

/// What a run of these steps came to; each does as its description says.
fn ran(policy: PlanPolicy, steps: impl IntoIterator<Item = StepDraft>) -> PlanRun {
    let executor = FunctionStepExecutor::new(|_, ctx: StepContext| async move {
        tokio::time::sleep(Duration::from_millis(u64::from(ctx.attempt()) * 5)).await;
        match ctx.step().description.as_str() {
            "fails" => Err(ExecutorError::new("it is broken")),
            "fails once" if ctx.attempt() == 1 => Err(ExecutorError::new("it is broken")),
            "asks" => Ok(StepOutcome::asked("which one?")),
            _ => Ok("done".into()),
        }
    });
    // A review takes time that is not the work's.
    let reflector = |_: Review| async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        Ok::<_, BoxError>(Finding::Pass)
    };
    let runner =
        PlanRunner::builder().executor(executor).reflector(reflector).policy(policy).build().unwrap();
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build().unwrap();
    runtime.block_on(runner.run_plan(plan(steps))).unwrap()
}

fn going_on() -> PlanPolicyBuilder {
    PlanPolicy::builder().continue_after_failure().backoff(Backoff::none())
}

#[test]
fn a_run_is_drawn_with_status_time_and_cause() {
    let run = ran(
        going_on().max_attempts(2).build().unwrap(),
        [
            step("good"),
            step("slow").described("fails once").after("good"),
            step("bad").described("fails"),
            step("worse").described("fails"),
            step("sum").after("bad").after("worse"),
            step("gate").gated(),
            step("question").described("asks"),
        ],
    );
    assert_eq!(
        run.to_mermaid(),
        r#"flowchart TD
    s0["x (completed), 5 ms"]
    s1["x (completed), 10 ms"]
    s2["x (failed), 10 ms, execution_failed"]
    s3["x (failed), 10 ms, execution_failed"]
    s4["x (skipped), because of bad, worse"]
    s5{{"x (pending)"}}
    s6["x (pending)"]
    s0 --> s1
    s2 --> s4
    s3 --> s4
    classDef pending fill:#ffffff,stroke:#333333,color:#000000
    classDef running fill:#cfe2ff,stroke:#333333,color:#000000
    classDef completed fill:#d1e7dd,stroke:#333333,color:#000000
    classDef failed fill:#f8d7da,stroke:#333333,color:#000000
    classDef skipped fill:#e2e3e5,stroke:#333333,color:#000000
    classDef blocked fill:#fff3cd,stroke:#333333,color:#000000
    class s0 completed
    class s1 completed
    class s2 failed
    class s3 failed
    class s4 skipped
    class s5 pending
    class s6 pending
"#
    );
    assert_eq!(
        run.to_dot(),
        r##"digraph plan {
    label="goal";
    node [shape=box, style=filled, fillcolor="#ffffff"];
    s0 [label="x (completed), 5 ms", fillcolor="#d1e7dd"];
    s1 [label="x (completed), 10 ms", fillcolor="#d1e7dd"];
    s2 [label="x (failed), 10 ms, execution_failed", fillcolor="#f8d7da"];
    s3 [label="x (failed), 10 ms, execution_failed", fillcolor="#f8d7da"];
    s4 [label="x (skipped), because of bad, worse", fillcolor="#e2e3e5"];
    s5 [label="x (pending)", shape=hexagon, fillcolor="#ffffff"];
    s6 [label="x (pending)", fillcolor="#ffffff"];
    s0 -> s1;
    s2 -> s4;
    s3 -> s4;
}
"##
    );
}

#[test]
fn a_step_that_is_to_be_tried_again_has_no_time_in_a_picture() {
    let run =
        ran(going_on().max_attempts(2).steps_per_run(1).build().unwrap(), [step("a").described("fails")]);
    assert_eq!(run.step("a").unwrap().took_millis, Some(5));
    assert!(run.to_mermaid().contains("s0[\"x (pending)\"]\n"), "{}", run.to_mermaid());
}

#[test]
fn no_id_and_no_title_breaks_the_picture_of_a_run() {
    let hostile = ["\"]; end %% x", "a\"--> b{{", "#quot;</b>\\", "subgraph |;"];
    let [first, second, third, last] = hostile;
    let run = ran(
        going_on().build().unwrap(),
        [
            StepDraft::new(first).described("fails"),
            StepDraft::new(second).titled("\"] --> \n x\\").after(first),
            StepDraft::new(third).described("fails"),
            StepDraft::new(last).titled("&quot;;").after(second).after(third),
        ],
    );
    let mermaid = run.to_mermaid();
    let labels: Vec<_> = mermaid.lines().skip(1).take(4).map(label).collect();
    let expected = [
        format!("{first} (failed), 5 ms, execution_failed"),
        format!("\"] -->   x\\ (skipped), because of {first}"),
        format!("{third} (failed), 5 ms, execution_failed"),
        format!("&quot;; (skipped), because of {first}, {third}"),
    ];
    assert_eq!(labels, expected);
    for line in mermaid.lines().skip(1).take(4) {
        let inner = line.split_once("[\"").and_then(|(_, rest)| rest.strip_suffix("\"]")).unwrap();
        assert!(inner.chars().all(|c| c.is_alphanumeric() || " ,._#;()".contains(c)), "{line}");
    }
    let tokens = tokens(&run.to_dot());
    let quoted: Vec<_> = tokens
        .iter()
        .filter_map(|token| match token {
            Token::Quoted(text) => Some(text.clone()),
            _ => None,
        })
        .collect();
    for label in expected {
        assert!(quoted.contains(&label), "{label}: {quoted:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_step_is_on_record() {
    let (journal, id) = (MemoryJournal::new(), PlanId::new("plan").unwrap());
    let runner = |limit: u64| {
        let executor = FunctionStepExecutor::new(|_, _| async {
            tokio::time::sleep(Duration::from_millis(5)).await;
            Ok("done")
        });
        let policy = PlanPolicy::builder().steps_per_run(limit).build().unwrap();
        PlanRunner::builder().executor(executor).policy(policy).journal(journal.clone()).build().unwrap()
    };
    runner(1).run_plan(plan([step("a"), step("b").after("a")])).await.unwrap();
    tokio::time::sleep(Duration::from_mins(1)).await;
    let run = runner(9).resume(&id).await.unwrap();
    let times: Vec<_> = run.steps.iter().map(|step| step.took_millis).collect();
    assert_eq!(times, [Some(5), Some(5)]);

    // What a fork begins with is work of another plan. Begun, `a` started, `a` completed.
    let fork = PlanId::new("fork").unwrap();
    runner(9).fork(&id, 3, fork.clone()).await.unwrap();
    let run = runner(9).resume(&fork).await.unwrap();
    let times: Vec<_> = run.steps.iter().map(|step| step.took_millis).collect();
    assert_eq!(times, [None, Some(5)]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    /// No goal, title or id breaks a picture, and each is shown as it is.
    #[test]
    fn no_text_breaks_a_picture(goal in generated::text(), titles in prop::collection::vec(generated::text(), 1..4)) {
        let goal = format!("{goal}x");
        let steps = titles.iter().enumerate().map(|(place, title)| StepDraft::new(format!("s{place}")).titled(format!("{title}x")));
        let plan = PlanValidator::default().validate(PlanDraft::new(goal.clone()).with_steps(steps)).unwrap();

        let word = |text: &str| Token::Word(text.into());
        let quoted = |text: &str| Token::Quoted(shown(text));
        let mut expected = vec![word("digraph"), word("plan"), Token::Mark('{')];
        expected.extend([word("label"), Token::Mark('='), quoted(&goal), Token::Mark(';')]);
        expected.extend(tokens("node [shape=box, style=filled, fillcolor=\"#ffffff\"];"));
        for (place, title) in titles.iter().enumerate() {
            expected.extend([word(&format!("s{place}")), Token::Mark('['), word("label"), Token::Mark('=')]);
            expected.extend([quoted(&format!("{title}x")), Token::Mark(']'), Token::Mark(';')]);
        }
        expected.push(Token::Mark('}'));
        prop_assert_eq!(tokens(&plan.to_dot()), expected);

        let mermaid = plan.to_mermaid();
        let lines: Vec<_> = mermaid.split('\n').collect();
        prop_assert_eq!(lines.len(), titles.len() + 2);
        for (place, title) in titles.iter().enumerate() {
            let line = lines[place + 1];
            let inner = line.strip_prefix(&format!("    s{place}[\"")).and_then(|rest| rest.strip_suffix("\"]")).unwrap();
            prop_assert!(inner.chars().all(|c| c.is_alphanumeric() || " ,._#;".contains(c)), "{}", inner);
            prop_assert_eq!(label(line), shown(&format!("{title}x")));
        }
    }
}
