//! Rankings, by Borda's count.

use std::{
    borrow::Cow,
    cmp::Reverse,
    collections::{HashMap, HashSet},
};

use serde_json::{Value, json};

use convoke_core::{AgentId, ExecutorError, TaskOutput};
use convoke_registry::TeamHandle;

use super::field::Field;
use crate::{Answer, Resolver, ResolverContext, Results, Verdict};

/// How many candidates the notes list at most: they are committed with the verdict, and who ranks may rank many.
const LISTED: usize = 100;

/// How many bytes of candidates the notes list at most.
const LISTED_BYTES: usize = 64 * 1024;

/// Finds the candidate that the rankings of all agree on best, by Borda's count; decides when all are in.
///
/// Each output is a ranking: a JSON array of candidates, the best first, in the data or in the text. With *n* candidates
/// in all rankings together, the first of a ranking gets *n* − 1 points, the second *n* − 2, and so on (J.-C. de Borda,
/// "Mémoire sur les élections au scrutin", 1784). Candidates that a ranking leaves out share the points that are left
/// equally, so that each ranking gives as many points in all.
///
/// The candidate with the most points wins, whether or not anybody ranks it first. Two that share the most are a tie, which
/// is not reached. An output that is no ranking, is empty, or ranks a candidate twice, is a spoilt ballot and gives no points.
/// The verdict rests on those that rank the winner first: on nobody where it is everybody's second.
///
/// In the summary, `notes.points` has the points of the first hundred candidates, of fewer where they take more than 64 KiB,
/// `notes.candidates` says how many there are.
///
/// Who ranks candidates that the others do not know changes how far apart all others are, as in any count of points: name
/// the candidates in the task.
#[derive(Clone, Debug, Default)]
pub struct Ranked(Field);

impl Ranked {
    /// Reads the whole output as a ranking.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the ranking at `pointer`, a JSON pointer (RFC 6901).
    #[must_use]
    pub fn with_field(mut self, pointer: impl Into<String>) -> Self {
        self.0 = Field::new(pointer);
        self
    }

    /// The ranking in an output; none where it is spoilt.
    fn ranking(&self, output: &TaskOutput) -> Option<Vec<Answer>> {
        let Value::Array(candidates) = self.0.read(output)? else { return None };
        let ranking: Vec<_> = candidates.into_iter().map(Answer::value).collect();
        let mut seen = HashSet::new();
        (!ranking.is_empty() && ranking.iter().all(|candidate| seen.insert(candidate))).then_some(ranking)
    }
}

impl Resolver for Ranked {
    async fn resolve(&self, results: Results, _ctx: ResolverContext) -> Result<Verdict, ExecutorError> {
        let (mut rankings, mut spoilt) = (Vec::new(), Vec::new());
        for (agent, output) in results.successes() {
            match self.ranking(output) {
                Some(ranking) => rankings.push((agent, ranking)),
                None => spoilt.push(agent.clone()),
            }
        }
        let points = half_points(&rankings);
        let candidates = points.len();
        let points = first_of(points);
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
        let listed = short(&points).map(
            |(candidate, points)| json!({ "candidate": candidate.data(), "points": whole_or_half(*points) }),
        );
        Ok(verdict
            .with_note("points", listed.collect::<Vec<_>>())
            .with_note("candidates", candidates)
            .with_spoilt(spoilt))
    }

    fn check(&self, _participants: &[AgentId], _team: &TeamHandle) -> Result<(), Cow<'static, str>> {
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

/// The candidates with the most points, at most [`LISTED`].
fn first_of(points: HashMap<&Answer, u64>) -> Vec<(&Answer, u64)> {
    let mut points: Vec<_> = points.into_iter().collect();
    // A string and a value may have one text (`"1"` and `1`): told apart, so that the list is the same each time.
    let key = |(candidate, points): &(&Answer, u64)| {
        let is_string = candidate.data().is_some_and(Value::is_string);
        (Reverse(*points), candidate.as_text().to_owned(), is_string)
    };
    if points.len() > LISTED {
        points.select_nth_unstable_by_key(LISTED, key);
        points.truncate(LISTED);
    }
    points.sort_by_cached_key(key);
    points
}

/// As many of the first as the notes have bytes for.
fn short<'a, 'b>(points: &'b [(&'a Answer, u64)]) -> impl Iterator<Item = &'b (&'a Answer, u64)> {
    let mut left = LISTED_BYTES;
    points.iter().take_while(move |(candidate, _)| match left.checked_sub(candidate.as_text().len()) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    })
}

fn whole_or_half(half_points: u64) -> Value {
    if half_points.is_multiple_of(2) {
        return json!(half_points / 2);
    }
    #[expect(clippy::cast_precision_loss, reason = "a number of points is far below 2^53")]
    let points = half_points as f64 / 2.0;
    json!(points)
}
