//! `time`: how long one case takes, under the system's allocator.

use std::process::ExitCode;

fn main() -> ExitCode {
    convoke_benches::time()
}
