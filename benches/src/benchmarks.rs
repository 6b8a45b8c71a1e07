//! The benchmarks: each file has the work of one, and beside it the floor.

mod acquire;
mod consensus;
mod dispatch;
mod events;
mod fanout;
mod graphs;
mod nested;
mod plan;
mod priority;
mod session;
mod sleepers;
mod team;

use crate::benchmark::Case;

/// Every case, in the order in which they are measured.
pub(crate) fn cases() -> Vec<Case> {
    let groups: [&[Case]; 10] = [
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
    ];
    groups.concat()
}
