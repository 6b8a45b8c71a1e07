//! Votes that do not weigh the same.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use convoke_core::{AgentId, ExecutorError, IdError};
use convoke_registry::TeamHandle;

use super::field::Field;
use crate::{Answer, Counting, Resolver, ResolverContext, Results, Verdict};

/// Counts outputs, or a field of them, by the weight of who gives them; can decide early.
///
/// For voters that are not equally good. Majorities are of weight, and [`AtLeast`](crate::Agreement::AtLeast) is a weight;
/// the minimum of successes is by head. Weights are whole numbers: what only counts as a fraction is scaled up. Answers of
/// the same weight are a tie, which is not reached. A participant without a weight refuses the consensus with
/// `invalid_request`, unless [`with_default_weight`](Self::with_default_weight) says what it weighs; so does a team that weighs nothing. Weights
/// of agents that do not take part play no part.
///
/// ```
/// use convoke_consensus::Weighted;
///
/// let resolver = Weighted::new([("senior", 3), ("junior", 1)]).with_field("/verdict").with_default_weight(1);
/// ```
#[derive(Clone, Debug)]
pub struct Weighted {
    weights: Arc<BTreeMap<AgentId, u32>>,
    otherwise: Option<u32>,
    field: Option<Field>,
    defect: Option<IdError>,
}

impl Weighted {
    /// What each agent's vote weighs; 0 lets it answer without a vote. Of several weights of one agent the last counts.
    pub fn new<I>(weights: impl IntoIterator<Item = (I, u32)>) -> Self
    where
        I: TryInto<AgentId>,
        I::Error: Into<IdError>,
    {
        let mut defect = None;
        let mut known = BTreeMap::new();
        for (agent, weight) in weights {
            match agent.try_into() {
                Ok(agent) => _ = known.insert(agent, weight),
                Err(error) => _ = defect.get_or_insert(error.into()),
            }
        }
        Self { weights: Arc::new(known), otherwise: None, field: None, defect }
    }

    /// What an agent weighs that has no weight of its own.
    #[must_use]
    pub fn with_default_weight(mut self, weight: u32) -> Self {
        self.otherwise = Some(weight);
        self
    }

    /// Counts the field at `pointer` and not the whole output, as [`JsonField`](crate::JsonField) does.
    #[must_use]
    pub fn with_field(mut self, pointer: impl Into<String>) -> Self {
        self.field = Some(Field::new(pointer));
        self
    }

    fn weight(&self, agent: &AgentId) -> Option<u32> {
        self.weights.get(agent).copied().or(self.otherwise)
    }

    fn weighed(&self) -> Counting {
        let field = self.field.clone();
        let counting = Counting::new(move |output| match &field {
            Some(field) => field.answer(output),
            None => Some(Answer::of(output)),
        });
        let weights = self.clone();
        counting.weighing(move |agent| weights.weight(agent).unwrap_or(0))
    }
}

impl Resolver for Weighted {
    async fn resolve(&self, results: Results, _ctx: ResolverContext) -> Result<Verdict, ExecutorError> {
        Ok(results.count(&self.weighed()))
    }

    fn counting(&self) -> Option<Counting> {
        Some(self.weighed())
    }

    fn check(&self, participants: &[AgentId], _team: &TeamHandle) -> Result<(), Cow<'static, str>> {
        if let Some(defect) = &self.defect {
            return Err(format!("weights: {defect}").into());
        }
        if let Some(field) = &self.field {
            field.check()?;
        }
        if let Some(agent) = participants.iter().find(|agent| self.weight(agent).is_none()) {
            return Err(
                format!("participant `{agent}` has no weight; give it one, or set a default weight").into()
            );
        }
        if participants.iter().all(|agent| self.weight(agent) == Some(0)) {
            return Err("no participant weighs anything; give one a weight above 0".into());
        }
        Ok(())
    }
}
