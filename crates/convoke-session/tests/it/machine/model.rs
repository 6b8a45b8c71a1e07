//! The reference: plain collections, everything counted again each time.

use std::collections::{BTreeMap, BTreeSet};

use convoke_core::TaskStatus::{
    self, Blocked, Cancelled, Completed, Failed, InputRequired, Submitted, TimedOut, Working,
};

use convoke_session::{IfCompleted, Reconcile};

use super::{
    ARTIFACTS, BYTES, MESSAGES, VALUE_BYTES,
    operation::{Asked, Carried, Said, Sent},
};

/// What a settlement comes to.
#[derive(Debug)]
pub(crate) enum Settled {
    Done,
    Ended,
    Illegal,
    Repeated,
    TooLarge,
    Full,
}

#[derive(Default)]
pub(crate) struct Model {
    revision: u64,
    last_sequence: u64,
    messages: Vec<Kept>,
    artifacts: BTreeMap<(String, u8), (u32, usize)>,
    state: BTreeMap<String, (usize, u64)>,
    tasks: BTreeMap<String, Record>,
    open: BTreeMap<String, Open>,
}

struct Kept {
    sequence: u64,
    id: String,
    author: &'static str,
    said: Said,
}

#[derive(Clone)]
struct Record {
    attempt: u32,
    status: TaskStatus,
    agent: &'static str,
    last: Option<(u32, &'static str)>,
    has_token: bool,
    detached: bool,
    request: Option<u8>,
    late: Option<Carried>,
    decided: Option<Reconcile>,
    /// How many messages the attempt had staged.
    staged: usize,
}

impl Record {
    fn is_closed(&self) -> bool {
        self.decided == Some(Reconcile::Abandon)
    }

    fn is_late(&self) -> bool {
        self.status == TimedOut || self.late.is_some()
    }

    /// Whether the status, or what was decided, is in the way of nothing.
    fn may_go_on(&self) -> bool {
        matches!(self.status, Failed | Blocked | Cancelled | InputRequired)
            || (self.status == TimedOut && self.decided == Some(Reconcile::Retry))
    }
}

struct Open {
    is_working: bool,
    /// Who has it, and as whom that one writes.
    worker: (&'static str, &'static str),
    input: Vec<Said>,
    pause: Option<Record>,
    staged: Vec<Said>,
    artifacts: Vec<(u8, usize)>,
}

/// Messages, bytes, artifacts.
type Room = (usize, usize, usize);

impl Model {
    pub(crate) fn render(&self) -> Vec<String> {
        let mut lines = vec![format!("revision {}", self.revision)];
        lines.extend(self.messages.iter().map(|kept| {
            let call = kept.said.call.map_or("-".into(), |call| call.to_string());
            format!("{} {} by {}: {}, {call}", kept.sequence, kept.id, kept.author, kept.said.bytes)
        }));
        let artifacts = self.artifacts.iter();
        lines
            .extend(artifacts.map(|((task, id), (attempt, bytes))| {
                format!("artifact {task}, {id} of {attempt}: {bytes}")
            }));
        let state = self.state.iter();
        lines.extend(state.map(|(key, (bytes, revision))| format!("state {key} at {revision}: {bytes}")));
        lines.extend(self.tasks.iter().map(|(task, record)| {
            let Record { attempt, status, agent, last, detached, decided, .. } = record;
            let flag = if *detached { ", detached" } else { "" };
            let late = record.late.as_ref().map(|late| (*attempt, late.status.as_str()));
            format!(
                "task {task} {attempt} {status} at {agent}, last {last:?}, late {late:?}, {decided:?}{flag}"
            )
        }));
        lines
    }

    pub(crate) fn admit(&mut self, task: &str, asked: &Asked) -> String {
        let Asked { input, sent, request, if_completed, late, is_coordinated } = asked;
        let sent = *sent;
        let record = self.tasks.get(task).cloned();
        if *late == Some(Reconcile::Abandon) {
            return "invalid_request".into();
        }
        let mut is_reconciled = false;
        if let Some(record) = &record {
            let is_completed = record.status == Completed;
            if is_completed && *if_completed == IfCompleted::Return {
                let is_same = request.is_some() && *request == record.request;
                return if is_same { "recorded" } else { "invalid_request" }.into();
            }
            let late = late.filter(|_| record.is_late());
            if late == Some(Reconcile::AcceptLate) {
                let answer = self.reconcile(task, Reconcile::AcceptLate);
                return if answer == "ok" { "accepted".into() } else { answer };
            }
            is_reconciled = late.is_some();
            let may_go_on = record.may_go_on()
                || (is_completed && *if_completed == IfCompleted::Again)
                || (record.status == TimedOut && is_reconciled);
            if record.is_closed() || !may_go_on {
                return "invalid_request".into();
            }
            if record.detached {
                return "still_detached".into();
            }
        }
        let pause = record.clone().filter(|record| record.status == InputRequired);
        let fits = match (&pause, sent) {
            (None, sent) => sent == Sent::Nothing,
            (Some(pause), Sent::Recorded) => (pause.agent == "-") == *is_coordinated,
            (Some(_), Sent::Wrong) => false,
            (Some(pause), Sent::Nothing) => !pause.has_token,
        };
        if !fits {
            return "invalid_request".into();
        }
        if input.iter().any(|said| said.bytes > VALUE_BYTES) {
            return "too large".into();
        }
        if !self.fits(sizes(input)) {
            return "full".into();
        }
        let required = pause.as_ref().filter(|_| sent == Sent::Recorded).map_or("-", |pause| pause.agent);
        let last = record.as_ref().and_then(|record| record.last);
        let attempt = record.map_or(1, |record| record.attempt + 1);
        let submitted = Record {
            attempt,
            status: Submitted,
            agent: "-",
            last,
            has_token: false,
            detached: false,
            request: *request,
            late: None,
            decided: None,
            staged: 0,
        };
        self.tasks.insert(task.into(), submitted);
        let open = Open {
            is_working: false,
            worker: ("-", "-"),
            input: input.clone(),
            pause,
            staged: vec![],
            artifacts: vec![],
        };
        self.open.insert(task.into(), open);
        self.revision += 1;
        format!("ok at {required}, {is_reconciled}")
    }

    pub(crate) fn start(&mut self, task: &str, is_coordinated: bool) {
        let Some(open) = self.open.get_mut(task).filter(|open| !open.is_working) else { return };
        open.is_working = true;
        open.worker = if is_coordinated { ("-", "team") } else { ("writer", "agent `writer`") };
        let mut input = std::mem::take(&mut open.input);
        if is_coordinated {
            input.clear();
        }
        let record = self.tasks.get_mut(task).unwrap();
        (record.status, record.agent) = (Working, open.worker.0);
        let attempt = record.attempt;
        for (index, said) in input.into_iter().enumerate() {
            self.keep(id(task, attempt, "input", index), "agent `lead`", said);
        }
        self.revision += 1;
    }

    pub(crate) fn settle(&mut self, task: &str, carried: &Carried) -> Settled {
        let Some(open) = self.open.get(task) else { return Settled::Ended };
        let is_working = open.is_working;
        let publishes = matches!(carried.status, Completed | InputRequired);
        if matches!(carried.status, Submitted | Working) || (publishes && !is_working) {
            return Settled::Illegal;
        }
        let numbered = open.staged.iter().cloned().enumerate();
        let mut said: Vec<(usize, Said)> = numbered.map(|(index, said)| (index + 1, said)).collect();
        let staged = open.staged.len();
        said.extend(returned(carried, staged));
        let artifacts: Vec<_> = open.artifacts.iter().chain(&carried.artifacts).copied().collect();
        if publishes && let Some(refused) = self.refuses(task, &said, &artifacts) {
            return refused;
        }

        let open = self.open.remove(task).unwrap();
        let attempt = self.tasks[task].attempt;
        if publishes {
            self.publish(task, attempt, open.worker.1, said, artifacts);
        }
        let before = self.tasks[task].clone();
        let record = match open.pause.filter(|_| !is_working) {
            Some(pause) => Record { attempt, ..pause },
            None => Record {
                attempt,
                status: carried.status,
                agent: open.worker.0,
                last: Some((attempt, carried.status.as_str())),
                has_token: carried.status == InputRequired && carried.has_token,
                detached: carried.detached && is_working,
                staged,
                ..before
            },
        };
        self.tasks.insert(task.into(), record);
        self.revision += 1;
        Settled::Done
    }

    fn publish(
        &mut self,
        task: &str,
        attempt: u32,
        author: &'static str,
        said: Vec<(usize, Said)>,
        artifacts: Vec<(u8, usize)>,
    ) {
        for (place, said) in said {
            self.keep(id(task, attempt, "output", place), author, said);
        }
        for (id, bytes) in artifacts {
            self.artifacts.insert((task.into(), id), (attempt, bytes));
        }
    }

    pub(crate) fn reconcile(&mut self, task: &str, word: Reconcile) -> String {
        let Some(record) = self.tasks.get(task).cloned() else { return "invalid_request".into() };
        if record.detached && !record.is_closed() {
            return "still_detached".into();
        }
        if record.is_closed() || matches!(record.status, Submitted | Working | Completed) {
            return "invalid_request".into();
        }
        let mut then = Record { late: None, decided: Some(word), ..record.clone() };
        match word {
            Reconcile::Retry if record.may_go_on() => return "invalid_request".into(),
            Reconcile::Abandon if record.status == InputRequired => {
                (then.status, then.has_token) = (Cancelled, false);
                then.last = record.last.map(|(attempt, _)| (attempt, "cancelled"));
            }
            Reconcile::Retry | Reconcile::Abandon => {}
            Reconcile::AcceptLate => {
                let Some(late) = record.late else { return "invalid_request".into() };
                if matches!(late.status, Completed | InputRequired) {
                    let said: Vec<_> = returned(&late, record.staged).collect();
                    match self.refuses(task, &said, &late.artifacts) {
                        None => {}
                        Some(Settled::Full) => return "session_full".into(),
                        Some(_) => return "contract_violation".into(),
                    }
                    let author = if record.agent == "-" { "team" } else { "agent `writer`" };
                    self.publish(task, record.attempt, author, said, late.artifacts);
                }
                then.status = late.status;
                then.last = Some((record.attempt, late.status.as_str()));
                then.has_token = late.status == InputRequired && late.has_token;
            }
        }
        self.tasks.insert(task.into(), then);
        self.revision += 1;
        "ok".into()
    }

    /// Whether everything fits, with the attempt's own claims gone.
    fn refuses(&self, task: &str, said: &[(usize, Said)], artifacts: &[(u8, usize)]) -> Option<Settled> {
        let ids: BTreeSet<u8> = artifacts.iter().map(|(id, _)| *id).collect();
        let is_large = |bytes: &usize| *bytes > VALUE_BYTES;
        // Which of the two is named depends on which comes first.
        for (index, (id, bytes)) in artifacts.iter().enumerate() {
            if artifacts[..index].iter().any(|(earlier, _)| earlier == id) {
                return Some(Settled::Repeated);
            }
            if is_large(bytes) {
                return Some(Settled::TooLarge);
            }
        }
        if said.iter().any(|(_, said)| is_large(&said.bytes)) {
            return Some(Settled::TooLarge);
        }
        let (mut messages, mut bytes, mut count) = self.taken(Some(task));
        messages += said.len();
        bytes += said.iter().map(|(_, said)| said.bytes).sum::<usize>();
        for (id, size) in artifacts {
            bytes += size;
            bytes -= self.artifacts.get(&(task.into(), *id)).map_or(0, |(_, old)| *old);
        }
        count += ids.iter().filter(|id| !self.artifacts.contains_key(&(task.into(), **id))).count();
        let fits = messages <= MESSAGES && bytes <= BYTES && count <= ARTIFACTS;
        (!fits).then_some(Settled::Full)
    }

    pub(crate) fn drop_admission(&mut self, task: &str) -> &'static str {
        let carried = Carried {
            status: Failed,
            answer: 0,
            messages: vec![],
            artifacts: vec![],
            has_token: false,
            detached: false,
        };
        assert!(matches!(self.settle(task, &carried), Settled::Done));
        "dropped"
    }

    pub(crate) fn detached_ended(&mut self, task: &str, attempt: u32, late: Option<&Carried>) -> bool {
        let record = self.tasks.get_mut(task);
        let Some(record) = record.filter(|record| record.detached && record.attempt == attempt) else {
            return false;
        };
        record.detached = false;
        let is_kept = |late: &&Carried| {
            matches!(record.status, Failed | Blocked | Cancelled | TimedOut)
                && !matches!(late.status, Submitted | Working)
        };
        record.late = late.filter(is_kept).cloned();
        self.revision += 1;
        true
    }

    pub(crate) fn host_post(&mut self, said: &Said) -> &'static str {
        if said.bytes > VALUE_BYTES {
            return "too large";
        }
        if !self.fits((1, said.bytes, 0)) {
            return "full";
        }
        self.keep(format!("host/{}", self.last_sequence + 1), "host", said.clone());
        self.revision += 1;
        "ok"
    }

    pub(crate) fn stage_message(&mut self, owner: (&str, u32), said: &Said) -> &'static str {
        if self.is_revoked(owner) {
            "revoked"
        } else if said.bytes > VALUE_BYTES {
            "too large"
        } else if !self.fits((1, said.bytes, 0)) {
            "full"
        } else {
            self.open.get_mut(owner.0).unwrap().staged.push(said.clone());
            "ok"
        }
    }

    pub(crate) fn stage_artifact(&mut self, owner: (&str, u32), id: u8, bytes: usize) -> &'static str {
        if self.is_revoked(owner) {
            "revoked"
        } else if bytes > VALUE_BYTES {
            "too large"
        } else if !self.fits(self.growth(owner.0, id, bytes)) {
            "full"
        } else {
            self.open.get_mut(owner.0).unwrap().artifacts.push((id, bytes));
            "ok"
        }
    }

    pub(crate) fn set(
        &mut self,
        owner: Option<(&str, u32)>,
        key: &str,
        bytes: usize,
        is_current: bool,
    ) -> &'static str {
        let bytes = bytes + 2;
        let before = self.state.get(key).map_or(0, |(before, _)| before + key.len());
        if owner.is_some_and(|owner| self.is_revoked(owner)) {
            "revoked"
        } else if bytes > VALUE_BYTES {
            "too large"
        } else if !is_current {
            "conflict"
        } else if self.taken(None).1 - before + bytes + key.len() > BYTES {
            "full"
        } else {
            self.revision += 1;
            self.state.insert(key.into(), (bytes, self.revision));
            "ok"
        }
    }

    pub(crate) fn erase(&mut self, key: &str) -> bool {
        let erased = self.state.remove(key).is_some();
        self.revision += u64::from(erased);
        erased
    }

    pub(crate) fn trim(&mut self, keep: usize) -> usize {
        let before = self.messages.len();
        let cut = before.saturating_sub(keep);
        let newest = self.messages[cut..].iter().map(|kept| &kept.said);
        let pending = self.open.values().flat_map(|open| open.input.iter().chain(&open.staged));
        let late = self.tasks.values().filter_map(|record| record.late.as_ref());
        let pending = pending.chain(late.flat_map(|late| &late.messages));
        let calls: BTreeSet<u8> = newest.chain(pending).filter_map(|said| said.call).collect();
        let mut index = 0;
        self.messages.retain(|kept| {
            index += 1;
            index > cut || kept.said.call.is_some_and(|call| calls.contains(&call))
        });
        let cut = before - self.messages.len();
        self.revision += u64::from(cut > 0);
        cut
    }

    fn keep(&mut self, id: String, author: &'static str, said: Said) {
        self.last_sequence += 1;
        self.messages.push(Kept { sequence: self.last_sequence, id, author, said });
    }

    fn is_revoked(&self, (task, attempt): (&str, u32)) -> bool {
        !self.open.get(task).is_some_and(|open| open.is_working && self.tasks[task].attempt == attempt)
    }

    fn growth(&self, task: &str, id: u8, bytes: usize) -> Room {
        match self.artifacts.get(&(task.into(), id)) {
            Some((_, before)) => (0, bytes.saturating_sub(*before), 0),
            None => (0, bytes, 1),
        }
    }

    fn fits(&self, needed: Room) -> bool {
        let taken = self.taken(None);
        let is_within = |taken: usize, needed: usize, limit: usize| needed == 0 || taken + needed <= limit;
        is_within(taken.0, needed.0, MESSAGES)
            && is_within(taken.1, needed.1, BYTES)
            && is_within(taken.2, needed.2, ARTIFACTS)
    }

    /// What is there, and what open attempts but one have set aside.
    fn taken(&self, without: Option<&str>) -> Room {
        let mut rooms = vec![(
            self.messages.len(),
            self.messages.iter().map(|kept| kept.said.bytes).sum::<usize>()
                + self.artifacts.values().map(|(_, bytes)| bytes).sum::<usize>()
                + self.state.iter().map(|(key, (bytes, _))| key.len() + bytes).sum::<usize>(),
            self.artifacts.len(),
        )];
        for (task, open) in self.open.iter().filter(|(task, _)| without != Some(task.as_str())) {
            rooms.extend([sizes(&open.input), sizes(&open.staged)]);
            rooms.extend(open.artifacts.iter().map(|(id, bytes)| self.growth(task, *id, *bytes)));
        }
        rooms.into_iter().fold((0, 0, 0), |sum, room| (sum.0 + room.0, sum.1 + room.1, sum.2 + room.2))
    }
}

/// What an output says, numbered after what was staged; the answer has the first place.
fn returned(carried: &Carried, staged: usize) -> impl Iterator<Item = (usize, Said)> {
    let answer = (carried.answer > 0).then_some((0, Said { bytes: carried.answer, call: None }));
    let messages = carried.messages.iter().cloned().enumerate();
    answer.into_iter().chain(messages.map(move |(index, said)| (staged + index + 1, said)))
}

fn sizes(said: &[Said]) -> Room {
    (said.len(), said.iter().map(|said| said.bytes).sum(), 0)
}

fn id(task: &str, attempt: u32, part: &str, index: usize) -> String {
    let task = task.replace('/', "%2F");
    if index == 0 { format!("{task}/{attempt}/{part}") } else { format!("{task}/{attempt}/{part}/{index}") }
}
