//! What can happen to a session.

use proptest::{collection::vec, option, prelude::*, sample::select};

use convoke_core::TaskStatus;

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

#[derive(Clone, Debug)]
pub(crate) enum Operation {
    Admit { task: usize, input: Vec<Said>, sent: Sent },
    Start { task: usize },
    Settle { task: usize, carried: Carried },
    SettleAgain { nth: usize },
    Drop { task: usize },
    DetachedEnded { task: usize, attempt: u32 },
    HostPost { said: Said },
    Post { nth: usize, said: Said },
    Publish { nth: usize, id: u8, bytes: usize },
    HandleSet { nth: usize, key: &'static str, bytes: usize },
    Set { key: &'static str, bytes: usize },
    CompareAndSet { key: &'static str, bytes: usize, is_current: bool },
    Erase { key: &'static str },
    Trim { keep: usize },
    Snapshot,
}

pub(crate) fn operation() -> impl Strategy<Value = Operation> {
    let task = || 0..TASKS.len();
    let key = || select(vec!["k", "key"]);
    prop_oneof![
        6 => (task(), vec(said(), 0..3), sent())
            .prop_map(|(task, input, sent)| Operation::Admit { task, input, sent }),
        6 => task().prop_map(|task| Operation::Start { task }),
        6 => (task(), carried()).prop_map(|(task, carried)| Operation::Settle { task, carried }),
        1 => (0..9_usize).prop_map(|nth| Operation::SettleAgain { nth }),
        1 => task().prop_map(|task| Operation::Drop { task }),
        2 => (task(), 1..4_u32).prop_map(|(task, attempt)| Operation::DetachedEnded { task, attempt }),
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

fn carried() -> impl Strategy<Value = Carried> {
    use TaskStatus::{Blocked, Cancelled, Completed, Failed, InputRequired, Submitted, TimedOut, Working};
    let status = prop_oneof![
        3 => Just(Completed),
        9 => Just(InputRequired),
        6 => select(vec![Failed, Blocked, Cancelled]),
        2 => select(vec![TimedOut, Submitted, Working]),
    ];
    let artifacts = vec((0..2_u8, bytes()), 0..2);
    (status, bytes(), vec(said(), 0..2), artifacts, any::<bool>(), proptest::bool::weighted(0.2)).prop_map(
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
