//! What the runtime costs: each benchmark beside a floor, which is the least that tokio or a persistent vector can do for
//! the same guarantee, measured in turn in the same run.
//!
//! `cargo xtask bench [NAME..]` builds it with the release profile and runs it. A number in microseconds says something
//! about this machine at this moment; the ratio is what to compare.

mod floor;
mod measure;
mod work;

use measure::{Benchmark, run};

/// How many units a benchmark does in one go.
const UNITS: usize = 10_000;

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let benchmarks = [
        Benchmark::new(
            "dispatch",
            UNITS,
            |units| Box::pin(floor::spawn(units)),
            |units| Box::pin(work::dispatch(units)),
        ),
        Benchmark::new(
            "fanout",
            UNITS,
            |units| Box::pin(floor::join_set(units)),
            |units| Box::pin(work::fanout(units)),
        ),
        Benchmark::new(
            "acquire",
            UNITS,
            |units| Box::pin(async move { floor::ordered_map(units) }),
            |units| Box::pin(work::acquire(units)),
        ),
        Benchmark::new(
            "session",
            UNITS,
            |units| Box::pin(async move { floor::vector(units) }),
            |units| Box::pin(work::session(units)),
        ),
    ];
    let chosen =
        |benchmark: &&Benchmark| wanted.is_empty() || wanted.iter().any(|name| name == benchmark.name);
    println!("{:<10} {:<15} {:>10} {:>10} {:>8}", "benchmark", "runtime", "floor µs", "µs", "ratio");
    for benchmark in benchmarks.iter().filter(chosen) {
        for workers in [0, 2] {
            run(benchmark, workers);
        }
    }
    for name in
        wanted.iter().filter(|name| !benchmarks.iter().any(|benchmark| benchmark.name == name.as_str()))
    {
        eprintln!("there is no benchmark `{name}`");
    }
}
