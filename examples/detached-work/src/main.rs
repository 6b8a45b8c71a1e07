//! Work that ignores its deadline: on a thread it goes on and keeps its lease, in a process it is stopped.

use std::{
    error::Error,
    fs::{self, OpenOptions},
    io::Write as _,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use tokio::{sync::mpsc, time::sleep};

use convoke::prelude::*;

/// The deadline of each task.
const TIMEOUT: Duration = Duration::from_millis(100);

/// How long work that was asked to stop has to do so.
const GRACE: Duration = Duration::from_millis(200);

/// The work: a mark in a file every 10 ms, 80 times, whatever anybody says.
fn on_a_thread(file: PathBuf) -> impl AgentExecutor {
    BlockingExecutor::new(move |_request, _ctx| {
        let mut marks = OpenOptions::new().create(true).append(true).open(&file)?;
        for _ in 0..80 {
            marks.write_all(b".")?;
            thread::sleep(Duration::from_millis(10));
        }
        Ok("80 marks")
    })
}

/// The same work in a child process, which ignores the wish that it ends as well.
#[cfg(unix)]
fn in_a_process(file: PathBuf) -> impl AgentExecutor {
    let script = r#"trap '' TERM
        mark=0
        while [ "$mark" -lt 80 ]; do printf . >>"$FILE"; sleep 0.01; mark=$((mark + 1)); done
        echo '80 marks'"#;
    convoke::ProcessExecutor::new("/bin/sh").arg("-c").arg(script).env("FILE", file).with_text_answer()
}

/// Whether the file grows within as long as the work needs for several marks.
async fn goes_on(file: &Path) -> Result<&'static str, std::io::Error> {
    let before = fs::metadata(file)?.len();
    sleep(Duration::from_millis(100)).await;
    Ok(if fs::metadata(file)?.len() > before { "yes" } else { "no" })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let file = |agent: &str| directory.path().join(agent);
    let registry = AgentRegistry::new();
    registry.add(AgentDescriptor::new("thread"), on_a_thread(file("thread")))?;
    #[cfg(unix)]
    registry.add(AgentDescriptor::new("process"), in_a_process(file("process")))?;

    let (sender, mut ends) = mpsc::unbounded_channel();
    let team = TeamRuntime::builder(registry)
        .grace(GRACE)
        .on_event(move |event| {
            if event.kind == TeamEventKind::DetachedEnded {
                // Fails where `main` is over, and nobody wants to know any more.
                let _ = sender.send(event.elapsed);
            }
        })
        .build()?;

    for agent in if cfg!(unix) { &["thread", "process"][..] } else { &["thread"] } {
        let request = TaskRequest::new("make marks").preferring(*agent).with_timeout(TIMEOUT);
        let report = team.run(request).await?;
        println!("{agent}: {} after {} ms", report.status, report.timing.executed.as_millis());
        println!("  detached: {}, leases held: {}", report.detached, team.stats().detached);
        println!("  does the work go on? {}", goes_on(&file(agent)).await?);
        if report.detached {
            let elapsed = ends.recv().await.ok_or("the team is gone")?;
            println!("  detached_ended after {} ms", elapsed.as_millis());
            println!("  leases held: {}", team.stats().detached);
        }
    }
    Ok(())
}
