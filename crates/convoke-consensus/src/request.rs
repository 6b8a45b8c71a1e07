//! What is to be agreed on, by whom, and how.

use std::sync::Arc;

use serde_json::{Value, json};

use convoke_core::{AgentId, IdError, TaskRequest};

use crate::{
    Agreement, AnyResolver, Basis, ConsensusEvent, ConsensusObserver, ExactOutput, Resolver, Rules,
    event::{FunctionObserver, Observer},
};

/// When a consensus is decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Decide {
    /// When each participant has ended. At the deadline what is certain by then is decided all the same.
    #[default]
    AfterAll,
    /// As soon as no ballot to come can change it; the participants that still run are stopped. For resolvers that count.
    Early,
}

/// What is to be agreed on, by whom, and how.
///
/// Everything but the task has a default: every available agent with the task's skills is asked, one success is enough, and
/// a strict majority of the successful ones must give the same output.
///
/// ```
/// use convoke_consensus::{Agreement, ConsensusRequest, Decide, JsonField};
/// use convoke_core::TaskRequest;
///
/// let request = ConsensusRequest::new(TaskRequest::new("Ship 1.4?").requiring("review"))
///     .with_participants(["ada", "bob", "cy"])
///     .with_agreement(Agreement::AtLeast(2))
///     .with_decide(Decide::Early)
///     .with_resolver(JsonField::new("/verdict"));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ConsensusRequest {
    /// What each participant is asked. Its id and its session are those of the consensus, its timeout is the deadline of all,
    /// and its skills are what a participant must have. It names no preferred agent, and answers no pause.
    pub task: TaskRequest,
    /// Who is asked; every available agent with the required skills where it is empty. One that is not registered, lacks a skill
    /// or is not available counts as a participant that failed. A task that asks for a consensus is a participant too where it
    /// fits, and then fails as such, since it waits for the verdict: name the others to leave it out.
    pub participants: Vec<AgentId>,
    /// How many participants must succeed; 1 unless set.
    pub minimum_successful_agents: usize,
    /// How many votes an answer needs; a strict majority unless set. For resolvers that count: others decide by a rule of
    /// their own, and anything but the default refuses the consensus.
    pub agreement: Agreement,
    /// What a majority is counted of; the successful participants unless set. As [`agreement`](Self::agreement).
    pub basis: Basis,
    /// When it is decided; after all unless set.
    pub decide: Decide,
    /// What makes a verdict of the answers; [`ExactOutput`] unless set.
    pub resolver: AnyResolver,
    /// Who hears of its start and its end, besides the sink of the runtime.
    pub(crate) observer: Option<Observer>,
    /// The first participant that is no id.
    pub(crate) defect: Option<IdError>,
}

impl ConsensusRequest {
    /// Asks `task` of every available agent that has its skills.
    pub fn new(task: TaskRequest) -> Self {
        let Rules { minimum_successful_agents, agreement, basis } = Rules::new();
        Self {
            task,
            participants: Vec::new(),
            minimum_successful_agents,
            agreement,
            basis,
            decide: Decide::default(),
            resolver: AnyResolver::new(ExactOutput),
            observer: None,
            defect: None,
        }
    }

    /// Adds participants. What is no id is kept, and refuses the consensus with `invalid_request`.
    #[must_use]
    pub fn with_participants<I>(mut self, participants: impl IntoIterator<Item = I>) -> Self
    where
        I: TryInto<AgentId>,
        I::Error: Into<IdError>,
    {
        for participant in participants {
            match participant.try_into() {
                Ok(participant) => self.participants.push(participant),
                Err(error) => _ = self.defect.get_or_insert(error.into()),
            }
        }
        self
    }

    /// Sets how many participants must succeed.
    #[must_use]
    pub fn with_minimum_successful_agents(mut self, minimum: usize) -> Self {
        self.minimum_successful_agents = minimum;
        self
    }

    /// Sets how many votes an answer needs.
    #[must_use]
    pub fn with_agreement(mut self, agreement: Agreement) -> Self {
        self.agreement = agreement;
        self
    }

    /// Sets what a majority is counted of.
    #[must_use]
    pub fn with_basis(mut self, basis: Basis) -> Self {
        self.basis = basis;
        self
    }

    /// Sets when it is decided.
    #[must_use]
    pub fn with_decide(mut self, decide: Decide) -> Self {
        self.decide = decide;
        self
    }

    /// Sets what makes a verdict of the answers.
    #[must_use]
    pub fn with_resolver(mut self, resolver: impl Resolver) -> Self {
        self.resolver = AnyResolver::new(resolver);
        self
    }

    /// Tells `observer` of the start and the end.
    #[must_use]
    pub fn with_observer(mut self, observer: impl ConsensusObserver) -> Self {
        self.observer = Some(Observer(Arc::new(observer)));
        self
    }

    /// Calls `observe` at the start and at the end.
    #[must_use]
    pub fn on_event(self, observe: impl Fn(&ConsensusEvent) + Send + Sync + 'static) -> Self {
        self.with_observer(FunctionObserver(observe))
    }

    /// What makes another consensus of the same task, in a form that goes into its digest.
    pub(crate) fn digested(&self) -> Value {
        let mut participants: Vec<_> = self.participants.iter().map(AgentId::as_str).collect();
        participants.sort_unstable();
        let agreement = match self.agreement {
            Agreement::StrictMajority => json!("strict_majority"),
            Agreement::AtLeast(least) => json!({ "at_least": least }),
        };
        let basis = match self.basis {
            Basis::Successful => "successful",
            Basis::Participants => "participants",
        };
        json!({
            "participants": participants,
            "agreement": agreement,
            "basis": basis,
            "minimum_successful_agents": self.minimum_successful_agents,
        })
    }

    pub(crate) fn rules(&self) -> Rules {
        Rules {
            minimum_successful_agents: self.minimum_successful_agents,
            agreement: self.agreement,
            basis: self.basis,
        }
    }
}
