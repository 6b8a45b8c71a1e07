//! What a resolver must hold.

use serde_json::{Value, json};

use convoke_consensus::{Agreement, Basis, Resolver, ResolverContext, Results, Rules, Verdict};
use convoke_core::{
    AgentId, ErrorCode, ExecutorError, IdGenerator, Scope, TaskOutput, TaskReport, TaskRequest, TaskStatus,
};
use convoke_registry::TeamHandle;
use convoke_session::Session;

/// How deep the JSON is that no parser should be sent into.
const DEEP: usize = 10_000;

/// How deep the value is that an agent may well give.
const NESTED: usize = 100;

/// How many values there are where there are many.
const MANY: usize = 1000;

/// Checks that a resolver decides by what it is given, and is not led astray by it.
///
/// `answers` are what participants answer that the resolver can decide on, two or more of them. They are given to it as they
/// are, with some of the participants failed, and with hostile outputs in place of some or all: nothing, no JSON, deep JSON,
/// huge numbers, numbers that are none. `team` is what it asks where it asks anybody, and
/// [`TeamHandle::closed`] where it does not. With each of these, and under several rules where it counts votes:
///
/// - It takes the participants, and reads and weighs each the same every time.
/// - The same results give the same verdict, in whatever order they came in: the same output, reason, voters and notes, or an
///   error of the same code.
/// - The voters are among the participants that succeeded.
/// - Where all failed there is no verdict.
/// - Where it [counts](Resolver::counting), [`resolve`](Resolver::resolve) gives what counting gives.
///
/// ```
/// use convoke_consensus::JsonField;
/// use convoke_core::{AgentId, TaskOutput};
/// use convoke_registry::TeamHandle;
/// use convoke_testkit::conformance;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let ship = || TaskOutput::text(r#"{"verdict": "ship"}"#);
/// let answers = [(AgentId::new("ada")?, ship()), (AgentId::new("bob")?, ship())];
/// conformance::resolver(&JsonField::new("/verdict"), &TeamHandle::closed(), answers).await;
/// # Ok(())
/// # }
/// ```
///
/// # Panics
///
/// Where the resolver does not hold one of these, where it panics, and where fewer than two participants are given.
pub async fn resolver(
    resolver: &impl Resolver,
    team: &TeamHandle,
    answers: impl IntoIterator<Item = (AgentId, TaskOutput)>,
) {
    let answers: Vec<_> = answers.into_iter().collect();
    assert!(answers.len() > 1, "the suite was given {} answers; give it 2 or more", answers.len());
    let participants: Vec<_> = answers.iter().map(|(agent, _)| agent.clone()).collect();
    for _ in 0..2 {
        let checked = resolver.check(&participants, team);
        assert!(checked.is_ok(), "the participants that the suite was given are refused: {checked:?}");
    }
    let suite = Suite { resolver, team };
    for case in cases(&answers) {
        suite.reads_alike(&case);
        for rules in rules(resolver.counting().is_some()) {
            suite.decides_alike(rules, &case).await;
        }
    }
}

/// What a participant came to.
type Given = (AgentId, TaskReport);

/// The answers as they are; with some failed; with some and all hostile.
fn cases(answers: &[(AgentId, TaskOutput)]) -> Vec<Vec<Given>> {
    let mut cases = Vec::new();
    for successes in 0..=answers.len() {
        let given = answers.iter().enumerate().map(|(index, (agent, output))| {
            let status = if index < successes { TaskStatus::Completed } else { TaskStatus::Failed };
            (agent.clone(), report(status, output))
        });
        cases.push(given.collect());
    }
    let hostile = hostile();
    for one in &hostile {
        cases.push(replaced(answers, [one]));
        cases.push(replaced(answers, answers.iter().map(|_| one)));
    }
    for some in hostile.chunks(answers.len()) {
        cases.push(replaced(answers, some));
    }
    cases
}

/// All completed, the first of them with other outputs.
fn replaced<'a>(
    answers: &'a [(AgentId, TaskOutput)],
    outputs: impl IntoIterator<Item = &'a TaskOutput>,
) -> Vec<Given> {
    let mut outputs = outputs.into_iter();
    let given = |(agent, output): &'a (AgentId, TaskOutput)| {
        (agent.clone(), report(TaskStatus::Completed, outputs.next().unwrap_or(output)))
    };
    answers.iter().map(given).collect()
}

fn report(status: TaskStatus, output: &TaskOutput) -> TaskReport {
    let ids = IdGenerator::seeded(0);
    let mut report = TaskReport::new(ids.task(0), ids.session(0), status);
    report.output = Some(output.clone());
    report
}

/// What no resolver should stumble over.
fn hostile() -> Vec<TaskOutput> {
    let texts = [
        String::new(),
        " \u{0} \u{FEFF}\u{1F600}".into(),
        "no JSON at all".into(),
        r#"{"cut": "#.into(),
        "null".into(),
        "[]".into(),
        "{}".into(),
        "NaN".into(),
        "-Infinity".into(),
        "1e999".into(),
        "-0.0".into(),
        "9".repeat(400),
        r#"{"choice": 1e300, "": NaN}"#.into(),
        "[".repeat(DEEP),
        r#"{"a":"#.repeat(DEEP),
        format!("[{}]", vec!["1"; MANY].join(",")),
        "x".repeat(100_000),
    ];
    let many: serde_json::Map<_, _> = (0..MANY).map(|number| (number.to_string(), json!(number))).collect();
    let values = [
        Value::Null,
        json!(f64::MAX),
        json!([f64::MIN_POSITIVE, u64::MAX, i64::MIN, -0.0]),
        json!(["NaN", "Infinity", "1e999", ""]),
        json!({ "": { "": "" } }),
        json!((0..MANY).collect::<Vec<_>>()),
        json!(vec!["same"; MANY]),
        Value::Object(many),
        (0..NESTED).fold(Value::Null, |inner, _| json!([inner])),
        (0..NESTED).fold(Value::Null, |inner, _| json!({ "choice": inner })),
    ];
    let value = |value: Value| {
        let mut output = TaskOutput::default();
        output.data = Some(value);
        output
    };
    texts.into_iter().map(TaskOutput::text).chain(values.into_iter().map(value)).collect()
}

/// Some rules for one that counts; the usual ones for another.
fn rules(counts: bool) -> Vec<Rules> {
    let mut rules = vec![Rules::new()];
    if counts {
        rules.push(Rules::new().with_basis(Basis::Participants));
        rules.push(Rules::new().with_agreement(Agreement::AtLeast(1)));
        rules.push(Rules::new().with_agreement(Agreement::AtLeast(2)).with_minimum_successful_agents(2));
    }
    rules
}

/// What a resolver said: a verdict, or the code of an error.
type Said = Result<Verdict, ErrorCode>;

/// A resolver under test.
struct Suite<'a, R> {
    resolver: &'a R,
    team: &'a TeamHandle,
}

impl<R: Resolver> Suite<'_, R> {
    /// Whether votes are read and weighed the same each time.
    fn reads_alike(&self, case: &[Given]) {
        let (one, other) = (self.resolver.counting(), self.resolver.counting());
        assert!(one.is_some() == other.is_some(), "it counts at times, and at times it does not");
        let Some((one, other)) = one.zip(other) else { return };
        for (agent, report) in case {
            assert_eq!(one.weight(agent), other.weight(agent), "`{agent}` does not weigh the same each time");
            let Some(output) = &report.output else { continue };
            assert!(
                one.read(output) == other.read(output),
                "an output is not read the same each time: {}",
                shown(output)
            );
        }
    }

    async fn decides_alike(&self, rules: Rules, case: &[Given]) {
        let results = Results::new(rules, case.iter().cloned());
        let said = self.resolve(results.clone()).await;
        self.is_sound(&results, &said);
        let mut permuted = case.to_vec();
        permuted.reverse();
        for _ in 0..2 {
            permuted.rotate_left(1);
            let again = self.resolve(Results::new(rules, permuted.iter().cloned())).await;
            assert!(again == said, "the same results give another verdict: {said:?}, then {again:?}");
        }
    }

    fn is_sound(&self, results: &Results, said: &Said) {
        let Ok(verdict) = said else { return };
        let successes: Vec<_> = results.successes().map(|(agent, _)| agent).collect();
        for voter in verdict.voters() {
            assert!(
                successes.contains(&voter),
                "voter `{voter}` is no participant that succeeded: {verdict:?}"
            );
        }
        if successes.is_empty() {
            assert!(verdict.output().is_none(), "all failed, and there is a verdict: {verdict:?}");
        }
        if let Some(counting) = self.resolver.counting() {
            let counted = results.count(&counting);
            let is_same = verdict.output() == counted.output() && verdict.voters() == counted.voters();
            assert!(is_same, "`resolve` gives {verdict:?}, and the count gives {counted:?}");
        }
    }

    /// In a session of its own, as in a consensus of its own.
    async fn resolve(&self, results: Results) -> Said {
        let ids = IdGenerator::seeded(0);
        let ctx = ResolverContext::new(
            TaskRequest::new("which?"),
            ids.task(0),
            1,
            Session::new(ids.session(0)).snapshot(),
            self.team.clone(),
            Scope::root(),
        );
        self.resolver.resolve(results, ctx).await.map_err(|error: ExecutorError| error.code())
    }
}

/// The beginning of an output, since some are long.
fn shown(output: &TaskOutput) -> String {
    format!("{output:?}").chars().take(200).collect()
}
