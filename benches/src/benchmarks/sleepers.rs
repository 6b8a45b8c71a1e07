//! `sleepers`: tasks of 10 ms, up to 100 at a time, on the real clock.
//!
//! Work: `run_parallel`. Floor: the same sleeps behind a semaphore.

use std::{sync::Arc, time::Duration};

use anyhow::Result;
use tokio::{sync::Semaphore, task::JoinSet, time::sleep};

use convoke::TeamRuntime;

use super::team::{ensure_done, request, sleeping};
use crate::{
    benchmark::{Case, Leftover, Prepared, Side, Size},
    clock::Clock,
};

const SLEEP: Duration = Duration::from_millis(10);
const SLEEPERS: usize = 100;

pub(super) const CASES: [Case; 1] = [Case {
    benchmark: "sleepers",
    variant: "",
    size: Size::Units,
    clock: Clock::Wall,
    sizes: &[1_000],
    small: &[],
    floor: Side::new(|units| Box::pin(async move { Ok::<Prepared, _>(Box::pin(floor(units))) })),
    work: Side::new(|units| {
        Box::pin(async move {
            let team = sleeping(SLEEP)?.max_parallel_tasks(SLEEPERS).build()?;
            Ok::<Prepared, _>(Box::pin(work(team, units)))
        })
    }),
}];

async fn floor(units: usize) -> Result<Leftover> {
    let slots = Arc::new(Semaphore::new(SLEEPERS));
    let mut tasks = JoinSet::new();
    for _ in 0..units {
        let slots = Arc::clone(&slots);
        tasks.spawn(async move {
            let slot = slots.acquire_owned().await;
            sleep(SLEEP).await;
            drop(slot);
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended?;
    }
    Ok(Box::new(slots))
}

async fn work(team: TeamRuntime, units: usize) -> Result<Leftover> {
    let reports = team.run_parallel((0..units).map(|_| request())).await;
    reports.iter().try_for_each(ensure_done)?;
    Ok(Box::new((team, reports)))
}
