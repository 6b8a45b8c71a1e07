//! `bench`: measures, compares with the targets, and prints.

use std::process::ExitCode;

fn main() -> ExitCode {
    convoke_benches::bench()
}
