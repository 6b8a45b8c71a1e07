//! The plans of the benchmark `plan` in other crates: steps that do nothing, in a chain or all at once, without a model.
//!
//! `convoke-peers-plans PEER SHAPE UNITS RUNS` prints one line of JSON: the version, the units of one run, and the median
//! of the microseconds that a unit takes. On the current thread, inside a spawned task, after a run that does not count.
//! Graphs are made before the clock runs.

mod adk_graph;
mod dagrs;
mod graph_flow;

use std::env::args;

use anyhow::{Context as _, Result, bail, ensure};

/// Who waits for whom.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Chain,
    Wide,
}

fn main() -> Result<()> {
    let words: Vec<String> = args().skip(1).collect();
    let [peer, shape, units, runs] = words.as_slice() else { bail!("give a peer, a shape, units and runs") };
    let shape = match shape.as_str() {
        "chain" => Shape::Chain,
        "wide" => Shape::Wide,
        other => bail!("there is no shape `{other}`"),
    };
    let (units, runs): (usize, usize) = (units.parse()?, runs.parse()?);
    let peer = peer.clone();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut seconds = Vec::new();
    for run in 0..=runs {
        let peer = peer.clone();
        let took = runtime.block_on(async move {
            let once = async move {
                match peer.as_str() {
                    "adk-graph" => adk_graph::once(shape, units).await,
                    "dagrs" => dagrs::once(shape, units).await,
                    "graph-flow" => graph_flow::once(shape, units).await,
                    other => bail!("there is no peer `{other}`"),
                }
            };
            tokio::spawn(once).await?
        })?;
        if run > 0 {
            seconds.push(took);
        }
    }
    seconds.sort_by(f64::total_cmp);
    let median = seconds.get(seconds.len() / 2).context("no runs")?;
    let version = version(&peer)?;
    let micros = median * 1e6 / units as f64;
    println!("{}", serde_json::json!({"version": version, "units": units, "micros": micros}));
    Ok(())
}

/// What the lock file says that was built.
fn version(peer: &str) -> Result<String> {
    let lock = include_str!("../Cargo.lock");
    let named = format!("name = \"{peer}\"\nversion = \"");
    let (_, rest) = lock.split_once(&named).context("the lock file does not have the peer")?;
    let (version, _) = rest.split_once('"').context("the lock file is cut")?;
    ensure!(!version.is_empty(), "the lock file has no version");
    Ok(version.to_owned())
}
