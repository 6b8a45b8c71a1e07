//! Votes are one field of outputs.

use std::borrow::Cow;

use convoke_core::{AgentId, ExecutorError};
use convoke_registry::TeamHandle;

use super::field::Field;
use crate::{Counting, Resolver, ResolverContext, Results, Verdict};

/// Counts the value of one field of the outputs; can decide early.
///
/// For answers with a reason beside the vote: `{"verdict": "ship", "because": ".."}` at `/verdict`. The field is looked for in
/// the output's data, or in its text read as JSON where there is no data. The verdict is the value that was agreed on, as
/// data and as text. A tie is not reached; an output without the field is a spoilt ballot: a success that votes for nothing.
/// A field that is `null` is a vote for `null`.
#[derive(Clone, Debug)]
pub struct JsonField(Field);

impl JsonField {
    /// Counts what stands at `pointer`, a JSON pointer (RFC 6901): `/verdict`, `/checks/0/result`; the whole where it is
    /// empty. One that is no pointer refuses the consensus with `invalid_request`.
    pub fn new(pointer: impl Into<String>) -> Self {
        Self(Field::new(pointer))
    }

    fn by_field(&self) -> Counting {
        let field = self.0.clone();
        Counting::new(move |output| field.answer(output))
    }
}

impl Resolver for JsonField {
    async fn resolve(&self, results: Results, _ctx: ResolverContext) -> Result<Verdict, ExecutorError> {
        Ok(results.count(&self.by_field()))
    }

    fn counting(&self) -> Option<Counting> {
        Some(self.by_field())
    }

    fn check(&self, _participants: &[AgentId], _team: &TeamHandle) -> Result<(), Cow<'static, str>> {
        Ok(self.0.check()?)
    }
}
