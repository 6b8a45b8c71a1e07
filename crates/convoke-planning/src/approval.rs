//! Who may hold a step back: a hook that is asked about each, and a provider that asks people.

use std::{fmt, pin::Pin, sync::Arc};

use convoke_core::Metadata;

use crate::{
    BoxError, Plan, PlanStep, StepIndex,
    machine::{HookDecision, RequestId, StepInput},
};

/// A step that is ready, and what its next attempt would get.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StepRequest {
    pub(crate) plan: Plan,
    pub(crate) index: StepIndex,
    /// Names the request: a digest of step, definition, input, generation and attempt.
    pub id: RequestId,
    /// The input.
    pub input: StepInput,
    /// The attempt that is asked about, from 1.
    pub attempt: u32,
}

impl StepRequest {
    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The step.
    pub fn step(&self) -> &PlanStep {
        self.plan.own_step(self.index)
    }

    /// Where the step is in the plan.
    pub fn index(&self) -> StepIndex {
        self.index
    }
}

/// Decides about each attempt of a step before it starts.
///
/// # Contract
///
/// It is asked about each attempt that nobody has approved yet; at most 16 asks are under way. Work that is not asked
/// about goes on meanwhile.
///
/// # Cancel safety
///
/// The future is dropped where the run ends.
///
/// # Errors
///
/// An error denies the step, with the error as the reason.
///
/// # Panics
///
/// A panic denies the step.
pub trait PolicyHook: Send + Sync + 'static {
    /// Decides.
    fn decide(&self, request: StepRequest) -> impl Future<Output = Result<HookDecision, BoxError>> + Send;
}

impl<F, W> PolicyHook for F
where
    F: Fn(StepRequest) -> W + Send + Sync + 'static,
    W: Future<Output = Result<HookDecision, BoxError>> + Send,
{
    fn decide(&self, request: StepRequest) -> impl Future<Output = Result<HookDecision, BoxError>> + Send {
        self(request)
    }
}

/// What somebody says of a step that waits for an approval.
#[derive(Clone, Debug, PartialEq)]
pub enum ApprovalDecision {
    /// It may start; the metadata is kept on the step.
    Approve(Metadata),
    /// It may not, for this reason.
    Deny(String),
    /// There is no answer yet: the gate stays open, for [`PlanHandle::approve`](crate::PlanHandle::approve), a later run, or
    /// another process.
    Later,
}

/// Asks whoever may approve steps.
///
/// # Contract
///
/// It is asked once in a run for each request that is open; at most 16 asks are under way. An approval covers one attempt
/// and its repeats after an interruption.
///
/// # Cancel safety
///
/// The future is dropped where the run ends, and where somebody else has answered.
///
/// # Errors
///
/// An error is [`Later`](ApprovalDecision::Later): the gate stays open.
///
/// # Panics
///
/// The same as an error.
pub trait ApprovalProvider: Send + Sync + 'static {
    /// Asks.
    fn ask(&self, request: StepRequest) -> impl Future<Output = Result<ApprovalDecision, BoxError>> + Send;
}

impl<F, W> ApprovalProvider for F
where
    F: Fn(StepRequest) -> W + Send + Sync + 'static,
    W: Future<Output = Result<ApprovalDecision, BoxError>> + Send,
{
    fn ask(&self, request: StepRequest) -> impl Future<Output = Result<ApprovalDecision, BoxError>> + Send {
        self(request)
    }
}

type Asked<T> = Pin<Box<dyn Future<Output = Result<T, BoxError>> + Send>>;

macro_rules! any {
    ($(#[$doc:meta])* $name:ident, $contract:ident::$method:ident -> $answer:ty, $erased:ident) => {
        $(#[$doc])*
        #[derive(Clone)]
        pub struct $name(Arc<dyn $erased>);

        impl $name {
            /// Wraps one.
            pub fn new(wrapped: impl $contract) -> Self {
                Self(Arc::new(wrapped))
            }
        }

        impl $contract for $name {
            fn $method(
                &self,
                request: StepRequest,
            ) -> impl Future<Output = Result<$answer, BoxError>> + Send {
                Arc::clone(&self.0).boxed(request)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }

        trait $erased: Send + Sync {
            fn boxed(self: Arc<Self>, request: StepRequest) -> Asked<$answer>;
        }

        impl<T: $contract> $erased for T {
            fn boxed(self: Arc<Self>, request: StepRequest) -> Asked<$answer> {
                Box::pin(async move { self.$method(request).await })
            }
        }
    };
}

any!(
    /// Any [`PolicyHook`] as one type. Cloning shares it.
    AnyPolicyHook, PolicyHook::decide -> HookDecision, ErasedHook
);
any!(
    /// Any [`ApprovalProvider`] as one type. Cloning shares it.
    AnyApprovalProvider, ApprovalProvider::ask -> ApprovalDecision, ErasedProvider
);
