//! Five letters as a plan in a journal. Another process of this program begins it and is killed when the third letter is
//! sent and nobody has said so yet; this one goes on. Each letter is sent once, by its key.

use std::{
    env,
    error::Error,
    fs,
    io::{self, BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{self, Command, Stdio},
};

use convoke_core::{ExecutorError, PlanId};
use convoke_journal::FileJournal;
use convoke_planning::{
    FunctionStepExecutor, Plan, PlanDraft, PlanRunner, PlanValidator, StepContext, StepDraft,
    machine::{Capabilities, Effects, StopReason},
};

/// Where the other process says that it is to be killed.
const SENT: &str = "sent, and nobody knows";

/// The step in which the other process is killed.
const DEADLY: &str = "letter-3";

fn plan() -> Result<Plan, Box<dyn Error>> {
    let letter = |number: u32| StepDraft::new(format!("letter-{number}")).titled("Send a letter");
    let letters = (1..=5).map(|number| match number {
        1 => letter(1),
        _ => letter(number).after(format!("letter-{}", number - 1)),
    });
    Ok(PlanValidator::default()
        .validate(PlanDraft::new("five letters").with_id("letters").with_steps(letters))?)
}

/// Who sends a letter.
#[derive(Clone, Copy, PartialEq)]
enum Sender {
    Other,
    This,
}

/// The world: a file for each letter that was sent, named by its key, and a line for each time somebody tried.
#[derive(Clone)]
struct Post {
    folder: PathBuf,
    sender: Sender,
}

impl Post {
    fn open(folder: &Path, sender: Sender) -> io::Result<Self> {
        fs::create_dir_all(folder.join("sent"))?;
        Ok(Self { folder: folder.to_owned(), sender })
    }

    /// Sends a letter, unless one of this key was sent before.
    fn send(&self, key: &str) -> io::Result<&'static str> {
        let mut tries = fs::OpenOptions::new().create(true).append(true).open(self.folder.join("tries"))?;
        writeln!(tries, "{key}")?;
        match fs::File::create_new(self.folder.join("sent").join(key.replace('/', "."))) {
            Ok(mut letter) => {
                let sender = if self.sender == Sender::Other { "the other process" } else { "this process" };
                write!(letter, "sent by {sender}")?;
                Ok("sent")
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok("was sent before"),
            Err(error) => Err(error),
        }
    }

    /// Each letter with who sent it.
    fn sent(&self) -> io::Result<Vec<String>> {
        let letter = |entry: io::Result<fs::DirEntry>| {
            let entry = entry?;
            Ok(format!("{} {}", entry.file_name().display(), fs::read_to_string(entry.path())?))
        };
        let mut letters: Vec<_> =
            fs::read_dir(self.folder.join("sent"))?.map(letter).collect::<io::Result<_>>()?;
        letters.sort();
        Ok(letters)
    }

    fn tries(&self) -> io::Result<usize> {
        Ok(fs::read_to_string(self.folder.join("tries"))?.lines().count())
    }
}

/// What sends letters; in the other process, up to where that is killed.
#[expect(clippy::unused_async, reason = "an executor is an async function")]
async fn send(post: Post, ctx: StepContext) -> Result<&'static str, ExecutorError> {
    let sent = post.send(ctx.idempotency_key())?;
    if post.sender == Sender::Other && ctx.step().id.as_str() == DEADLY {
        println!("{SENT}");
        io::stdout().flush()?;
        // Were it not killed, it would end with the process that it waits for.
        io::stdin().read_line(&mut String::new())?;
        process::abort();
    }
    Ok(sent)
}

async fn runner(folder: &Path, post: Post) -> Result<PlanRunner, Box<dyn Error>> {
    // By its key a letter is sent once, however often it is tried.
    let executor = FunctionStepExecutor::new(move |_, ctx| send(post.clone(), ctx))
        .with_capabilities(Capabilities::new().with_effects(Effects::Idempotent));
    let journal = FileJournal::open(folder.join("plans")).await?;
    Ok(PlanRunner::builder().executor(executor).journal(journal).build()?)
}

/// Has another process begin the plan, and kills it where it says so.
fn begin_and_kill(folder: &Path) -> Result<(), Box<dyn Error>> {
    let mut other =
        Command::new(env::current_exe()?).arg(folder).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let lines = BufReader::new(other.stdout.take().ok_or("the other process has an output")?).lines();
    let is_reached = lines.map_while(Result::ok).any(|line| line == SENT);
    // SIGKILL on Unix: it has no chance to tidy up.
    other.kill()?;
    let status = other.wait()?;
    println!("the other process: {status}");
    if is_reached { Ok(()) } else { Err("the other process ended too early".into()) }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    if let Some(folder) = env::args_os().nth(1).map(PathBuf::from) {
        let post = Post::open(&folder.join("post"), Sender::Other)?;
        runner(&folder, post).await?.run_plan(plan()?).await?;
        return Ok(());
    }
    let directory = tempfile::tempdir()?;
    let folder = directory.path();
    begin_and_kill(folder)?;

    let post = Post::open(&folder.join("post"), Sender::This)?;
    let (runner, id) = (runner(folder, post.clone()).await?, PlanId::new("letters")?);
    let left = runner.status(&id).await?;
    for (step, status) in left.plan.steps().iter().zip(&left.steps) {
        println!("  {}: {status}", step.id);
    }
    let run = runner.resume(&id).await?;
    println!("resumed: {}, {} starts", run.stop, run.executed);
    for (step, report) in run.plan.steps().iter().zip(&run.steps) {
        let text = run.text(&step.id).unwrap_or("nothing");
        println!("  {}: {}, attempt {}: {text}", step.id, report.status, report.attempts);
    }

    let (tries, sent) = (post.tries()?, post.sent()?);
    println!("tried {tries} times, sent {}:\n  {}", sent.len(), sent.join("\n  "));
    let by_other = sent.iter().filter(|letter| letter.ends_with("the other process")).count();
    let is_right = (run.stop, tries, sent.len(), by_other) == (StopReason::Completed, 6, 5, 3);
    if is_right { Ok(()) } else { Err("a letter was sent twice, or not at all".into()) }
}
