//! Scores by criteria.

use std::borrow::Cow;

use convoke_core::{AgentId, ExecutorError, Metadata, TaskOutput};
use serde_json::{Value, json};

use super::field::Field;
use crate::{Resolver, ResolverContext, Results, Verdict};

/// Weighs the scores that the participants give by criteria; decides when all are in.
///
/// Each output is an object with a score for each criterion, `{"clarity": 7, "safety": 9.5}`, in the data or in the text;
/// scores run from 0 to 10, or to what [`scale`](Self::scale) says. A criterion's score is the mean of all ballots, and the
/// total is the mean of the criteria by their weights. The verdict has the total as text, and total, criteria and number of
/// ballots as data; it rests on all whose ballots count.
///
/// With a [bar](Self::passing) the consensus is reached where the total is at the bar or above it. Without one it is reached
/// whatever the total is. There are no ties. A ballot that lacks a criterion, or has a score that is no number on the scale, is
/// spoilt as a whole; where all are, nothing is reached. `notes.spoilt` of the summary names whose are.
///
/// ```
/// use convoke_consensus::Rubric;
///
/// let rubric = Rubric::new([("clarity", 1), ("safety", 3)]).passing(7.5);
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
    pub fn at(mut self, pointer: impl Into<String>) -> Self {
        self.field = Field::new(pointer);
        self
    }

    /// The highest score; 10 unless set. One that is not above 0 and finite refuses the consensus.
    #[must_use]
    pub fn scale(mut self, highest: f64) -> Self {
        self.scale = highest;
        self
    }

    /// The total from which on the consensus is reached. One that is off the scale refuses the consensus.
    #[must_use]
    pub fn passing(mut self, bar: f64) -> Self {
        self.bar = Some(bar);
        self
    }

    /// The scores of a ballot, in the order of the criteria; none where it is spoilt.
    fn scores(&self, output: &TaskOutput) -> Option<Vec<f64>> {
        let ballot = self.field.read(output)?;
        let score = |(name, _): &(String, u32)| {
            ballot.get(name)?.as_f64().filter(|score| (0.0..=self.scale).contains(score))
        };
        self.criteria.iter().map(score).collect()
    }
}

impl Resolver for Rubric {
    async fn resolve(&self, results: Results, _ctx: ResolverContext) -> Result<Verdict, ExecutorError> {
        let mut sums = vec![0.0; self.criteria.len()];
        let (mut voters, mut spoilt) = (Vec::new(), Vec::new());
        // By id, so that the sums do not depend on who ended first.
        for (agent, output) in results.successes() {
            match self.scores(output) {
                Some(scores) => {
                    sums.iter_mut().zip(scores).for_each(|(sum, score)| *sum += score);
                    voters.push(agent.clone());
                }
                None => spoilt.push(agent.as_str()),
            }
        }
        if voters.is_empty() {
            return Ok(
                Verdict::not_reached("no ballot has a score for each criterion").with_note("spoilt", spoilt)
            );
        }
        #[expect(clippy::cast_precision_loss, reason = "a number of agents is far below 2^53")]
        let ballots = voters.len() as f64;
        let means: Vec<_> = sums.iter().map(|sum| sum / ballots).collect();
        let weights = || self.criteria.iter().map(|(_, weight)| f64::from(*weight));
        let weighted: f64 = means.iter().zip(weights()).map(|(mean, weight)| mean * weight).sum();
        let total = weighted / weights().sum::<f64>();
        let criteria: Metadata =
            self.criteria.iter().zip(&means).map(|((name, _), mean)| (name.clone(), json!(mean))).collect();
        let scores = json!({ "total": total, "criteria": criteria, "ballots": voters.len() });
        let verdict = match self.bar {
            Some(bar) if total < bar => Verdict::not_reached("total is below the bar"),
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
            .with_note("spoilt", spoilt))
    }

    fn check(&self, _participants: &[AgentId]) -> Result<(), Cow<'static, str>> {
        self.field.check()?;
        let mut names: Vec<_> = self.criteria.iter().map(|(name, _)| name).collect();
        names.sort_unstable();
        if let Some([twice, _]) = names.array_windows().find(|[one, next]| one == next) {
            return Err(format!("rubric names criterion `{twice}` twice; give it one weight").into());
        }
        if self.criteria.iter().all(|(_, weight)| *weight == 0) {
            return Err("rubric has no criterion with a weight above 0; add one".into());
        }
        if !(self.scale > 0.0 && self.scale.is_finite()) {
            return Err(format!("scale of the rubric ends at {}; let it end above 0", self.scale).into());
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
