//! A team whose tasks follow small programs, step by step, under given rules.

use std::{collections::BTreeMap, fmt, iter, sync::Arc};

use convoke_core::ErrorCode;

use super::{
    reference::{RefStanding, Reference, Slot},
    rules::{Call, Name, Request, Rules, Told, Wanted},
};
use crate::dispatch::Availability;

/// What a task asks for, and what it does once it runs.
pub(super) struct Spec {
    pub(super) want: Wanted,
    pub(super) program: Vec<Op>,
}

#[derive(Clone, Debug)]
pub(super) enum Op {
    /// Starts nested tasks and awaits them all.
    Call(Vec<Arc<Spec>>),
    /// Starts an independent task, which a handle stands for.
    Start(usize, Arc<Spec>),
    /// Awaits what a handle stands for, if it is there and nobody else awaits it.
    Join(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Status {
    /// Started, and not in line yet.
    Coming,
    Queued,
    Running,
    Detached,
    Done,
    Refused,
}

#[derive(Clone, Debug)]
pub(super) struct Task {
    pub(super) status: Status,
    pub(super) spec: Arc<Spec>,
    /// How many operations of its program are behind it.
    at: usize,
    pub(super) awaited: Vec<usize>,
    /// The task that started it and awaits it.
    parent: Option<usize>,
}

/// What can happen next.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// A task asks for what it wants, does the next operation of its program, or ends after the last.
    Next(usize),
    /// A task does not wait any longer for its only child, which is given up and goes on without it.
    GiveUp(usize),
    /// A task awaits nothing any more, and what it awaited goes on as if it had not been awaited.
    Abandon(usize),
    /// The last agent goes.
    Offline,
}

/// Who was refused because of a wait that cannot end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// A ticket.
    Ticket(usize),
    /// The wait of a task for one that is there already.
    Wait(usize),
}

#[derive(Clone)]
pub(super) struct Team<R> {
    pub(super) rules: R,
    pub(super) tasks: Vec<Task>,
    handles: BTreeMap<usize, usize>,
    offline: bool,
    /// Those of the last step.
    pub(super) refused: Vec<Refused>,
}

/// The agent that may go.
const LEAVER: &str = "c";

/// All that tells one state from another: of each task where it stands, whom it awaits, and what it holds.
pub(super) type Key = (Vec<(Status, usize, Vec<usize>, Option<Held>)>, Vec<(usize, usize)>, bool);
type Held = (Option<&'static str>, Option<Slot>);

impl<R: Rules> Team<R> {
    pub(super) fn new(rules: R, capacities: [u32; 3], roots: &[Arc<Spec>]) -> Self {
        let (tasks, handles) = (Vec::new(), BTreeMap::new());
        let mut team = Self { rules, tasks, handles, offline: false, refused: Vec::new() };
        let agents = [("a", ["a", "ab", "ac"]), ("b", ["b", "ab", "bc"]), ("c", ["c", "ac", "bc"])];
        for ((agent, skills), max) in agents.into_iter().zip(capacities) {
            team.call(&Call::Register { agent, skills: skills.to_vec(), max });
        }
        for root in roots {
            team.start(root, None);
        }
        team
    }

    /// The same team under other rules, which stand where these do.
    pub(super) fn under<O>(&self, rules: O) -> Team<O> {
        let Self { tasks, handles, offline, .. } = self.clone();
        Team { rules, tasks, handles, offline, refused: Vec::new() }
    }

    pub(super) fn key(&self) -> Key {
        let claims = &self.rules.reference().claims;
        let held = |task: usize| match claims.get(&name(task))?.standing {
            RefStanding::Holding { agent, slot, .. } => Some((agent, slot)),
            _ => None,
        };
        let tasks = self.tasks.iter().enumerate();
        let tasks = tasks.map(|(index, task)| (task.status, task.at, task.awaited.clone(), held(index)));
        (tasks.collect(), self.handles.iter().map(|(&name, &task)| (name, task)).collect(), self.offline)
    }

    /// Those that go on by themselves: that run and wait for nobody, or were given up.
    pub(super) fn awake(&self) -> usize {
        let is_awake = |task: &&Task| task.status == Status::Running && task.awaited.is_empty();
        self.tasks.iter().filter(is_awake).count() + self.detached()
    }

    pub(super) fn detached(&self) -> usize {
        self.tasks.iter().filter(|task| task.status == Status::Detached).count()
    }

    pub(super) fn is_over(&self) -> bool {
        self.tasks.iter().all(|task| matches!(task.status, Status::Done | Status::Refused))
    }

    /// Steps of the tasks themselves.
    pub(super) fn own_steps(&self) -> Vec<Step> {
        let can_go_on = |task: &Task| match task.status {
            Status::Running => task.awaited.is_empty(),
            Status::Coming | Status::Detached => true,
            _ => false,
        };
        self.those(can_go_on).map(Step::Next).collect()
    }

    /// Steps that come from outside.
    pub(super) fn other_steps(&self) -> Vec<Step> {
        let gives_up = |task: &Task| {
            let child = task.awaited.first().map(|&child| &self.tasks[child]);
            let is_nested =
                child.is_some_and(|child| child.status == Status::Running && child.parent.is_some());
            task.status == Status::Running && task.awaited.len() == 1 && is_nested
        };
        let awaits = |task: &Task| task.status == Status::Running && !task.awaited.is_empty();
        let giving_up = self.those(gives_up).map(Step::GiveUp);
        let gone = Some(Step::Offline).filter(|_| !self.offline);
        giving_up.chain(self.those(awaits).map(Step::Abandon)).chain(gone).collect()
    }

    fn those(&self, are: impl Fn(&Task) -> bool) -> impl Iterator<Item = usize> {
        self.tasks.iter().enumerate().filter(move |(_, task)| are(task)).map(|(index, _)| index)
    }

    pub(super) fn after(&self, step: Step) -> Self {
        let mut next = self.clone();
        next.refused.clear();
        match step {
            Step::Next(task) => next.go_on(task),
            Step::GiveUp(task) => next.give_up(task),
            Step::Abandon(task) => {
                next.tasks[task].awaited.clear();
                next.call(&Call::CloseWait { wait: name(task) });
            }
            Step::Offline => {
                next.offline = true;
                next.call(&Call::Set { agent: LEAVER, availability: Availability::Offline });
            }
        }
        next.wake();
        next
    }

    fn go_on(&mut self, task: usize) {
        let Task { status, spec, at, .. } = self.tasks[task].clone();
        if status == Status::Coming {
            let request = Request::new(name(task), spec.want.clone());
            self.request(task, Request { is_claimed: true, ..request });
            if self.tasks[task].status == Status::Refused {
                // Its claim was there before, and stays.
                self.call(&Call::Withdraw { task: name(task) });
            }
            return;
        }
        let op = spec.program.get(at).filter(|_| status == Status::Running);
        self.tasks[task].at += usize::from(op.is_some());
        match op {
            None => {
                self.tasks[task].status = Status::Done;
                self.call(&Call::Release { task: name(task) });
            }
            Some(Op::Call(specs)) => {
                self.call(&Call::OpenWait { wait: name(task), awaiter: name(task) });
                for spec in specs {
                    let child = self.start(spec, Some(task));
                    self.tasks[task].awaited.push(child);
                }
            }
            Some(Op::Start(handle, spec)) => {
                let started = self.add(spec, None, Status::Coming);
                self.call(&Call::Claim { task: name(started), pool: 0 });
                self.handles.insert(*handle, started);
            }
            Some(Op::Join(handle)) => {
                if let Some(&other) = self.handles.get(handle) {
                    self.join(task, other);
                }
            }
        }
    }

    fn join(&mut self, task: usize, other: usize) {
        let is_there = self.rules.reference().claims.get(&name(other));
        if is_there.is_none_or(|claim| claim.awaited_in.is_some()) {
            return;
        }
        self.call(&Call::OpenWait { wait: name(task), awaiter: name(task) });
        if self.call(&Call::Await { wait: name(task), task: name(other) }) == Told::Done(true) {
            self.tasks[task].awaited.push(other);
        } else {
            self.refused.push(Refused::Wait(task));
            self.call(&Call::CloseWait { wait: name(task) });
        }
    }

    fn start(&mut self, spec: &Arc<Spec>, parent: Option<usize>) -> usize {
        let task = self.add(spec, parent, Status::Queued);
        let awaited_in = parent.map(name);
        self.request(task, Request { awaited_in, ..Request::new(name(task), spec.want.clone()) });
        task
    }

    fn add(&mut self, spec: &Arc<Spec>, parent: Option<usize>, status: Status) -> usize {
        self.tasks.push(Task { status, spec: Arc::clone(spec), at: 0, awaited: vec![], parent });
        self.tasks.len() - 1
    }

    fn request(&mut self, task: usize, request: Request) {
        // Before others hear of it, who may be told of this one too.
        self.tasks[task].status = Status::Queued;
        let told = self.call(&Call::Request(request));
        self.note(task, &told);
    }

    /// What was awaited runs on alone; what that awaited in turn is cancelled.
    fn give_up(&mut self, task: usize) {
        let child = self.tasks[task].awaited.remove(0);
        self.tasks[child].status = Status::Detached;
        self.call(&Call::Detach { task: name(child) });
        self.call(&Call::CloseWait { wait: name(task) });
        self.cancel_what_awaits_nobody(child);
    }

    fn cancel_what_awaits_nobody(&mut self, parent: usize) {
        for child in std::mem::take(&mut self.tasks[parent].awaited) {
            let status = self.tasks[child].status;
            if self.tasks[child].parent != Some(parent) || !matches!(status, Status::Queued | Status::Running)
            {
                continue;
            }
            self.tasks[child].status = Status::Refused;
            self.call(&match status {
                Status::Queued => Call::Withdraw { task: name(child) },
                _ => Call::Release { task: name(child) },
            });
            self.cancel_what_awaits_nobody(child);
        }
    }

    /// Waits whose last task has ended are over.
    fn wake(&mut self) {
        loop {
            let over = |status| matches!(status, Status::Done | Status::Refused);
            let statuses: Vec<_> = self.tasks.iter().map(|task| task.status).collect();
            let woken = self.tasks.iter().position(|task| {
                !task.awaited.is_empty() && task.awaited.iter().all(|&one| over(statuses[one]))
            });
            let Some(woken) = woken else { return };
            self.tasks[woken].awaited.clear();
            self.call(&Call::CloseWait { wait: name(woken) });
        }
    }

    fn call(&mut self, call: &Call) -> Told {
        let (own, told) = self.rules.call(call);
        for (task, told) in told {
            self.note(number(task), &told);
        }
        own
    }

    fn note(&mut self, task: usize, told: &Told) {
        self.tasks[task].status = match told {
            Told::Granted(_) => Status::Running,
            Told::Refused(code) => {
                self.refused
                    .extend(iter::once(Refused::Ticket(task)).filter(|_| *code == ErrorCode::WaitCycle));
                Status::Refused
            }
            Told::Unawaited => {
                let mut waiters = self.those(|one| one.awaited.contains(&task));
                let waiter = waiters.next().expect("somebody awaits it");
                drop(waiters);
                self.refused.push(Refused::Wait(waiter));
                self.tasks[waiter].awaited.retain(|&one| one != task);
                return;
            }
            _ => return,
        };
    }
}

impl Team<Reference> {
    /// Whether what was refused comes about in some order of steps, with nobody refused any more.
    pub(super) fn reaches(&self, goal: Refused) -> bool {
        match goal {
            Refused::Ticket(task) => matches!(self.tasks[task].status, Status::Running | Status::Done),
            Refused::Wait(task) => self.tasks[task].awaited.is_empty(),
        }
    }
}

impl fmt::Debug for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.want {
            Wanted::Agent { skills, preferred } => {
                write!(f, "{}{:?}", skills.iter().chain(preferred).copied().collect::<String>(), self.program)
            }
            Wanted::Slot => write!(f, "slot{:?}", self.program),
        }
    }
}

/// The letter of a task.
fn name(task: usize) -> Name {
    char::from_u32('À' as u32 + u32::try_from(task).unwrap()).unwrap()
}

fn number(name: Name) -> usize {
    usize::try_from(u32::from(name) - 'À' as u32).unwrap()
}
