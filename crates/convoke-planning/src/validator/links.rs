//! The edges of a draft, each pair of steps once.

use convoke_core::StepId;

use crate::{
    Dependency, IssueCode, StepDraft, StepIndex, Wait,
    graph::Link,
    quoted::quoted,
    validator::{
        check::{Check, Subject},
        ids::StepIds,
    },
};

pub(super) struct Links {
    links: Vec<Link>,
    /// Of each step, the last link that comes from it. It is of the step in hand if its target is.
    last: Vec<Option<usize>>,
}

impl Links {
    pub(super) fn new(steps: usize) -> Self {
        Self { links: Vec::new(), last: vec![None; steps] }
    }

    /// Collects the edges into a step, and gives the steps that it names by the ids that they share. Steps come in plan order.
    pub(super) fn of_step(
        &mut self,
        check: &mut Check<'_>,
        ids: &StepIds,
        target: StepIndex,
        draft: &StepDraft,
    ) -> Sources {
        let subject = Subject { position: target.row(), id: &draft.id };
        let mut sources = Sources::default();
        for Dependency { step: name, wait } in &draft.depends_on {
            let unknown = (IssueCode::UnknownDependency, "waits for");
            if let Some((source, id)) = find(check, ids, subject, name, unknown) {
                self.add(Link { source, target, wait: *wait });
                sources.depends_on.push(Dependency { step: id, wait: *wait });
            }
        }
        for name in &draft.input_from {
            let unknown = (IssueCode::UnknownInputSource, "takes input from");
            if let Some((source, id)) = find(check, ids, subject, name, unknown) {
                if self.link(source, target).is_none() {
                    self.add(Link { source, target, wait: Wait::Completed });
                }
                sources.input_from.push(id);
            }
        }
        sources
    }

    pub(super) fn into_links(self) -> Vec<Link> {
        self.links
    }

    fn link(&self, source: StepIndex, target: StepIndex) -> Option<usize> {
        let last = self.last.get(source.row()).copied().flatten()?;
        self.links.get(last).is_some_and(|link| link.target == target).then_some(last)
    }

    /// Of two edges between the same steps, the stricter stands.
    fn add(&mut self, link: Link) {
        if let Some(known) = self.link(link.source, link.target) {
            if let Some(known) = self.links.get_mut(known) {
                known.wait = known.wait.min(link.wait);
            }
            return;
        }
        if let Some(last) = self.last.get_mut(link.source.row()) {
            *last = Some(self.links.len());
        }
        self.links.push(link);
    }
}

/// What a step waits for, in the order in which it is named.
#[derive(Default)]
pub(super) struct Sources {
    pub(super) depends_on: Vec<Dependency>,
    pub(super) input_from: Vec<StepId>,
}

/// The step that is named; none where that is nobody, or the one that names it.
fn find(
    check: &mut Check<'_>,
    ids: &StepIds,
    target: Subject<'_>,
    name: &str,
    (unknown, verb): (IssueCode, &str),
) -> Option<(StepIndex, StepId)> {
    let Some((id, source)) = ids.find(name) else {
        let what = format!("{verb} {}, which is not there; name a step of the plan", quoted(name));
        check.of_step(unknown, target, &what);
        return None;
    };
    // A second step of the same id means the first by that name.
    if source.row() == target.position {
        check.of_step(IssueCode::SelfDependency, target, "waits for itself; take that away");
        return None;
    }
    Some((source, id.clone()))
}
