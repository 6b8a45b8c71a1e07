//! Tasks of a session that go on at once; a wide plan is one `FanOutTask`, which spawns all of its tasks at once.

use std::{sync::Arc, time::Instant};

use anyhow::{Result, ensure};
use graph_flow::{
    Context, ExecutionStatus, GraphBuilder, NextAction, Session, Task, TaskResult, fanout::FanOutTask,
};

use crate::Shape;

struct Nothing {
    id: String,
    next: NextAction,
}

#[async_trait::async_trait]
impl Task for Nothing {
    fn id(&self) -> &str {
        &self.id
    }

    async fn run(&self, _: Context) -> graph_flow::Result<TaskResult> {
        Ok(TaskResult::new(None, self.next.clone()))
    }
}

pub(crate) async fn once(shape: Shape, units: usize) -> Result<f64> {
    let mut graph = GraphBuilder::new("nothing");
    let id = |step: usize| format!("s{step}");
    let first = match shape {
        Shape::Chain => {
            for step in 0..units {
                let is_last = step + 1 == units;
                let next = if is_last { NextAction::End } else { NextAction::ContinueAndExecute };
                graph = graph.add_task(Arc::new(Nothing { id: id(step), next }));
            }
            for step in 1..units {
                graph = graph.add_edge(id(step - 1), id(step));
            }
            id(0)
        }
        Shape::Wide => {
            let nothing = |step| Arc::new(Nothing { id: id(step), next: NextAction::End }) as Arc<dyn Task>;
            let all = FanOutTask::new("all", (0..units).map(nothing).collect());
            graph = graph.add_task(all.with_next_action(NextAction::End));
            "all".to_owned()
        }
    };
    let graph = graph.set_start_task(first.clone()).build()?;
    let mut session = Session::new_from_task("nothing".to_owned(), &first);
    let started = Instant::now();
    let result = graph.execute_session(&mut session).await?;
    let took = started.elapsed().as_secs_f64();
    ensure!(
        matches!(result.status, ExecutionStatus::Completed),
        "the session did not end: {:?}",
        result.status
    );
    Ok(took)
}
