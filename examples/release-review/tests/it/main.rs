//! The review from the outside: evidence in, facts, gates, results and a report out.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]
#![expect(clippy::panic, reason = "a test ends at the first surprise")]
#![expect(clippy::indexing_slicing, reason = "a test knows what it has put there")]

mod canonical;
mod defects;
mod gates;
mod hostile;
mod junit;
mod markdown;
mod operations;
mod program;
mod publication;
mod results;
mod review;
mod settings;
mod support;
mod task;
mod verdicts;
