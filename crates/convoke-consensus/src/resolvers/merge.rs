//! A verdict that is made of all answers.

use std::fmt;

use convoke_core::{ExecutorError, TaskOutput};

use crate::{Resolver, ResolverContext, Results, Verdict};

/// Makes one output of all, by a function; decides when all are in.
///
/// For answers that add up and cannot contradict each other: findings, sources, parts of a text. There are no ties, and
/// the verdict rests on all that succeeded. Where nobody did there is nothing to merge, and the function is not called. It must
/// not block; its error fails the consensus with `execution_failed`, and so does its panic.
///
/// ```
/// use convoke_consensus::Merge;
///
/// let all_findings = Merge::new(|results| {
///     let texts: Vec<_> = results.successes().map(|(agent, output)| format!("{agent}: {}", output.text)).collect();
///     Ok(texts.join("\n").into())
/// });
/// ```
pub struct Merge<F>(F);

impl<F> Merge<F>
where
    F: Fn(&Results) -> Result<TaskOutput, ExecutorError> + Send + Sync + 'static,
{
    /// Merges by `merge`, which sees failures too.
    pub fn new(merge: F) -> Self {
        Self(merge)
    }
}

impl<F> Resolver for Merge<F>
where
    F: Fn(&Results) -> Result<TaskOutput, ExecutorError> + Send + Sync + 'static,
{
    async fn resolve(&self, results: Results, _ctx: ResolverContext) -> Result<Verdict, ExecutorError> {
        let voters: Vec<_> = results.successes().map(|(agent, _)| agent.clone()).collect();
        if voters.is_empty() {
            return Ok(Verdict::not_reached("nobody answered"));
        }
        Ok(Verdict::agreed((self.0)(&results)?).by(voters))
    }
}

impl<F> fmt::Debug for Merge<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Merge").finish_non_exhaustive()
    }
}
