//! The graphs that the benchmarks of plans run: as a plan, and as the bare lists that its floor works on.

use std::collections::VecDeque;

use anyhow::{Context as _, Result};

use convoke_planning::{Plan, PlanDraft, PlanPolicy, PlanValidator, StepDraft};

/// Who waits for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Each waits for the one before.
    Chain,
    /// Nobody waits.
    Wide,
    /// As many layers as there are steps in one; each waits for two of the layer before, chosen at random.
    Layered,
}

impl Shape {
    /// The steps that each one of so many waits for.
    fn dependencies(self, steps: u32) -> impl Iterator<Item = Vec<u32>> {
        let width = steps.isqrt().max(1);
        let mut random = Random(1);
        (0..steps).map(move |step| match self {
            Self::Wide => vec![],
            Self::Chain => step.checked_sub(1).into_iter().collect(),
            Self::Layered => {
                let Some(before) = (step / width * width).checked_sub(width) else { return vec![] };
                let mut chosen = [before + random.below(width), before + random.below(width)];
                chosen.sort_unstable();
                if let [first, second] = chosen
                    && first == second
                {
                    vec![first]
                } else {
                    chosen.to_vec()
                }
            }
        })
    }

    /// A plan of this shape. Nothing flows along its edges.
    pub(super) fn plan(self, units: usize) -> Result<Plan> {
        let steps = u32::try_from(units).context("a plan has fewer steps")?;
        let draft = self.dependencies(steps).zip(0_u32..).map(|(dependencies, step)| {
            let step = StepDraft::new(format!("s{step}")).titled("x");
            dependencies.iter().fold(step, |step, before| step.after(format!("s{before}")))
        });
        let policy = PlanPolicy::builder().max_steps(steps).build()?;
        Ok(PlanValidator::new(&policy).validate(PlanDraft::new("nothing").with_steps(draft))?)
    }

    /// A graph of this shape.
    pub(super) fn graph(self, units: usize) -> Result<Graph> {
        let steps = u32::try_from(units).context("a graph has fewer steps")?;
        let mut waits = vec![0; units];
        let mut starts = vec![0; units + 1];
        let mut edges = Vec::new();
        for ((dependencies, step), waits) in self.dependencies(steps).zip(0_u32..).zip(&mut waits) {
            *waits = u32::try_from(dependencies.len())?;
            edges.extend(dependencies.into_iter().map(|before| (before, step)));
        }
        edges.sort_unstable();
        for (before, _) in &edges {
            if let Some(start) = starts.get_mut(usize::try_from(*before)? + 1) {
                *start += 1;
            }
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let dependents = edges.into_iter().map(|(_, step)| step).collect();
        Ok(Graph { waits, starts, dependents })
    }
}

/// Who waits for whom, and for how many: four bytes an edge, eight and four a step.
pub(super) struct Graph {
    /// For how many each step waits.
    pub(super) waits: Vec<u32>,
    /// Where the dependents of each step begin.
    starts: Vec<usize>,
    dependents: Vec<u32>,
}

impl Graph {
    /// Takes the end of a step, and queues those that do not wait any more.
    pub(super) fn end(&mut self, step: usize, ready: &mut VecDeque<usize>) {
        let Self { waits, starts, dependents } = self;
        for later in dependents_of(starts, dependents, step) {
            let Ok(later) = usize::try_from(*later) else { continue };
            let Some(waits) = waits.get_mut(later) else { continue };
            *waits = waits.saturating_sub(1);
            if *waits == 0 {
                ready.push_back(later);
            }
        }
    }

    /// Who waits for a step.
    #[cfg(test)]
    fn dependents(&self, step: usize) -> &[u32] {
        dependents_of(&self.starts, &self.dependents, step)
    }
}

fn dependents_of<'a>(starts: &[usize], dependents: &'a [u32], step: usize) -> &'a [u32] {
    let range = || Some(*starts.get(step)?..*starts.get(step + 1)?);
    range().and_then(|range| dependents.get(range)).unwrap_or_default()
}

/// The generator of Park and Miller: the same numbers in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u32) -> u32 {
        self.0 = self.0 * 48_271 % 2_147_483_647;
        // A remainder of a number of 32 bits is one.
        u32::try_from(self.0 % u64::from(end)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
