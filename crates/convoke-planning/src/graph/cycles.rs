//! Which steps wait for each other in a circle.

use petgraph::algo::{kosaraju_scc, toposort};

use crate::{
    StepIndex,
    graph::{Graph, index},
};

impl Graph {
    /// One circle for each strongly connected component that has one: each step waits for the next, and the last for the
    /// first. They begin with their first step in plan order, and come in that order. Takes time with steps and edges.
    pub(crate) fn cycles(&self) -> Vec<Vec<StepIndex>> {
        if toposort(&self.edges, None).is_ok() {
            return Vec::new();
        }
        let components = kosaraju_scc(&self.edges);
        let mut component_of = vec![0_usize; self.in_degrees.len()];
        for (number, component) in components.iter().enumerate() {
            for member in component {
                if let Some(slot) = component_of.get_mut(member.index()) {
                    *slot = number;
                }
            }
        }
        let same = |a: StepIndex, b: StepIndex| component_of.get(a.row()) == component_of.get(b.row());

        let mut entered = vec![None; self.in_degrees.len()];
        let mut cycles = Vec::new();
        for component in components.iter().filter(|component| component.len() > 1) {
            let Some(start) = component.iter().copied().map(index).min() else { continue };
            cycles.push(self.walk(start, same, &mut entered));
        }
        cycles.sort_unstable();
        cycles
    }

    /// Goes from each step to the first that it waits for within the component, until a step comes again. Each step of a
    /// component waits for one of it, so the walk always goes on; it looks at the edges of a step once.
    fn walk(
        &self,
        start: StepIndex,
        same: impl Fn(StepIndex, StepIndex) -> bool,
        entered: &mut [Option<usize>],
    ) -> Vec<StepIndex> {
        let mut path = Vec::new();
        let mut step = start;
        let begin = loop {
            let Some(slot) = entered.get_mut(step.row()) else { break 0 };
            if let Some(position) = *slot {
                break position;
            }
            *slot = Some(path.len());
            path.push(step);
            let next = self.dependencies(step).map(|edge| edge.step).find(|next| same(step, *next));
            let Some(next) = next else { break 0 };
            step = next;
        };
        path.drain(..begin);
        let first =
            path.iter().enumerate().min_by_key(|(_, step)| **step).map_or(0, |(position, _)| position);
        path.rotate_left(first);
        path
    }
}
