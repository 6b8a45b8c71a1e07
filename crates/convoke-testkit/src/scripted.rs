//! An executor that does what a test has written down.

use std::{collections::VecDeque, fmt, sync::Arc};

use parking_lot::Mutex;
use tokio::sync::watch;

use convoke_core::{ExecutorError, TaskOutcome, TaskRequest};
use convoke_registry::{AgentExecutor, ExecutionContext, ExecutorCapabilities};

use crate::Step;

/// Follows a script, a [`Step`] a call, and records what it was asked. Cloning shares both, so that a test keeps a clone
/// of what it registers.
///
/// ```
/// use convoke_core::{AgentDescriptor, ExecutorError, TaskRequest, TaskStatus};
/// use convoke_registry::AgentRegistry;
/// use convoke_team::TeamRuntime;
/// use convoke_testkit::{ScriptedExecutor, Step};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let writer = ScriptedExecutor::new([Step::fail(ExecutorError::new("no ink")), Step::reply("a draft")]);
/// let registry = AgentRegistry::new();
/// registry.add(AgentDescriptor::new("writer"), writer.clone())?;
/// let team = TeamRuntime::builder(registry).build()?;
///
/// assert_eq!(team.run(TaskRequest::new("chapter 1")).await?.status, TaskStatus::Failed);
/// assert_eq!(team.run(TaskRequest::new("chapter 1")).await?.text(), "a draft");
/// assert_eq!(writer.requests()[1].input, "chapter 1");
/// writer.assert_done();
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ScriptedExecutor {
    capabilities: ExecutorCapabilities,
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    calls: watch::Sender<usize>,
}

struct State {
    script: Script,
    requests: Vec<TaskRequest>,
    /// The calls that no step was left for.
    unscripted: usize,
    running: usize,
    peak: usize,
}

type Answer = Arc<dyn Fn(&TaskRequest) -> Step + Send + Sync>;

enum Script {
    Steps(VecDeque<Step>),
    Answer(Answer),
}

impl ScriptedExecutor {
    /// Takes the steps in their order, one a call. A call that no step is left for returns an error, and
    /// [`assert_done`](Self::assert_done) tells of it.
    pub fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self::with_script(Script::Steps(steps.into_iter().collect()))
    }

    /// Makes the step of each call from its request.
    pub fn answering(answer: impl Fn(&TaskRequest) -> Step + Send + Sync + 'static) -> Self {
        Self::with_script(Script::Answer(Arc::new(answer)))
    }

    /// Answers each request with its own input.
    pub fn echo() -> Self {
        Self::answering(|request| Step::reply(request.input.clone()))
    }

    fn with_script(script: Script) -> Self {
        let state = State { script, requests: Vec::new(), unscripted: 0, running: 0, peak: 0 };
        let shared = Shared { state: Mutex::new(state), calls: watch::Sender::new(0) };
        Self { capabilities: ExecutorCapabilities::default(), shared: Arc::new(shared) }
    }

    /// Sets what it says about itself.
    #[must_use]
    pub fn with_capabilities(mut self, capabilities: ExecutorCapabilities) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// What it was asked, in the order of the calls.
    pub fn requests(&self) -> Vec<TaskRequest> {
        self.shared.state.lock().requests.clone()
    }

    /// The inputs that it was asked with, in the order of the calls.
    pub fn inputs(&self) -> Vec<String> {
        self.shared.state.lock().requests.iter().map(|request| request.input.clone()).collect()
    }

    /// How many calls there were.
    pub fn calls(&self) -> usize {
        self.shared.state.lock().requests.len()
    }

    /// Waits until there were `count` calls.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub async fn called(&self, count: usize) {
        // This holds the sender, so that the channel is open.
        let _ = self.shared.calls.subscribe().wait_for(|calls| *calls >= count).await;
    }

    /// How many calls have neither ended nor been dropped.
    pub fn running(&self) -> usize {
        self.shared.state.lock().running
    }

    /// How many calls ran at the same time at most.
    pub fn peak(&self) -> usize {
        self.shared.state.lock().peak
    }

    /// Checks that the script was followed to its end.
    ///
    /// # Panics
    ///
    /// Where a step was not taken, a call found none, or a call still runs.
    #[track_caller]
    pub fn assert_done(&self) {
        let state = self.shared.state.lock();
        let left = match &state.script {
            Script::Steps(steps) => steps.len(),
            Script::Answer(_) => 0,
        };
        assert!(left == 0, "{left} steps of the script were not taken");
        assert!(state.unscripted == 0, "{} calls found no step in the script", state.unscripted);
        assert!(state.running == 0, "{} calls still run", state.running);
    }

    /// Records a call, and gives its step.
    fn begin(&self, request: &TaskRequest) -> (Option<Step>, Running) {
        let mut state = self.shared.state.lock();
        state.requests.push(request.clone());
        state.running += 1;
        state.peak = state.peak.max(state.running);
        let calls = state.requests.len();
        let step = match &mut state.script {
            Script::Steps(steps) => Ok(steps.pop_front()),
            Script::Answer(answer) => Err(Arc::clone(answer)),
        };
        state.unscripted += usize::from(matches!(step, Ok(None)));
        drop(state);
        self.shared.calls.send_modify(|count| *count = calls.max(*count));
        let running = Running(Arc::clone(&self.shared));
        // The test's own code, so that it is called outside the lock.
        (step.unwrap_or_else(|answer| Some(answer(request))), running)
    }
}

/// A call that has not ended.
struct Running(Arc<Shared>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.state.lock().running -= 1;
    }
}

impl AgentExecutor for ScriptedExecutor {
    fn capabilities(&self) -> ExecutorCapabilities {
        self.capabilities
    }

    fn execute(
        &self,
        request: TaskRequest,
        ctx: ExecutionContext,
    ) -> impl Future<Output = Result<TaskOutcome, ExecutorError>> + Send {
        let (step, running) = self.begin(&request);
        async move {
            let _running = running;
            match step {
                Some(step) => step.play(request, ctx).await,
                None => Err(ExecutorError::contract_violation(format!(
                    "the script has no step left for task `{}`",
                    ctx.task()
                ))),
            }
        }
    }
}

impl fmt::Debug for ScriptedExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedExecutor")
            .field("calls", &self.calls())
            .field("running", &self.running())
            .finish_non_exhaustive()
    }
}
