//! Drafts by chance.

use proptest::{collection::vec, option, prelude::*};
use serde_json::{Map, Value};

use convoke_core::Artifact;
use convoke_planning::{Dependency, PlanDraft, PrioritySignals, StepDraft, StepStatus, Wait};

/// A graph without circles: of each step its sources, all before it, with what it waits for.
pub(crate) type Edges = Vec<Vec<(usize, Wait)>>;

pub(crate) fn wait() -> impl Strategy<Value = Wait> {
    prop_oneof![Just(Wait::Completed), Just(Wait::Ended)]
}

/// Graphs of up to `steps` steps, pairs of steps once.
pub(crate) fn edges(steps: usize) -> impl Strategy<Value = Edges> {
    vec(vec((any::<prop::sample::Index>(), wait()), 0..4), 1..steps).prop_map(|rows| {
        let edges = rows.into_iter().enumerate().map(|(target, sources)| {
            let mut row: Vec<(usize, Wait)> = Vec::new();
            for (source, wait) in sources {
                if target > 0 && row.iter().all(|(known, _)| *known != source.index(target)) {
                    row.push((source.index(target), wait));
                }
            }
            row
        });
        edges.collect()
    })
}

/// The steps of a graph, named by place; `order` says at which place of the plan each is written.
pub(crate) fn steps(edges: &Edges) -> Vec<StepDraft> {
    let name = |step: usize| format!("s{step}");
    let step = |(target, sources): (usize, &Vec<(usize, Wait)>)| {
        let mut step = StepDraft::new(name(target)).titled("x");
        for (source, wait) in sources {
            step = match wait {
                Wait::Completed => step.after(name(*source)),
                Wait::Ended => step.after_end_of(name(*source)),
            };
        }
        step
    };
    edges.iter().enumerate().map(step).collect()
}

/// Any text, with what breaks JSON, DOT and Mermaid more often than chance has it.
pub(crate) fn text() -> impl Strategy<Value = String> {
    vec(
        prop_oneof![
            any::<char>(),
            prop::sample::select(
                "\"\\[]{}()<>|;:&#%`'-=/*".chars().chain(['\n', '\u{2028}', '\0']).collect::<Vec<_>>()
            )
        ],
        0..12,
    )
    .prop_map(|characters| characters.into_iter().collect())
}

pub(crate) fn finite() -> impl Strategy<Value = f64> {
    use prop::num::f64;
    prop_oneof![f64::NORMAL | f64::SUBNORMAL | f64::ZERO | f64::NEGATIVE, -10.0..10.0]
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        finite().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((text(), inner), 0..4)
                .prop_map(|fields| Value::from(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn metadata() -> impl Strategy<Value = Map<String, Value>> {
    vec((text(), json()), 0..2).prop_map(|fields| fields.into_iter().collect())
}

fn signals(number: BoxedStrategy<f64>) -> impl Strategy<Value = PrioritySignals> {
    (number.clone(), number.clone(), number.clone(), number, option::of(any::<u64>())).prop_map(
        |(priority, urgency, value, cost, deadline)| {
            let mut signals = PrioritySignals::new()
                .with_priority(priority)
                .with_urgency(urgency)
                .with_expected_value(value)
                .with_estimated_cost(cost);
            signals.deadline_unix_millis = deadline;
            signals
        },
    )
}

/// A step of which any part may be anything.
pub(crate) fn any_step() -> impl Strategy<Value = StepDraft> {
    let dependency = (text(), wait()).prop_map(|(step, wait)| match wait {
        Wait::Completed => Dependency::completed(step),
        Wait::Ended => Dependency::ended(step),
    });
    let texts = (text(), text(), text(), text());
    let edges = (vec(dependency, 0..3), vec(text(), 0..3), vec(text(), 0..3));
    let who = (option::of(text()), option::of(text()), any::<bool>());
    let rest = (
        option::of(json()),
        metadata(),
        signals(finite().boxed()),
        option::of(prop::sample::select(StepStatus::ALL)),
    );
    (texts, edges, who, rest).prop_map(|(texts, edges, who, rest)| {
        let mut step = StepDraft::default();
        (step.id, step.title, step.description, step.input) = texts;
        (step.depends_on, step.input_from, step.required_skills) = edges;
        (step.tool, step.agent, step.requires_approval) = who;
        (step.data, step.metadata, step.signals, step.status) = rest;
        step
    })
}

pub(crate) fn any_draft() -> impl Strategy<Value = PlanDraft> {
    let artifact = (text(), option::of(json()), option::of(text())).prop_map(|(text, data, media_type)| {
        let mut artifact = Artifact::text("notes", text).unwrap();
        artifact.data = data.filter(|data| !data.is_null());
        artifact.media_type = media_type;
        artifact
    });
    (option::of(text()), text(), vec(any_step(), 0..4), vec(artifact, 0..2), metadata()).prop_map(
        |(id, goal, steps, artifacts, metadata)| {
            let mut draft = PlanDraft::new(goal).with_steps(steps);
            (draft.id, draft.artifacts, draft.metadata) = (id, artifacts, metadata);
            draft
        },
    )
}

/// A draft of a plan: the graph by chance, and every part of a step that may be anything.
pub(crate) fn valid_draft() -> impl Strategy<Value = PlanDraft> {
    (edges(8), vec((any_step(), signals((0.0..1e9).boxed())), 8), any_draft()).prop_map(
        |(edges, parts, mut draft)| {
            let steps = steps(&edges).into_iter().zip(parts).enumerate();
            draft.steps = steps
                .map(|(place, (mut step, (part, signals)))| {
                    (step.description, step.input, step.data) = (part.description, part.input, part.data);
                    (step.metadata, step.requires_approval) = (part.metadata, part.requires_approval);
                    step.title = format!("{}x", part.title);
                    step.signals = signals;
                    step.agent = Some("writer".into());
                    step.required_skills = vec!["write".into(), "read".into()];
                    step.input_from = (0..place).map(|source| format!("s{source}")).take(2).collect();
                    step
                })
                .collect();
            draft.goal.push('x');
            draft.id = draft.id.map(|_| "plan".into());
            draft
        },
    )
}
