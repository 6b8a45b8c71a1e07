//! The benchmarks: each file has the work of one, and beside it the floor.

mod acquire;
mod consensus;
mod dispatch;
mod events;
mod fanout;
mod graphs;
mod journal;
mod nested;
mod plan;
mod priority;
mod resume;
mod session;
mod sleepers;
mod team;

use crate::benchmark::Case;

/// Every case, in the order in which they are measured.
pub(crate) fn cases() -> Vec<Case> {
    let groups: [&[Case]; 12] = [
        &dispatch::CASES,
        &fanout::CASES,
        &sleepers::CASES,
        &nested::CASES,
        &acquire::CASES,
        &session::CASES,
        &consensus::CASES,
        &events::CASES,
        &priority::CASES,
        &plan::CASES,
        &journal::CASES,
        &resume::CASES,
    ];
    groups.concat()
}
