//! One pass over a draft, which keeps every issue that it meets.

use std::{borrow::Cow, collections::HashMap, sync::Arc};

use serde_json::{Map, Value};

use convoke_core::{AgentId, SkillId, StepId};

use crate::{
    IssueCode, PlanIssue, PlanStep, PlanValidator, StepDraft, StepIndex, StepStatus,
    graph::Graph,
    quoted::quoted,
    signals::Sign,
    validator::{
        ids::{Interned, StepIds},
        links::{Links, Sources},
    },
};

pub(super) struct Check<'v> {
    validator: &'v PlanValidator,
    issues: Vec<PlanIssue>,
    tools: Interned<Arc<str>>,
    agents: Interned<AgentId>,
    skills: Interned<SkillId>,
}

/// A step as the issues speak of it.
#[derive(Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) position: usize,
    pub(super) id: &'a str,
}

impl Subject<'_> {
    fn name(self) -> String {
        if self.id.is_empty() {
            format!("step number {}", self.position.saturating_add(1))
        } else {
            format!("step {}", quoted(self.id))
        }
    }
}

type Checked = (Vec<PlanStep>, HashMap<StepId, StepIndex>, Graph);

impl<'v> Check<'v> {
    pub(super) fn new(validator: &'v PlanValidator) -> Self {
        Self {
            validator,
            issues: Vec::new(),
            tools: Interned::default(),
            agents: Interned::default(),
            skills: Interned::default(),
        }
    }

    pub(super) fn into_issues(self) -> Vec<PlanIssue> {
        self.issues
    }

    pub(super) fn of_plan(&mut self, code: IssueCode, message: String) {
        self.issues.push(PlanIssue { code, position: None, step: None, message, path: Vec::new() });
    }

    /// Keeps an issue of a step; `what` goes on from the step's name.
    pub(super) fn of_step(&mut self, code: IssueCode, step: Subject<'_>, what: &str) {
        self.issues.push(PlanIssue {
            code,
            position: Some(step.position),
            step: (!step.id.is_empty()).then(|| step.id.to_owned()),
            message: format!("{} {what}", step.name()),
            path: Vec::new(),
        });
    }

    /// The steps with their places and their graph; `None` where an issue stands in the way of them.
    pub(super) fn steps(&mut self, drafts: Vec<StepDraft>) -> Option<Checked> {
        if drafts.is_empty() {
            self.of_plan(IssueCode::MissingSteps, "plan has no step; give it at least one".into());
        }
        let allowed = self.validator.max_steps;
        if drafts.len() > allowed as usize {
            let message = format!(
                "plan has {} steps and `max_steps` is {allowed}; raise it, or plan in fewer steps",
                drafts.len()
            );
            self.of_plan(IssueCode::TooManySteps, message);
        }
        let size = u32::try_from(drafts.len()).ok()?;

        let of_plan = self.issues.len();
        let ids = StepIds::new(self, &drafts);
        let mut links = Links::new(drafts.len());
        let mut steps = Vec::with_capacity(drafts.len());
        for (index, draft) in (0..size).map(StepIndex::new).zip(drafts) {
            let sources = links.of_step(self, &ids, index, &draft);
            let step = self.step(&ids, index, draft, sources);
            // Of a plan that is refused already, only the issues matter.
            if self.issues.is_empty() {
                steps.extend(step);
            }
        }
        // Those of the ids were met first; a stable sort of two runs takes time with their length.
        if let Some(of_steps) = self.issues.get_mut(of_plan..) {
            of_steps.sort_by_key(|issue| issue.position);
        }

        let Ok(graph) = Graph::new(size, &links.into_links()) else {
            self.of_plan(IssueCode::TooManySteps, "plan has more than 4294967295 edges; name fewer".into());
            return None;
        };
        self.cycles(&ids, &graph);
        self.issues.is_empty().then(|| (steps, ids.into_positions(), graph))
    }

    /// The step, where all that it is made of can be read.
    fn step(
        &mut self,
        ids: &StepIds,
        index: StepIndex,
        draft: StepDraft,
        sources: Sources,
    ) -> Option<PlanStep> {
        let subject = Subject { position: index.row(), id: &draft.id };
        self.content(subject, &draft);
        self.signals(subject, &draft);
        let tool = self.tool(subject, &draft);
        let agent = draft.agent.as_deref().and_then(|text| self.agent(subject, text));
        let required_skills =
            draft.required_skills.iter().filter_map(|text| self.skill(subject, text)).collect();
        Some(PlanStep {
            id: ids.at(index)?.clone(),
            title: draft.title,
            description: draft.description,
            depends_on: sources.depends_on,
            input_from: sources.input_from,
            tool,
            agent,
            required_skills,
            requires_approval: draft.requires_approval,
            input: draft.input,
            data: draft.data,
            metadata: draft.metadata,
            signals: draft.signals,
        })
    }

    fn content(&mut self, subject: Subject<'_>, draft: &StepDraft) {
        let blank =
            [&draft.title, &draft.description, &draft.input].iter().all(|text| text.trim().is_empty());
        if blank && draft.data.is_none() && draft.tool.is_none() && draft.input_from.is_empty() {
            let what = "says nothing of what to do; give it a title, a description, an input or a tool";
            self.of_step(IssueCode::EmptyStep, subject, what);
        }
        if let Some(status) = draft.status.filter(|status| *status != StepStatus::Pending) {
            let what =
                format!("is {status}, and a plan starts with every step pending; take the status away");
            self.of_step(IssueCode::UnexpectedStatus, subject, &what);
        }
    }

    fn signals(&mut self, subject: Subject<'_>, draft: &StepDraft) {
        for (name, number, sign) in draft.signals.numbers() {
            if !number.is_finite() {
                let what = format!("has the signal `{name}` {number}; give a finite number");
                self.of_step(IssueCode::InvalidPrioritySignal, subject, &what);
            } else if sign == Sign::NotNegative && number < 0.0 {
                let what = format!("has the signal `{name}` {number}; give 0 or more");
                self.of_step(IssueCode::NegativePrioritySignal, subject, &what);
            }
        }
    }

    fn tool(&mut self, subject: Subject<'_>, draft: &StepDraft) -> Option<Arc<str>> {
        let name = draft.tool.as_deref()?;
        if name.trim().is_empty() {
            self.of_step(
                IssueCode::UnknownTool,
                subject,
                "has a tool without a name; name it, or leave the tool out",
            );
            return None;
        }
        let tools = self.validator.tools.as_ref();
        let known = tools.and_then(|tools| tools.get(name));
        if tools.is_some() && known.is_none() {
            let what = format!("asks for tool {}, which nobody has; name a known one", quoted(name));
            self.of_step(IssueCode::UnknownTool, subject, &what);
        }
        let checked = tool_input(draft).and_then(|input| match known {
            Some(tool) if draft.input_from.is_empty() => tool.check(&input),
            _ => Ok(()),
        });
        if let Err(reason) = checked {
            let what = format!("gives tool {} an input that it does not take: {reason}", quoted(name));
            self.of_step(IssueCode::InvalidToolInput, subject, &what);
        }
        self.tools.get(name, |name| Some(Arc::from(name)))
    }

    fn agent(&mut self, subject: Subject<'_>, text: &str) -> Option<AgentId> {
        let mut problem = None;
        let id = self.agents.get(text, |text| AgentId::new(text).map_err(|error| problem = Some(error)).ok());
        if let Some(error) = problem {
            self.of_step(IssueCode::InvalidId, subject, &format!("asks for an agent whose {error}"));
        }
        if let (Some(id), Some(agents)) = (&id, &self.validator.agents)
            && !agents.contains(id)
        {
            let what = format!("asks for agent {}, which is not there; name a known one", quoted(text));
            self.of_step(IssueCode::UnknownAgent, subject, &what);
        }
        id
    }

    fn skill(&mut self, subject: Subject<'_>, text: &str) -> Option<SkillId> {
        let mut problem = None;
        let id = self.skills.get(text, |text| SkillId::new(text).map_err(|error| problem = Some(error)).ok());
        if let Some(error) = problem {
            self.of_step(IssueCode::InvalidId, subject, &format!("requires a skill whose {error}"));
        }
        id
    }

    fn cycles(&mut self, ids: &StepIds, graph: &Graph) {
        for cycle in graph.cycles() {
            let path: Vec<StepId> = cycle.iter().filter_map(|step| ids.at(*step)).cloned().collect();
            let first = cycle.first().map(|step| step.row());
            self.issues.push(PlanIssue {
                code: IssueCode::DependencyCycle,
                position: first,
                step: path.first().map(|id| id.as_str().to_owned()),
                message: format!("steps wait for each other: {}; take one of these edges away", told(&path)),
                path,
            });
        }
    }
}

/// What a tool would get: its JSON, else its text read as JSON. Where both are given, both must be objects.
fn tool_input(draft: &StepDraft) -> Result<Cow<'_, Map<String, Value>>, String> {
    let text: Option<Map<String, Value>> = match draft.input.trim() {
        "" => None,
        text => {
            Some(serde_json::from_str(text).map_err(|error| format!("no JSON object ({error}); give one"))?)
        }
    };
    match (&draft.data, text) {
        (Some(Value::Object(data)), _) => Ok(Cow::Borrowed(data)),
        (None | Some(Value::Null), text) => Ok(Cow::Owned(text.unwrap_or_default())),
        (Some(_), _) => Err("data is no JSON object; give one".into()),
    }
}

/// How many steps of a circle a message names.
const TOLD: usize = 12;

fn told(path: &[StepId]) -> String {
    let mut text: Vec<String> = path.iter().take(TOLD).map(|id| quoted(id.as_str())).collect();
    if let Some(more) = path.len().checked_sub(TOLD).filter(|more| *more > 0) {
        text.push(format!("{more} more"));
    }
    text.extend(path.first().map(|id| quoted(id.as_str())));
    text.join(" after ")
}
