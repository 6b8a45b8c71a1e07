//! `dispatch`: tasks that do nothing, one after the other.
//!
//! Work: admission, lease, slot, execution, commit, and four events that nobody hears. Floor: a semaphore's permit, a
//! spawned task and its end.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use tokio::sync::Semaphore;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::layer::SubscriberExt as _;

use convoke::{TeamRuntime, TeamRuntimeBuilder};

use super::team::{LIMIT, ensure_done, idle, request};
use crate::{
    benchmark::{Case, Leftover, Prepared, Preparing, Side, Size},
    clock::Clock,
};

const FLOOR: Side = Side::new(|units| Box::pin(async move { Ok::<Prepared, _>(Box::pin(floor(units))) }));

const PLAIN: Case = Case {
    benchmark: "dispatch",
    variant: "",
    size: Size::Units,
    clock: Clock::Thread,
    sizes: &[1_000, 10_000],
    small: &[100, 1_000],
    floor: FLOOR,
    work: WORK,
};

/// Without a sink, which `events` is compared with.
pub(super) const WORK: Side = Side::new(|units| dispatching(units, Ok));

pub(super) const CASES: [Case; 2] =
    [PLAIN, Case { variant: "tracing off", work: WORK.under(disabled), ..PLAIN }];

/// A subscriber that is installed and wants nothing.
fn disabled() -> tracing::Dispatch {
    tracing_subscriber::registry().with(LevelFilter::OFF).into()
}

async fn floor(units: usize) -> Result<Leftover> {
    let slots = Arc::new(Semaphore::new(LIMIT));
    for _ in 0..units {
        let slot = Arc::clone(&slots).acquire_owned().await.context("semaphore is closed")?;
        tokio::spawn(async move { drop(slot) }).await?;
    }
    Ok(Box::new(slots))
}

/// Tasks one after the other on a runtime that is set up further by the caller.
pub(super) fn dispatching(
    units: usize,
    set_up: impl FnOnce(TeamRuntimeBuilder) -> Result<TeamRuntimeBuilder> + Send + 'static,
) -> Preparing {
    Box::pin(async move {
        let team = set_up(idle()?)?.build()?;
        Ok::<Prepared, _>(Box::pin(run_all(team, units)))
    })
}

async fn run_all(team: TeamRuntime, units: usize) -> Result<Leftover> {
    for _ in 0..units {
        ensure_done(&team.run(request()).await)?;
    }
    Ok(Box::new(team))
}
