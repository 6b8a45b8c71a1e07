//! Rankings, by Borda's count.

use std::{borrow::Cow, cmp::Reverse, collections::HashMap};

use convoke_core::{AgentId, ExecutorError};
use serde_json::{Value, json};

use super::field::Field;
use crate::{Answer, Resolver, ResolverContext, Results, Verdict};

/// Finds the candidate that the rankings of all agree on best, by Borda's count; decides when all are in.
///
/// Each output is a ranking: a JSON array of candidates, the best first, in the data or in the text. With *n* candidates
/// in all rankings together, the first of a ranking gets *n* − 1 points, the second *n* − 2, and so on (J.-C. de Borda,
/// "Mémoire sur les élections au scrutin", 1784). Candidates that a ranking leaves out share the points that are left
/// equally, so that each ranking gives as many points in all.
///
/// The candidate with the most points wins, whether or not anybody ranks it first; `notes.points` of the summary has the
/// points of each. Two that share the most are a tie, which is not reached. An output that is no ranking, or ranks a candidate
/// twice, is a spoilt ballot and gives no points. The verdict rests on those that rank the winner first.
#[derive(Clone, Debug, Default)]
pub struct Ranked(Field);

impl Ranked {
    /// Reads the whole output as a ranking.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the ranking at `pointer`, a JSON pointer (RFC 6901).
    #[must_use]
    pub fn at(pointer: impl Into<String>) -> Self {
        Self(Field::new(pointer))
    }

    /// The ranking in an output; none where it is spoilt.
    fn ranking(&self, output: &convoke_core::TaskOutput) -> Option<Vec<Answer>> {
        let Value::Array(candidates) = self.0.read(output)? else { return None };
        let ranking: Vec<_> = candidates.into_iter().map(Answer::value).collect();
        let mut seen = std::collections::HashSet::new();
        (!ranking.is_empty() && ranking.iter().all(|candidate| seen.insert(candidate))).then_some(ranking)
    }
}

impl Resolver for Ranked {
    async fn resolve(&self, results: Results, _ctx: ResolverContext) -> Result<Verdict, ExecutorError> {
        let (mut rankings, mut spoilt) = (Vec::new(), Vec::new());
        for (agent, output) in results.successes() {
            match self.ranking(output) {
                Some(ranking) => rankings.push((agent, ranking)),
                None => spoilt.push(agent.as_str()),
            }
        }
        let places = half_points(&rankings);
        // By points, then as JSON, so that the list does not depend on who is asked first.
        let mut points: Vec<_> = places.into_iter().collect();
        points.sort_by_cached_key(|(candidate, points)| (Reverse(*points), candidate.as_text().to_owned()));
        let verdict = match points.as_slice() {
            [] => Verdict::not_reached("no participant gave a ranking"),
            [(_, most), (_, second), ..] if most == second => {
                Verdict::not_reached("tie: several candidates share the most points")
            }
            [(winner, _), ..] => {
                let first = |(agent, ranking): &(&AgentId, Vec<Answer>)| {
                    (ranking.first() == Some(winner)).then(|| AgentId::clone(agent))
                };
                Verdict::agreed(winner.to_output()).by(rankings.iter().filter_map(first))
            }
        };
        let listed = points.iter().map(
            |(candidate, points)| json!({ "candidate": candidate.data(), "points": whole_or_half(*points) }),
        );
        Ok(verdict.with_note("points", listed.collect::<Vec<_>>()).with_note("spoilt", spoilt))
    }

    fn check(&self, _participants: &[AgentId]) -> Result<(), Cow<'static, str>> {
        Ok(self.0.check()?)
    }
}

/// Twice the points of each candidate: a share of what is left may be a half.
fn half_points<'a>(rankings: &'a [(&AgentId, Vec<Answer>)]) -> HashMap<&'a Answer, u64> {
    let mut points: HashMap<&Answer, u64> = HashMap::new();
    for (_, ranking) in rankings {
        for candidate in ranking {
            points.entry(candidate).or_default();
        }
    }
    let all = points.len() as u64;
    // What a ranking that leaves a candidate out gives it: the mean of the last places. All start with that of each
    // ranking, and a ranked one gets what it is above it, so that the cost is that of the rankings.
    let mut left_out_of_all = 0;
    for (_, ranking) in rankings {
        let left_out = (all - ranking.len() as u64).saturating_sub(1);
        left_out_of_all += left_out;
        for (place, candidate) in ranking.iter().enumerate() {
            if let Some(points) = points.get_mut(candidate) {
                // Never below: the last ranked one is above all that are left out, or there are none.
                *points += 2 * (all - 1 - place as u64) - left_out;
            }
        }
    }
    for points in points.values_mut() {
        *points += left_out_of_all;
    }
    points
}

fn whole_or_half(half_points: u64) -> Value {
    if half_points.is_multiple_of(2) {
        return json!(half_points / 2);
    }
    #[expect(clippy::cast_precision_loss, reason = "a number of points is far below 2^53")]
    let points = half_points as f64 / 2.0;
    json!(points)
}
