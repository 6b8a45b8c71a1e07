//! `fanout`: tasks that do nothing, all at once.
//!
//! Work: `run_parallel`, whose reports are kept. Floor: a join set whose tasks share a semaphore.

use std::sync::Arc;

use anyhow::Result;
use tokio::{sync::Semaphore, task::JoinSet};

use convoke::TeamRuntime;

use super::team::{LIMIT, ensure_done, idle, request};
use crate::{
    benchmark::{Case, Leftover, Prepared, Side, Size},
    clock::Clock,
};

pub(super) const CASES: [Case; 1] = [Case {
    benchmark: "fanout",
    variant: "",
    size: Size::Units,
    clock: Clock::Thread,
    sizes: &[10_000, 100_000],
    small: &[200, 2_000],
    floor: Side::new(|units| Box::pin(async move { Ok::<Prepared, _>(Box::pin(floor(units))) })),
    work: Side::new(|units| {
        Box::pin(async move {
            let team = idle()?.build()?;
            Ok::<Prepared, _>(Box::pin(work(team, units)))
        })
    }),
}];

async fn floor(units: usize) -> Result<Leftover> {
    let slots = Arc::new(Semaphore::new(LIMIT));
    let mut tasks = JoinSet::new();
    for _ in 0..units {
        let slots = Arc::clone(&slots);
        tasks.spawn(async move { drop(slots.acquire_owned().await) });
    }
    while let Some(ended) = tasks.join_next().await {
        ended?;
    }
    Ok(Box::new(slots))
}

/// Also what `consensus` is compared with.
pub(super) async fn work(team: TeamRuntime, units: usize) -> Result<Leftover> {
    let reports = team.run_parallel((0..units).map(|_| request())).await;
    reports.iter().try_for_each(ensure_done)?;
    Ok(Box::new((team, reports)))
}
