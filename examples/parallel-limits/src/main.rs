//! Eight tasks under a limit of two; then a timeout whose work keeps its lease until it has ended.

use std::{
    error::Error,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::time::sleep;

use convoke::prelude::*;

/// How many tasks run now, and how many ran at most.
#[derive(Default)]
struct Gauge {
    running: AtomicUsize,
    peak: AtomicUsize,
}

/// Works for as many milliseconds as the request's data says, whatever the cancellation token says.
fn worker(gauge: &Arc<Gauge>) -> impl AgentExecutor {
    let gauge = Arc::clone(gauge);
    FunctionExecutor::new(move |request, _ctx| {
        let gauge = Arc::clone(&gauge);
        async move {
            let running = gauge.running.fetch_add(1, Ordering::SeqCst) + 1;
            gauge.peak.fetch_max(running, Ordering::SeqCst);
            let millis = request.data.and_then(|data| data.as_u64()).unwrap_or(0);
            sleep(Duration::from_millis(millis)).await;
            gauge.running.fetch_sub(1, Ordering::SeqCst);
            Ok(format!("{} done", request.input))
        }
    })
}

fn show(report: &TaskReport) -> String {
    let agent = report.agent.as_ref().map_or("nobody", AgentId::as_str);
    let code = report.code().map_or("no error", ErrorCode::as_str);
    format!("{} by {agent}, {code}, detached: {}", report.status, report.detached)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let gauge = Arc::new(Gauge::default());
    let registry = AgentRegistry::new();
    registry.add(AgentDescriptor::new("solo").with_skill("scan"), worker(&gauge))?;
    let wide = AgentDescriptor::new("wide").with_skill("index").with_max_concurrency(8);
    registry.add(wide, worker(&gauge))?;
    let team = TeamRuntime::builder(registry).max_parallel_tasks(2).build()?;

    // The four scans wait for one agent, one after the other; they keep no index task from the second slot.
    let request =
        |skill: &str, part| TaskRequest::new(format!("{skill} {part}")).requiring(skill).with_json(&20);
    let requests =
        (1..=4).map(|part| request("scan", part)).chain((1..=4).map(|part| request("index", part)));
    for report in team.run_parallel(requests).await {
        let report = report?;
        println!("{}: {}", report.text(), show(&report));
    }
    println!("at most {} ran at a time", gauge.peak.load(Ordering::SeqCst));

    let slow = TaskRequest::new("slow scan").requiring("scan").with_json(&400);
    let report = team.run(slow.with_timeout(Duration::from_millis(50))).await?;
    println!("\nslow scan: {}", show(&report));
    println!("meanwhile {} slot and {} lease are held", team.stats().slots.taken, team.stats().detached);

    let hurried = request("scan", 5).with_capacity(CapacityPolicy::Reject);
    let refused = team.run(hurried).await?.error.map(|error| error.code());
    println!("a scan that does not wait: {}", refused.map_or("done", ErrorCode::as_str));
    let report = team.run(request("scan", 6)).await?;
    println!("a scan that waits: {}; {} leases are held", show(&report), team.stats().detached);
    Ok(())
}
