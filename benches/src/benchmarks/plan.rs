//! `plan`: plans whose steps do nothing, 64 at a time, without a journal.
//!
//! Work: `PlanRunner::run_plan`, whose `PlanRun` is kept. Floor: Kahn's algorithm over a graph of the same edges, in a
//! queue, with at most 64 tasks in a join set or, beside inline steps, 64 boxed futures in a `FuturesUnordered`; it keeps
//! the output of each step. Neither the plan nor the graph is made while the clock runs.

use std::{collections::VecDeque, pin::Pin};

use anyhow::{Context as _, Result, ensure};
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::task::JoinSet;

use convoke::prelude::TaskOutput;
use convoke_planning::{
    FunctionStepExecutor, Plan, PlanPolicy, PlanPolicyBuilder, PlanRunner, PlanRunnerBuilder,
    machine::{Capabilities, StopReason},
};

use super::{
    graphs::{Graph, Shape},
    team::LIMIT,
};
use crate::{
    benchmark::{Case, Leftover, Prepared, Preparing, Side, Size},
    clock::Clock,
};

/// A case for each shape, spawned and inline.
macro_rules! case {
    ($variant:literal, $shape:ident, $placement:ident) => {
        Case {
            benchmark: "plan",
            variant: $variant,
            size: Size::Units,
            clock: Clock::Thread,
            // A million takes half a minute a pair, for the most part to make the plan: `--n` asks for it.
            sizes: &[1_000, 10_000, 100_000],
            small: &[500, 5_000],
            floor: Side::new(|units| floor(Shape::$shape, Placement::$placement, units)),
            work: Side::new(|units| work(Shape::$shape, Placement::$placement, units)),
        }
    };
}

pub(super) const CASES: [Case; 6] = [
    case!("chain spawned", Chain, Spawned),
    case!("wide spawned", Wide, Spawned),
    case!("layered spawned", Layered, Spawned),
    case!("chain inline", Chain, Inline),
    case!("wide inline", Wide, Inline),
    case!("layered inline", Layered, Inline),
];

/// Where the work of a step is polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Placement {
    /// In a task of its own.
    Spawned,
    /// By whoever runs the plan.
    Inline,
}

fn work(shape: Shape, placement: Placement, units: usize) -> Preparing {
    Box::pin(async move {
        let plan = shape.plan(units)?;
        let capabilities = match placement {
            Placement::Spawned => Capabilities::new(),
            Placement::Inline => Capabilities::new().inline(),
        };
        let runner = idle(capabilities, units)?.build()?;
        Ok::<Prepared, _>(Box::pin(run(runner, plan)))
    })
}

/// A runner whose steps do nothing, for plans of so many.
pub(super) fn idle(capabilities: Capabilities, units: usize) -> Result<PlanRunnerBuilder> {
    Ok(runner(capabilities, policy(units)?.build()?))
}

/// Room for so many steps, 64 at a time.
pub(super) fn policy(units: usize) -> Result<PlanPolicyBuilder> {
    let policy = PlanPolicy::builder().max_steps(u32::try_from(units)?);
    Ok(policy.max_parallel_steps(u32::try_from(LIMIT)?))
}

/// A runner whose steps do nothing.
pub(super) fn runner(capabilities: Capabilities, policy: PlanPolicy) -> PlanRunnerBuilder {
    let nothing = FunctionStepExecutor::new(|_, _| async { Ok(TaskOutput::default()) });
    PlanRunner::builder().policy(policy).executor(nothing.with_capabilities(capabilities))
}

pub(super) async fn run(runner: PlanRunner, plan: Plan) -> Result<Leftover> {
    let steps = plan.steps().len();
    let run = runner.run_plan(plan).await?;
    ensure!(
        run.stop == StopReason::Completed,
        "{} of {steps} steps are done: {:?}",
        run.completed,
        run.error
    );
    Ok(Box::new((runner, run)))
}

fn floor(shape: Shape, placement: Placement, units: usize) -> Preparing {
    Box::pin(async move {
        let graph = shape.graph(units)?;
        Ok::<Prepared, _>(match placement {
            Placement::Spawned => Box::pin(kahn(graph, JoinSet::new())),
            Placement::Inline => Box::pin(kahn(graph, FuturesUnordered::new())),
        })
    })
}

type Ended = (usize, TaskOutput);

/// As a join set has it too: work may be of any type.
type Boxed = Pin<Box<dyn Future<Output = Ended> + Send>>;

/// What holds the work that is under way.
trait Working: Send {
    fn start(&mut self, step: usize);
    fn len(&self) -> usize;
    /// The next that ends; `None` where nothing is under way.
    fn next(&mut self) -> impl Future<Output = Result<Option<Ended>>> + Send;
}

impl Working for JoinSet<Ended> {
    fn start(&mut self, step: usize) {
        self.spawn(async move { (step, TaskOutput::default()) });
    }

    fn len(&self) -> usize {
        self.len()
    }

    async fn next(&mut self) -> Result<Option<Ended>> {
        Ok(self.join_next().await.transpose()?)
    }
}

impl Working for FuturesUnordered<Boxed> {
    fn start(&mut self, step: usize) {
        self.push(Box::pin(async move { (step, TaskOutput::default()) }));
    }

    fn len(&self) -> usize {
        self.len()
    }

    async fn next(&mut self) -> Result<Option<Ended>> {
        Ok(StreamExt::next(self).await)
    }
}

async fn kahn(mut graph: Graph, mut working: impl Working) -> Result<Leftover> {
    let steps = graph.waits.len();
    let mut outputs: Vec<Option<TaskOutput>> = Vec::new();
    outputs.resize_with(steps, || None);
    let first = graph.waits.iter().enumerate().filter(|(_, waits)| **waits == 0);
    let mut queue: VecDeque<usize> = first.map(|(step, _)| step).collect();
    loop {
        while working.len() < LIMIT
            && let Some(step) = queue.pop_front()
        {
            working.start(step);
        }
        let Some((step, output)) = working.next().await? else { break };
        *outputs.get_mut(step).context("there is no such step")? = Some(output);
        graph.end(step, &mut queue);
    }
    ensure!(outputs.iter().all(Option::is_some), "a step did not run");
    Ok(Box::new((graph, outputs)))
}
