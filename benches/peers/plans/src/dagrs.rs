//! Nodes with a channel for each edge, along which a node tells that it has ended.

use std::{sync::Arc, time::Instant};

use anyhow::{Result, ensure};
use dagrs::{Action, Content, DefaultNode, EnvVar, Graph, InChannels, Node, NodeTable, OutChannels, Output};

use crate::Shape;

struct Nothing;

#[async_trait::async_trait]
impl Action for Nothing {
    async fn run(&self, before: &mut InChannels, after: &mut OutChannels, _: Arc<EnvVar>) -> Output {
        before.map(|ended| ended.is_ok()).await;
        after.broadcast(Content::new(())).await;
        Output::Out(Some(Content::new(())))
    }
}

pub(crate) async fn once(shape: Shape, units: usize) -> Result<f64> {
    let mut table = NodeTable::new();
    let mut graph = Graph::new();
    let mut ids = Vec::new();
    for step in 0..units {
        let node = DefaultNode::with_action(format!("s{step}"), Nothing, &mut table);
        ids.push(node.id());
        graph.add_node(node)?;
    }
    if shape == Shape::Chain {
        for pair in ids.windows(2) {
            graph.add_edge(pair[0], vec![pair[1]])?;
        }
    }
    graph.set_env(EnvVar::new(table));
    let started = Instant::now();
    graph.async_start().await?;
    let took = started.elapsed().as_secs_f64();
    let outputs = graph.get_outputs();
    ensure!(outputs.len() == units, "{} of {units} nodes have an output", outputs.len());
    Ok(took)
}
