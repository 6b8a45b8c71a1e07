//! `session`: messages appended, a snapshot after each.
//!
//! Work: `Session::post` and `Session::snapshot`, without limits. Floor: a persistent vector of the same messages, each
//! with an id that is made alike, and a copy of the vector after each.

use std::{hint::black_box, sync::Arc};

use anyhow::Result;

use convoke::{Message, MessageId, Session, SessionId, SessionLimits};

use crate::{
    benchmark::{Case, Leftover, Prepared, Side, Size},
    clock::Clock,
};

pub(super) const CASES: [Case; 1] = [Case {
    benchmark: "session",
    variant: "",
    size: Size::Units,
    clock: Clock::Thread,
    sizes: &[10_000, 1_000_000],
    small: &[10_000, 100_000],
    floor: Side::new(|units| {
        Box::pin(async move { Ok::<Prepared, _>(Box::pin(async move { floor(units) })) })
    }),
    work: Side::new(|units| {
        Box::pin(async move {
            let session = Session::with_limits(SessionId::new("bench")?, SessionLimits::unlimited());
            Ok::<Prepared, _>(Box::pin(work(session, units)))
        })
    }),
}];

fn message() -> Message {
    Message::user("a line of text")
}

fn floor(units: usize) -> Result<Leftover> {
    let mut messages = imbl::Vector::new();
    for sequence in 0..units {
        let id = MessageId::new(format!("host/{sequence}"))?;
        messages.push_back(Arc::new((id, message())));
        black_box(messages.clone());
    }
    Ok(Box::new(messages))
}

async fn work(session: Session, units: usize) -> Result<Leftover> {
    for _ in 0..units {
        black_box(session.post(message()).await?);
        black_box(session.snapshot());
    }
    Ok(Box::new(session))
}
