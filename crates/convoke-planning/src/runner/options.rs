//! What is run, and how.

use convoke_core::{PlanId, Scope};
use tokio_util::sync::CancellationToken;

use crate::{Plan, PlanningRequest};

/// What a runner is to do.
#[derive(Clone, Debug)]
pub enum PlanWork {
    /// Have a plan made for a goal, and run it.
    Goal(Box<PlanningRequest>),
    /// Run a plan from its beginning.
    Plan(Plan),
    /// Go on with a plan that the journal has.
    Stored(PlanId),
}

impl From<PlanningRequest> for PlanWork {
    fn from(request: PlanningRequest) -> Self {
        Self::Goal(Box::new(request))
    }
}

impl From<Plan> for PlanWork {
    fn from(plan: Plan) -> Self {
        Self::Plan(plan)
    }
}

impl From<PlanId> for PlanWork {
    fn from(plan: PlanId) -> Self {
        Self::Stored(plan)
    }
}

/// How a plan is run this time.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RunOptions {
    /// Signalled to end the run. A token of its own unless set.
    pub cancellation: Option<CancellationToken>,
    /// Whether failed steps are tried again first, but for those whose work may still run. `false` unless set.
    pub retry_failed: bool,
    /// Whose work this is: its token, deadline, budget and trace reach the steps. The scope of the task that asks unless
    /// set, so that a plan within an agent's task ends before that does.
    pub scope: Option<Scope>,
}

impl RunOptions {
    /// The usual ones.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the run when the token is signalled.
    #[must_use]
    pub fn with_cancellation(mut self, token: CancellationToken) -> Self {
        self.cancellation = Some(token);
        self
    }

    /// Tries failed steps again.
    #[must_use]
    pub fn retrying_failed(mut self) -> Self {
        self.retry_failed = true;
        self
    }

    /// Says whose work this is.
    #[must_use]
    pub fn in_scope(mut self, scope: Scope) -> Self {
        self.scope = Some(scope);
        self
    }

    /// The scope that the run works in, and the token that ends it.
    pub(super) fn into_scope(self) -> Scope {
        let outer = self.scope.or_else(Scope::current);
        let token = match &outer {
            Some(outer) => outer.cancellation().child_token(),
            None => CancellationToken::new(),
        };
        if let Some(cancellation) = self.cancellation {
            // Whoever drops the run drops this too.
            let stop = token.clone();
            tokio::spawn(async move {
                tokio::select! {
                    () = cancellation.cancelled() => stop.cancel(),
                    () = stop.cancelled() => {}
                }
            });
        }
        // All but the token stays: nested work that the steps ask for is recognised by what the outer scope carries.
        outer.unwrap_or_else(Scope::root).with_cancellation(token)
    }
}
