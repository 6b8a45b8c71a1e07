//! `consensus`: participants that do nothing, asked at once, and a verdict after all have answered.
//!
//! Work: `reach_consensus` with the default resolver, among as many agents as the size says. Floor: the work of `fanout`,
//! as many tasks through `run_parallel`, and one for the consensus, which is a task too. A unit is one participant.

use anyhow::{Result, ensure};

use convoke::{TeamRuntime, prelude::*};

use super::{
    fanout,
    team::{idle, idle_agents, request},
};
use crate::{
    benchmark::{Case, Leftover, Prepared, Side, Size},
    clock::Clock,
};

const SIZES: &[usize] = &[5, 50, 1_000];

pub(super) const CASES: [Case; 1] = [Case {
    benchmark: "consensus",
    variant: "",
    size: Size::Units,
    clock: Clock::Thread,
    sizes: SIZES,
    small: SIZES,
    floor: Side::new(|units| {
        Box::pin(async move {
            let team = idle()?.build()?;
            Ok::<Prepared, _>(Box::pin(fanout::work(team, units + 1)))
        })
    }),
    work: Side::new(|units| {
        Box::pin(async move {
            let team = idle_agents(units)?.build()?;
            Ok::<Prepared, _>(Box::pin(work(team, units)))
        })
    }),
}];

async fn work(team: TeamRuntime, units: usize) -> Result<Leftover> {
    let report = team.handle().reach_consensus(ConsensusRequest::new(request())).await?;
    let agreed = report.summary.as_ref().map_or(0, |summary| summary.voters.len());
    ensure!(report.is_success() && agreed == units, "{agreed} of {units} agreed: {report}");
    Ok(Box::new((team, report)))
}
