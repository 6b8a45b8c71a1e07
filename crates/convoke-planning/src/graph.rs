//! The graph of a plan: petgraph, built once for each revision and never walked by recursion.

mod cycles;

use petgraph::{
    Direction,
    graph::{DiGraph, NodeIndex},
    visit::EdgeRef,
};

use crate::{Edge, StepIndex, Wait};

/// An edge as it is collected: from the step that is waited for to the step that waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub(crate) source: StepIndex,
    pub(crate) target: StepIndex,
    pub(crate) wait: Wait,
}

/// The graph has more edges than 32 bits count.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooManyEdges;

#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    edges: DiGraph<(), Wait, u32>,
    in_degrees: Vec<u32>,
}

impl Graph {
    /// `links` come by target in plan order, those of one target in the order in which it names them, each pair once.
    pub(crate) fn new(steps: u32, links: &[Link]) -> Result<Self, TooManyEdges> {
        let mut edges = DiGraph::with_capacity(steps as usize, links.len());
        for _ in 0..steps {
            edges.add_node(());
        }
        let mut in_degrees = vec![0; steps as usize];
        // petgraph visits the youngest edge first; from behind, both ends get theirs in order.
        for link in links.iter().rev() {
            edges.try_add_edge(node(link.source), node(link.target), link.wait).map_err(|_| TooManyEdges)?;
            if let Some(degree) = in_degrees.get_mut(link.target.row()) {
                *degree += 1;
            }
        }
        Ok(Self { edges, in_degrees })
    }

    /// Who waits for `step`, in plan order.
    pub(crate) fn dependents(&self, step: StepIndex) -> impl Iterator<Item = Edge> + '_ {
        self.edges
            .edges_directed(node(step), Direction::Outgoing)
            .map(|edge| Edge::new(index(edge.target()), *edge.weight()))
    }

    /// Whom `step` waits for, in the order in which it names them.
    pub(crate) fn dependencies(&self, step: StepIndex) -> impl Iterator<Item = Edge> + '_ {
        self.edges
            .edges_directed(node(step), Direction::Incoming)
            .map(|edge| Edge::new(index(edge.source()), *edge.weight()))
    }

    /// For how many steps each step waits, by step.
    pub(crate) fn in_degrees(&self) -> &[u32] {
        &self.in_degrees
    }

    pub(crate) fn edge_count(&self) -> usize {
        self.edges.edge_count()
    }
}

fn node(step: StepIndex) -> NodeIndex<u32> {
    NodeIndex::from(step.get())
}

fn index(node: NodeIndex<u32>) -> StepIndex {
    // The graph's indices have 32 bits by its type.
    StepIndex::new(u32::try_from(node.index()).unwrap_or(u32::MAX))
}
