//! What can happen to a session.

use proptest::{bool::weighted, collection::vec, option, prelude::*, sample::select};

use convoke_core::TaskStatus;
use convoke_session::{IfCompleted, Reconcile};

use super::{TASKS, VALUE_BYTES};

/// A message: its size, and its call.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    pub(crate) bytes: usize,
    pub(crate) call: Option<u8>,
}

/// The token that a request carries. What is recorded where nothing is: the empty one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    Nothing,
    Recorded,
    Wrong,
}

/// How an attempt is to end.
#[derive(Clone, Debug)]
pub(crate) struct Carried {
    pub(crate) status: TaskStatus,
    pub(crate) answer: usize,
    pub(crate) messages: Vec<Said>,
    pub(crate) artifacts: Vec<(u8, usize)>,
    pub(crate) has_token: bool,
    pub(crate) detached: bool,
}

/// How an attempt is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) input: Vec<Said>,
    pub(crate) sent: Sent,
    /// What its request is, by digest.
    pub(crate) request: Option<u8>,
    pub(crate) if_completed: IfCompleted,
    pub(crate) late: Option<Reconcile>,
    pub(crate) is_coordinated: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum Operation {
    Admit { task: usize, asked: Asked },
    Start { task: usize, is_coordinated: bool },
    Settle { task: usize, carried: Carried },
    SettleAgain { nth: usize },
    Drop { task: usize },
    DetachedEnded { task: usize, attempt: Option<u32>, late: Option<Carried> },
    Forfeit { task: usize, attempt: Option<u32> },
    Reconcile { task: usize, word: Reconcile },
    HostPost { said: Said },
    Post { nth: usize, said: Said },
    PostLatest { said: Said },
    Publish { nth: usize, id: u8, bytes: usize },
    HandleSet { nth: usize, key: &'static str, bytes: usize },
    Set { key: &'static str, bytes: usize },
    CompareAndSet { key: &'static str, bytes: usize, is_current: bool },
    Erase { key: &'static str },
    Trim { keep: usize },
    Snapshot,
}

/// Single ones, and attempts from their start to whatever comes after their end, which would rarely come about by chance.
pub(crate) fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let part = prop_oneof![
        20 => operation().prop_map(|operation| vec![operation]),
        3 => life(),
    ];
    vec(part, 1..100).prop_map(|parts| parts.concat())
}

fn life() -> impl Strategy<Value = Vec<Operation>> {
    let late = option::weighted(0.9, carried());
    let post = option::weighted(0.3, said());
    let word = option::weighted(0.8, word());
    (0..TASKS.len(), asked(), post, carried(), late, word).prop_map(
        |(task, asked, post, carried, late, word)| {
            let is_coordinated = asked.is_coordinated;
            let mut life = vec![Operation::Admit { task, asked }, Operation::Start { task, is_coordinated }];
            life.extend(post.map(|said| Operation::PostLatest { said }));
            life.push(Operation::Settle { task, carried });
            life.push(Operation::DetachedEnded { task, attempt: None, late });
            life.extend(word.map(|word| Operation::Reconcile { task, word }));
            life
        },
    )
}

fn operation() -> impl Strategy<Value = Operation> {
    let task = || 0..TASKS.len();
    let key = || select(vec!["k", "key"]);
    prop_oneof![
        6 => (task(), asked()).prop_map(|(task, asked)| Operation::Admit { task, asked }),
        6 => (task(), weighted(0.1))
            .prop_map(|(task, is_coordinated)| Operation::Start { task, is_coordinated }),
        6 => (task(), carried()).prop_map(|(task, carried)| Operation::Settle { task, carried }),
        1 => (0..9_usize).prop_map(|nth| Operation::SettleAgain { nth }),
        1 => task().prop_map(|task| Operation::Drop { task }),
        5 => (task(), attempt(), option::weighted(0.9, carried()))
            .prop_map(|(task, attempt, late)| Operation::DetachedEnded { task, attempt, late }),
        1 => (task(), attempt()).prop_map(|(task, attempt)| Operation::Forfeit { task, attempt }),
        4 => (task(), word()).prop_map(|(task, word)| Operation::Reconcile { task, word }),
        2 => said().prop_map(|said| Operation::HostPost { said }),
        4 => (0..9_usize, said()).prop_map(|(nth, said)| Operation::Post { nth, said }),
        4 => (0..9_usize, 0..2_u8, bytes())
            .prop_map(|(nth, id, bytes)| Operation::Publish { nth, id, bytes }),
        2 => (0..9_usize, key(), bytes())
            .prop_map(|(nth, key, bytes)| Operation::HandleSet { nth, key, bytes }),
        1 => (key(), bytes()).prop_map(|(key, bytes)| Operation::Set { key, bytes }),
        2 => (key(), bytes(), any::<bool>())
            .prop_map(|(key, bytes, is_current)| Operation::CompareAndSet { key, bytes, is_current }),
        1 => key().prop_map(|key| Operation::Erase { key }),
        1 => (0..8_usize).prop_map(|keep| Operation::Trim { keep }),
        2 => Just(Operation::Snapshot),
    ]
}

/// Now and then above the limit of a value.
fn bytes() -> impl Strategy<Value = usize> {
    prop_oneof![9 => 0..12_usize, 1 => 0..VALUE_BYTES + 3]
}

fn said() -> impl Strategy<Value = Said> {
    (bytes(), option::weighted(0.4, 0..3_u8)).prop_map(|(bytes, call)| Said { bytes, call })
}

fn sent() -> impl Strategy<Value = Sent> {
    prop_oneof![4 => Just(Sent::Nothing), 5 => Just(Sent::Recorded), 1 => Just(Sent::Wrong)]
}

fn asked() -> impl Strategy<Value = Asked> {
    let request = option::weighted(0.8, 0..2_u8);
    let if_completed = select(vec![IfCompleted::Refuse, IfCompleted::Return, IfCompleted::Again]);
    let late = option::weighted(0.3, word());
    (vec(said(), 0..3), sent(), request, if_completed, late, weighted(0.2)).prop_map(
        |(input, sent, request, if_completed, late, is_coordinated)| Asked {
            input,
            sent,
            request,
            if_completed,
            late,
            is_coordinated,
        },
    )
}

/// Mostly the latest one.
fn attempt() -> impl Strategy<Value = Option<u32>> {
    option::weighted(0.1, 1..4_u32)
}

/// One that closes the task rarely, since nothing happens to it after that.
fn word() -> impl Strategy<Value = Reconcile> {
    prop_oneof![
        4 => Just(Reconcile::Retry),
        9 => Just(Reconcile::AcceptLate),
        1 => Just(Reconcile::Abandon),
    ]
}

fn carried() -> impl Strategy<Value = Carried> {
    use TaskStatus::{Blocked, Cancelled, Completed, Failed, InputRequired, Submitted, TimedOut, Working};
    let status = prop_oneof![
        3 => Just(Completed),
        9 => Just(InputRequired),
        6 => select(vec![Failed, Blocked, Cancelled]),
        8 => Just(TimedOut),
        1 => select(vec![Submitted, Working]),
    ];
    let artifacts = vec((0..2_u8, bytes()), 0..2);
    (status, bytes(), vec(said(), 0..2), artifacts, any::<bool>(), weighted(0.6)).prop_map(
        |(status, answer, messages, artifacts, has_token, detached)| Carried {
            status,
            answer,
            messages,
            artifacts,
            has_token,
            detached,
        },
    )
}
