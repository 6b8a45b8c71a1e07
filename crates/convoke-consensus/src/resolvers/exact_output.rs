//! Votes are whole outputs.

use convoke_core::ExecutorError;

use crate::{Answer, Counting, Resolver, ResolverContext, Results, Verdict};

/// Counts outputs whose text and data are the same; can decide early. The default.
///
/// For short, closed answers: `yes`, `no`, a label, a number. The verdict is the output that was agreed on. A tie is not
/// reached. What else an output has (artifacts, messages, metadata) is neither compared nor part of the verdict.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExactOutput;

impl Resolver for ExactOutput {
    async fn resolve(&self, results: Results, _ctx: ResolverContext) -> Result<Verdict, ExecutorError> {
        Ok(results.count(&exact()))
    }

    fn counting(&self) -> Option<Counting> {
        Some(exact())
    }
}

fn exact() -> Counting {
    Counting::new(|output| Some(Answer::of(output)))
}
