//! `nested`: tasks that ask for tasks, 32 deep, with one slot.
//!
//! Work: each executor runs the next task through the team of its context, and waits for it. Floor: each task spawns the
//! next, and waits for it. A unit is one task; as many chains as it takes run one after the other.

use std::pin::Pin;

use anyhow::{Result, ensure};

use convoke::{TeamRuntime, prelude::*};

use super::team::{around, ensure_done};
use crate::{
    benchmark::{Case, Leftover, Prepared, Side, Size},
    clock::Clock,
};

const DEPTH: usize = 32;

pub(super) const CASES: [Case; 1] = [Case {
    benchmark: "nested",
    variant: "",
    size: Size::Units,
    clock: Clock::Thread,
    sizes: &[320, 3_200],
    small: &[320, 3_200],
    floor: Side::new(|units| Box::pin(async move { Ok::<Prepared, _>(Box::pin(floor(units))) })),
    work: Side::new(|units| {
        Box::pin(async move {
            let team = around(FunctionExecutor::new(ask_deeper))?.max_parallel_tasks(1).build()?;
            Ok::<Prepared, _>(Box::pin(work(team, units)))
        })
    }),
}];

/// How many chains there are in so many units.
fn chains(units: usize) -> Result<usize> {
    ensure!(units.is_multiple_of(DEPTH), "sizes of `nested` are multiples of {DEPTH}");
    Ok(units / DEPTH)
}

async fn floor(units: usize) -> Result<Leftover> {
    for _ in 0..chains(units)? {
        tokio::spawn(spawn_deeper(DEPTH - 1)).await?;
    }
    Ok(Box::new(()))
}

/// Boxed, since its own type is inside.
fn spawn_deeper(left: usize) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        if left > 0 {
            // The next one does not panic, and nobody aborts it.
            let _ = tokio::spawn(spawn_deeper(left - 1)).await;
        }
    })
}

async fn work(team: TeamRuntime, units: usize) -> Result<Leftover> {
    for _ in 0..chains(units)? {
        ensure_done(&team.run(request(DEPTH - 1)).await)?;
    }
    Ok(Box::new(team))
}

/// A task that has so many below it.
fn request(left: usize) -> TaskRequest {
    TaskRequest::new(left.to_string()).requiring("skill")
}

async fn ask_deeper(request_of: TaskRequest, ctx: ExecutionContext) -> Result<TaskOutput, ExecutorError> {
    if let Some(left) = request_of.input.parse::<usize>().ok().and_then(|left| left.checked_sub(1)) {
        ctx.team().run(request(left)).await?.into_result()?;
    }
    Ok(TaskOutput::default())
}
