//! What the agents of a plan do, and who of them works at a moment.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use futures_util::future::{BoxFuture, join_all};
use parking_lot::Mutex;
use tokio::time::{sleep, timeout};

use convoke_core::{ExecutorError, Scope, TaskOutcome, TaskRequest};
use convoke_registry::{Coordination, CoordinationError, RunOptions, TaskHandle, TeamHandle};
use convoke_testkit::{ScriptedExecutor, Step};

use super::plan::{End, Plan, Tree, Way};
use crate::house::ms;

/// The work of a plan by number, and those who are at it.
pub(super) struct World {
    tasks: Vec<Task>,
    roots: Vec<usize>,
    has_deadlines: bool,
    alive: Mutex<Vec<Arc<Alive>>>,
    /// The work that nobody awaits any longer.
    let_go: Mutex<HashSet<usize>>,
}

/// A tree whose branches have numbers.
#[derive(Clone)]
struct Task {
    skill: &'static str,
    asks: Vec<(Way, Vec<usize>)>,
    end: End,
}

#[derive(Debug)]
pub(super) struct AtWork {
    /// Those who do not wait for others.
    pub(super) awake: usize,
    /// Those who were asked to stop and have not ended, detached or not.
    pub(super) stopping: usize,
    /// Those that are not awaited any longer, or that nobody will wait for once they have stopped.
    pub(super) let_go: usize,
}

/// Work that has begun and not ended.
struct Alive {
    number: usize,
    awaits: AtomicBool,
    scope: Scope,
}

impl World {
    pub(super) fn new(plan: &Plan, has_deadlines: bool) -> Self {
        let mut tasks = Vec::new();
        let roots = plan.roots.iter().map(|(_, tree)| number(tree, &mut tasks)).collect();
        Self { tasks, roots, has_deadlines, alive: Mutex::default(), let_go: Mutex::default() }
    }

    pub(super) fn root(&self, index: usize) -> TaskRequest {
        let mut request = self.request(self.roots[index]).in_session("s");
        if self.has_deadlines && index == 0 {
            request.timeout = Some(ms(60));
        }
        request
    }

    fn request(&self, task: usize) -> TaskRequest {
        TaskRequest::new(task.to_string()).requiring(self.tasks[task].skill)
    }

    pub(super) fn executor(self: &Arc<Self>) -> ScriptedExecutor {
        let world = Arc::clone(self);
        ScriptedExecutor::answering(move |_| {
            let world = Arc::clone(&world);
            Step::call(move |request: TaskRequest, ctx| async move {
                let (team, scope) = (ctx.team().clone(), ctx.scope().clone());
                world
                    .work(request.input.parse().unwrap(), team, scope)
                    .await
                    .map_err(|_| ExecutorError::cancelled())
            })
        })
    }

    /// Who is at work.
    pub(super) fn at_work(&self) -> AtWork {
        let alive = self.alive.lock();
        let let_go = self.let_go.lock();
        let count = |is: &dyn Fn(&Alive) -> bool| alive.iter().filter(|one| is(one)).count();
        AtWork {
            awake: count(&|one| !one.awaits.load(Ordering::Relaxed)),
            stopping: count(&|one| one.scope.cancellation().is_cancelled()),
            let_go: count(&|one| one.scope.cancellation().is_cancelled() || let_go.contains(&one.number)),
        }
    }

    pub(super) fn alive(&self) -> usize {
        self.alive.lock().len()
    }

    fn work(
        self: Arc<Self>,
        number: usize,
        team: TeamHandle,
        scope: Scope,
    ) -> BoxFuture<'static, Result<TaskOutcome, CoordinationError>> {
        Box::pin(async move {
            let stop = scope.cancellation().clone();
            let me = Arc::new(Alive { number, awaits: AtomicBool::new(false), scope });
            self.alive.lock().push(Arc::clone(&me));
            let _leaves = Leaves(&self, &me);
            let task = self.tasks[number].clone();
            for (way, asked) in &task.asks {
                self.ask(*way, asked, &team, &me).await;
            }
            match task.end {
                End::Replies(millis) => sleep(ms(millis)).await,
                End::Panics(millis) => {
                    sleep(ms(millis)).await;
                    panic!("broken");
                }
                End::Obeys(millis) => {
                    if timeout(ms(millis), stop.cancelled()).await.is_ok() {
                        return Ok(TaskOutcome::cancelled());
                    }
                }
            }
            Ok(TaskOutcome::completed("done"))
        })
    }

    async fn awaits<F: Future>(&self, me: &Alive, asked: &[usize], answers: F) -> F::Output {
        me.awaits.store(true, Ordering::Relaxed);
        self.let_go.lock().retain(|one| !asked.contains(one));
        let _until_then = Awaits(self, me, asked);
        answers.await
    }

    async fn ask(self: &Arc<Self>, way: Way, asked: &[usize], team: &TeamHandle, me: &Alive) {
        let requests: Vec<_> = asked.iter().map(|&task| self.request(task)).collect();
        match way {
            Way::Timed(millis) if self.has_deadlines => {
                for request in requests {
                    let _ = self.awaits(me, asked, team.run(request.with_timeout(ms(millis)))).await;
                }
            }
            Way::AwaitedFor(millis) => {
                let handles: Vec<_> = requests.into_iter().map(|request| team.spawn(request)).collect();
                let _ = timeout(ms(millis), self.awaits(me, asked, join_all(handles))).await;
            }
            Way::IndependentFor(millis) => {
                let handles: Vec<_> =
                    requests.into_iter().map(|request| team.spawn_independent(request)).collect();
                let _ = timeout(ms(millis), self.awaits(me, asked, join_all(handles))).await;
            }
            Way::OneByOne | Way::Timed(_) => {
                for request in requests {
                    let _ = self.awaits(me, asked, team.run(request)).await;
                }
            }
            Way::Together => drop(self.awaits(me, asked, team.run_parallel(requests)).await),
            Way::Each => {
                let mut answers = team.run_each(requests, RunOptions::new());
                let all = async { while answers.next().await.is_some() {} };
                self.awaits(me, asked, all).await;
            }
            Way::DroppedEach(taken, millis) => {
                let mut answers = team.run_each(requests, RunOptions::new());
                let some = async {
                    for _ in 0..taken {
                        answers.next().await;
                    }
                };
                let _ = timeout(ms(millis), self.awaits(me, asked, some)).await;
            }
            Way::Spawned => {
                let handles: Vec<_> = requests.into_iter().map(|request| team.spawn(request)).collect();
                self.awaits(me, asked, join_all(handles)).await;
            }
            Way::Independent => {
                let handles: Vec<TaskHandle> =
                    requests.into_iter().map(|request| team.spawn_independent(request)).collect();
                self.awaits(me, asked, join_all(handles)).await;
            }
            Way::Left => {
                for request in requests {
                    drop(team.spawn(request));
                }
            }
            Way::LeftIndependent => {
                for request in requests {
                    drop(team.spawn_independent(request));
                }
            }
            Way::Coordinated => {
                for &task in asked {
                    let world = Arc::clone(self);
                    let body = move |ctx: convoke_registry::CoordinatedContext| {
                        let (team, scope) = (ctx.team().clone(), ctx.scope().clone());
                        world.work(task, team, scope)
                    };
                    let request = TaskRequest::new(task.to_string());
                    let _ = self
                        .awaits(
                            me,
                            &[task],
                            team.coordinate(request, RunOptions::new(), Coordination::new(body)),
                        )
                        .await;
                }
            }
            Way::Dropped(millis) => {
                for request in requests {
                    let _ = timeout(ms(millis), self.awaits(me, asked, team.run(request))).await;
                }
            }
            Way::DroppedTogether(millis) => {
                let _ = timeout(ms(millis), self.awaits(me, asked, team.run_parallel(requests))).await;
            }
        }
    }
}

/// Numbers a tree and its branches.
fn number(tree: &Tree, tasks: &mut Vec<Task>) -> usize {
    let mut of_branches = |(way, branches): &(Way, Vec<Tree>)| {
        (*way, branches.iter().map(|branch| number(branch, tasks)).collect())
    };
    let asks = tree.asks.iter().map(&mut of_branches).collect();
    tasks.push(Task { skill: tree.skill, asks, end: tree.end });
    tasks.len() - 1
}

struct Awaits<'a>(&'a World, &'a Alive, &'a [usize]);

impl Drop for Awaits<'_> {
    fn drop(&mut self) {
        self.1.awaits.store(false, Ordering::Relaxed);
        self.0.let_go.lock().extend(self.2);
    }
}

struct Leaves<'a>(&'a World, &'a Arc<Alive>);

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        self.0.alive.lock().retain(|one| !Arc::ptr_eq(one, self.1));
    }
}
