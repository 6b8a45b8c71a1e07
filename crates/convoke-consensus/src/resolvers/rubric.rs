//! Scores by criteria.

use std::borrow::Cow;

use serde_json::{Value, json};

use convoke_core::{AgentId, ExecutorError, Metadata, TaskOutput};
use convoke_registry::TeamHandle;

use super::field::Field;
use crate::{Resolver, ResolverContext, Results, Verdict};

/// What scores are whole numbers of, in a unit. Their sums are exact, so that neither the order of the ballots nor how a
/// fraction is stored moves a total from the bar.
const PARTS: u32 = 1_000_000;

/// The most that a scale may end at. Up to it, the nearest whole number of parts is the decimal that was written.
const HIGHEST: f64 = 1_000_000.0;

/// Weighs the scores that the participants give by criteria; decides when all are in.
///
/// Each output is an object with a score for each criterion, `{"clarity": 7, "safety": 9.5}`, in the data or in the text;
/// scores run from 0 to 10, or to what [`with_scale`](Self::with_scale) says, and have six decimals: further ones are rounded. A
/// criterion's score is the mean of all ballots, and the total is the mean of the criteria by their weights. One that weighs 0
/// must be scored too, and is reported. Fields that are no criteria play no part. The verdict has the total as text, and total,
/// criteria and number of ballots as data; it rests on all whose ballots count.
///
/// With a [bar](Self::with_bar) the consensus is reached where the total is at the bar or above it, which is decided exactly:
/// three scores of 7.1 are at 7.1. Without one it is reached whatever the total is. There are no ties. A ballot that lacks a
/// criterion, or has a score that is no number on the scale, is spoilt as a whole; where all are, nothing is reached.
/// `spoilt` of the summary names whose are.
///
/// ```
/// use convoke_consensus::Rubric;
///
/// let rubric = Rubric::new([("clarity", 1), ("safety", 3)]).with_bar(7.5);
/// ```
#[derive(Clone, Debug)]
pub struct Rubric {
    criteria: Vec<(String, u32)>,
    field: Field,
    scale: f64,
    bar: Option<f64>,
}

impl Rubric {
    /// The criteria, each with its weight. No criteria, one that is named twice, or weights that are all 0 refuse the
    /// consensus with `invalid_request`.
    pub fn new<C: Into<String>>(criteria: impl IntoIterator<Item = (C, u32)>) -> Self {
        let criteria = criteria.into_iter().map(|(name, weight)| (name.into(), weight)).collect();
        Self { criteria, field: Field::default(), scale: 10.0, bar: None }
    }

    /// Reads the scores at `pointer`, a JSON pointer (RFC 6901), and not the whole output.
    #[must_use]
    pub fn with_field(mut self, pointer: impl Into<String>) -> Self {
        self.field = Field::new(pointer);
        self
    }

    /// The highest score; 10 unless set. One below 1 or above 1,000,000 refuses the consensus.
    #[must_use]
    pub fn with_scale(mut self, highest: f64) -> Self {
        self.scale = highest;
        self
    }

    /// The total from which on the consensus is reached, with six decimals. One that is off the scale refuses the consensus.
    #[must_use]
    pub fn with_bar(mut self, bar: f64) -> Self {
        self.bar = Some(bar);
        self
    }

    /// The scores of a ballot in parts, in the order of the criteria; none where it is spoilt.
    fn scores(&self, output: &TaskOutput) -> Option<Vec<u64>> {
        let ballot = self.field.read(output)?;
        let score = |(name, _): &(String, u32)| {
            ballot.get(name)?.as_f64().filter(|score| (0.0..=self.scale).contains(score)).map(parts)
        };
        self.criteria.iter().map(score).collect()
    }
}

impl Resolver for Rubric {
    async fn resolve(&self, results: Results, _ctx: ResolverContext) -> Result<Verdict, ExecutorError> {
        let mut sums = vec![0_u128; self.criteria.len()];
        let (mut voters, mut spoilt) = (Vec::new(), Vec::new());
        for (agent, output) in results.successes() {
            match self.scores(output) {
                Some(scores) => {
                    sums.iter_mut().zip(scores).for_each(|(sum, score)| *sum += u128::from(score));
                    voters.push(agent.clone());
                }
                None => spoilt.push(agent.clone()),
            }
        }
        let ballots = voters.len() as u128;
        let weights = || self.criteria.iter().map(|(_, weight)| u128::from(*weight));
        let weighted: u128 = sums.iter().zip(weights()).map(|(sum, weight)| sum * weight).sum();
        let shares = ballots * weights().sum::<u128>();
        if shares == 0 {
            let text = "no ballot has a score for each criterion";
            return Ok(Verdict::not_reached(text).with_spoilt(spoilt));
        }
        let total = mean(weighted, shares);
        let of_criterion = |((name, _), sum): (&(String, _), _)| (name.clone(), json!(mean(sum, ballots)));
        let criteria: Metadata = self.criteria.iter().zip(sums).map(of_criterion).collect();
        let scores = json!({ "total": total, "criteria": criteria, "ballots": voters.len() });
        let verdict = match self.bar {
            Some(bar) if weighted < u128::from(parts(bar)) * shares => {
                Verdict::not_reached("total is below the bar")
            }
            _ => {
                let mut output = TaskOutput::text(total.to_string());
                output.data = Some(scores.clone());
                Verdict::agreed(output)
            }
        };
        Ok(verdict
            .by(voters)
            .with_note("scores", scores)
            .with_note("bar", self.bar.map_or(Value::Null, |bar| json!(bar)))
            .with_spoilt(spoilt))
    }

    fn check(&self, _participants: &[AgentId], _team: &TeamHandle) -> Result<(), Cow<'static, str>> {
        self.field.check()?;
        let mut names: Vec<_> = self.criteria.iter().map(|(name, _)| name).collect();
        names.sort_unstable();
        if let Some([twice, _]) = names.array_windows().find(|[one, next]| one == next) {
            return Err(format!("rubric names criterion `{twice}` twice; give it one weight").into());
        }
        if self.criteria.iter().all(|(_, weight)| *weight == 0) {
            return Err("rubric has no criterion with a weight above 0; add one".into());
        }
        if !(1.0..=HIGHEST).contains(&self.scale) {
            let text =
                format!("scale of the rubric ends at {}; let it end between 1 and {HIGHEST}", self.scale);
            return Err(text.into());
        }
        match self.bar.filter(|bar| !(0.0..=self.scale).contains(bar)) {
            Some(bar) => {
                Err(format!("bar {bar} is off the scale of the rubric, 0 to {}; set it within", self.scale)
                    .into())
            }
            None => Ok(()),
        }
    }
}

/// A score in parts.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a score is on the scale")]
fn parts(score: f64) -> u64 {
    (score * f64::from(PARTS)).round() as u64
}

/// The mean of `count` scores that are `sum` parts together, rounded once.
#[expect(clippy::cast_precision_loss, reason = "it is for reading: what is decided is decided by the parts")]
fn mean(sum: u128, count: u128) -> f64 {
    sum as f64 / (count * u128::from(PARTS)) as f64
}
