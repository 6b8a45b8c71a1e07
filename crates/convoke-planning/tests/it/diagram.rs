use proptest::prelude::*;

use convoke_planning::{PlanDraft, PlanValidator, StepDraft, StepStatus};

use crate::{fixtures::plan, generated};

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
