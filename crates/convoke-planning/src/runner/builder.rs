//! How a runner is made.

use std::{fmt, sync::Arc, time::Duration};

use convoke_core::{AgentId, AnyJournal, Journal, OwnerId};
use convoke_observability::{AnySink, EventIds, EventSink};
use uuid::Uuid;

use crate::{
    AnyApprovalProvider, AnyPlanner, AnyPolicyHook, AnyReflector, AnyStepExecutor, ApprovalProvider,
    KnownTool, PlanNormalizer, PlanObserver, PlanPolicy, PlanRunner, PlanValidator, Planner, PolicyHook,
    PriorityScorer, Reflector, StepExecutor,
    machine::Durability,
    observer::AnyObserver,
    runner::{Settings, clock::WallClock},
};

/// How long a claim lasts where claims end by time, unless set.
const CLAIM_TTL: Duration = Duration::from_secs(30);

/// Why a runner cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanRunnerBuildError {
    /// There is nobody to do the work.
    #[error("runner has no executor; give it one")]
    NoExecutor,
    /// A claim would end at once.
    #[error("claim time is zero; give one above it, or leave it out for 30 s")]
    NoClaimTime,
    /// The policy lets a planner revise, and there is none.
    #[error("policy allows replanning and runner has no planner; give it one, or allow none")]
    NoPlanner,
}

/// Makes a [`PlanRunner`].
#[derive(Default)]
#[must_use = "nothing is made before it is built"]
pub struct PlanRunnerBuilder {
    policy: PlanPolicy,
    executor: Option<AnyStepExecutor>,
    planner: Option<AnyPlanner>,
    hook: Option<AnyPolicyHook>,
    provider: Option<AnyApprovalProvider>,
    reflector: Option<AnyReflector>,
    scorer: Option<Arc<dyn PriorityScorer>>,
    journal: Option<AnyJournal>,
    durability: Durability,
    owner: Option<OwnerId>,
    claim_ttl: Option<Duration>,
    observers: Vec<AnyObserver>,
    sink: Option<AnySink>,
    tools: Option<Vec<KnownTool>>,
    agents: Option<Vec<AgentId>>,
    normalizer: Option<PlanNormalizer>,
    wall: WallClock,
    seed: Option<u64>,
}

impl PlanRunnerBuilder {
    /// Who does the work of steps. There must be one.
    pub fn executor(mut self, executor: impl StepExecutor) -> Self {
        self.executor = Some(AnyStepExecutor::new(executor));
        self
    }

    /// How plans may run; [`PlanPolicy::default`] unless set.
    pub fn policy(mut self, policy: PlanPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Who makes plans for goals, and revises them where the policy allows it. None unless set.
    pub fn planner(mut self, planner: impl Planner) -> Self {
        self.planner = Some(AnyPlanner::new(planner));
        self
    }

    /// Who decides about each attempt before it starts. None unless set.
    pub fn hook(mut self, hook: impl PolicyHook) -> Self {
        self.hook = Some(AnyPolicyHook::new(hook));
        self
    }

    /// Who is asked to approve. Unless set, gates stay open, and the run ends when nothing else is left.
    pub fn approvals(mut self, provider: impl ApprovalProvider) -> Self {
        self.provider = Some(AnyApprovalProvider::new(provider));
        self
    }

    /// Who looks at outputs before steps are completed. None unless set.
    pub fn reflector(mut self, reflector: impl Reflector) -> Self {
        self.reflector = Some(AnyReflector::new(reflector));
        self
    }

    /// Who says what a step is worth; the weights of the policy unless set.
    pub fn scorer(mut self, scorer: impl PriorityScorer) -> Self {
        self.scorer = Some(Arc::new(scorer));
        self
    }

    /// Where plans are kept. Unless set, a run is gone with the process, and nothing is resumed.
    pub fn journal(mut self, journal: impl Journal) -> Self {
        self.journal = Some(AnyJournal::new(journal));
        self
    }

    /// When records become durable; strictly unless set.
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Under which name the runner claims plans; a random one unless set. Two runners of one name take plans from each
    /// other, which is for a process that comes back under its name, and for nothing else.
    pub fn owner(mut self, owner: OwnerId) -> Self {
        self.owner = Some(owner);
        self
    }

    /// How long a claim lasts that is not renewed, where the journal's claims end by time; 30 s unless set. It is renewed
    /// after a third of that.
    pub fn claim_ttl(mut self, ttl: Duration) -> Self {
        self.claim_ttl = Some(ttl);
        self
    }

    /// Tells an observer what happens. There may be several.
    pub fn observer(mut self, observer: impl PlanObserver) -> Self {
        self.observers.push(AnyObserver(Arc::new(observer)));
        self
    }

    /// Publishes what happens as common events.
    pub fn event_sink(mut self, sink: impl EventSink) -> Self {
        self.sink = Some(AnySink::new(sink));
        self
    }

    /// Names all the tools that steps may use: a plan with another is refused. Any unless set.
    pub fn tools(mut self, tools: impl IntoIterator<Item = KnownTool>) -> Self {
        self.tools.get_or_insert_default().extend(tools);
        self
    }

    /// Names all the agents that steps may ask for: a plan with another is refused. Any unless set.
    pub fn agents(mut self, agents: impl IntoIterator<Item = AgentId>) -> Self {
        self.agents.get_or_insert_default().extend(agents);
        self
    }

    /// Repairs what the planner gives before it is checked. Nothing is repaired unless set.
    pub fn normalizer(mut self, normalizer: PlanNormalizer) -> Self {
        self.normalizer = Some(normalizer);
        self
    }

    /// Tells the time of day, in milliseconds since 1970-01-01T00:00:00Z; the system's clock unless set, and
    /// where this one panics.
    pub fn wall_clock(mut self, unix_millis: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        self.wall = WallClock(Arc::new(unix_millis));
        self
    }

    /// Sets what the random part of waits between attempts comes from; random unless set.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Makes the runner.
    ///
    /// # Errors
    ///
    /// [`PlanRunnerBuildError`].
    pub fn build(self) -> Result<PlanRunner, PlanRunnerBuildError> {
        let executor = self.executor.ok_or(PlanRunnerBuildError::NoExecutor)?;
        let claim_ttl = self.claim_ttl.unwrap_or(CLAIM_TTL);
        if claim_ttl.is_zero() {
            return Err(PlanRunnerBuildError::NoClaimTime);
        }
        if self.policy.max_replans().is_some() && self.planner.is_none() {
            return Err(PlanRunnerBuildError::NoPlanner);
        }
        let mut validator = PlanValidator::new(&self.policy);
        if let Some(tools) = &self.tools {
            validator = validator.with_tools(tools.iter().cloned());
        }
        if let Some(agents) = &self.agents {
            validator = validator.with_agents(agents.iter().cloned());
        }
        let name = Uuid::new_v4();
        Ok(PlanRunner::new(Settings {
            executor,
            planner: self.planner,
            hook: self.hook,
            provider: self.provider,
            reflector: self.reflector,
            scorer: self.scorer,
            journal: self.journal,
            durability: self.durability,
            owner: self.owner.unwrap_or_else(OwnerId::random),
            claim_ttl,
            observers: self.observers,
            sink: self.sink.map(|sink| (sink, EventIds::new(name.to_string()))),
            tools: self.tools.unwrap_or_default(),
            agents: self.agents.unwrap_or_default(),
            validator,
            normalizer: self.normalizer,
            wall: self.wall,
            seed: self.seed.unwrap_or_else(|| name.as_u64_pair().0),
            policy: self.policy,
        }))
    }
}

impl fmt::Debug for PlanRunnerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlanRunnerBuilder").field("policy", &self.policy).finish_non_exhaustive()
    }
}
