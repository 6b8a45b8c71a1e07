//! Nodes of a state graph that write nothing, without a checkpointer; at most 64 at a time.

use std::time::Instant;

use adk_graph::{
    edge::{END, START},
    graph::StateGraph,
    node::{ExecutionConfig, NodeOutput},
    state::State,
};
use anyhow::Result;

use crate::Shape;

pub(crate) async fn once(shape: Shape, units: usize) -> Result<f64> {
    let mut graph = StateGraph::with_channels(&["nothing"]);
    let id = |step: usize| format!("s{step}");
    for step in 0..units {
        graph = graph.add_node_fn(&id(step), |_| async { Ok(NodeOutput::new()) });
    }
    for step in 0..units {
        let is_first = shape == Shape::Wide || step == 0;
        let is_last = shape == Shape::Wide || step + 1 == units;
        graph = if is_first {
            graph.add_edge(START, &id(step))
        } else {
            graph.add_edge(&id(step - 1), &id(step))
        };
        if is_last {
            graph = graph.add_edge(&id(step), END);
        }
    }
    let graph = graph.compile()?.with_max_concurrency(64);
    let started = Instant::now();
    graph.invoke(State::new(), ExecutionConfig::new("nothing").with_recursion_limit(units + 10)).await?;
    Ok(started.elapsed().as_secs_f64())
}
