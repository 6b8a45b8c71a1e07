//! What a sink must hold.

use std::{collections::HashMap, thread, time::Duration};

use convoke_core::{AgentDescriptor, IdGenerator};
use convoke_observability::{Event, EventId, EventIds, EventSink};

const THREADS: u64 = 4;
const TASKS_PER_THREAD: u64 = 2;
const EVENTS_PER_TASK: usize = 25;

/// What [`event_sink`] has published.
#[derive(Debug)]
#[must_use = "check what arrived with `assert_delivered`, where the sink lets you read it"]
pub struct Published {
    tasks: Vec<Vec<Event>>,
}

/// Publishes events as runtimes do: from several threads at a time, those of one task in order, with few fields and with
/// all of them.
///
/// ```
/// use convoke_observability::MemorySink;
/// use convoke_testkit::conformance;
///
/// let sink = MemorySink::new();
/// let published = conformance::event_sink(&sink);
/// published.assert_delivered(sink.events().into_iter().map(|event| event.id));
/// ```
///
/// # Panics
///
/// Where the sink panics or refuses an event.
pub fn event_sink(sink: &impl EventSink) -> Published {
    let ids = &EventIds::new("conformance");
    let tasks = thread::scope(|scope| {
        let publishers: Vec<_> =
            (0..THREADS).map(|thread| scope.spawn(move || publish(sink, ids, thread))).collect();
        let published: Vec<_> = publishers.into_iter().map(thread::ScopedJoinHandle::join).collect();
        published
    });
    let mut published = Published { tasks: Vec::new() };
    for tasks in tasks {
        match tasks {
            Ok(tasks) => published.tasks.extend(tasks),
            Err(payload) => std::panic::resume_unwind(payload),
        }
    }
    published
}

/// Publishes the events of this thread's tasks, those of one between those of the other.
fn publish(sink: &impl EventSink, ids: &EventIds, thread: u64) -> Vec<Vec<Event>> {
    let mut tasks = vec![Vec::new(); usize::try_from(TASKS_PER_THREAD).unwrap_or_default()];
    for number in 0..EVENTS_PER_TASK {
        for (event_task, task) in tasks.iter_mut().zip(0..) {
            let event = event(ids.next_id(), thread * TASKS_PER_THREAD + task, number);
            let taken = sink.publish(event.clone());
            assert!(taken.is_ok(), "the sink refused event `{}`: {taken:?}", event.id);
            event_task.push(event);
        }
    }
    tasks
}

/// Every other event has every field.
fn event(id: EventId, task: u64, number: usize) -> Event {
    let ids = IdGenerator::seeded(task);
    let (task, session) = (ids.task(0), ids.session(0));
    let event = Event::new(id, 1_767_225_600_000, "conformance", "started", task.as_str());
    if number.is_multiple_of(2) {
        return event.with_task(task);
    }
    event
        .with_trace_id("trace \"1\"\n")
        .with_parents(["span 1".into(), "span 2".into()])
        .with_session(session)
        .with_agent(AgentDescriptor::new("agent").id().clone())
        .with_task(task)
        .with_attempt(u32::MAX)
        .with_status("working")
        .with_elapsed(Duration::MAX)
        .with_attribute("text", "line 1\nline 2 \u{1F600}".to_owned())
        .with_attribute("count", u64::MAX)
        .with_attribute("is_last", number + 1 == EVENTS_PER_TASK)
}

impl Published {
    /// How many events were published.
    pub fn len(&self) -> usize {
        self.tasks.iter().map(Vec::len).sum()
    }

    /// Whether none was.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Checks that all arrived, each once, those of one task in the order in which they were published.
    ///
    /// # Panics
    ///
    /// Where that is not so.
    #[track_caller]
    pub fn assert_delivered(&self, arrived: impl IntoIterator<Item = EventId>) {
        let mut places = HashMap::new();
        for (place, id) in arrived.into_iter().enumerate() {
            let earlier = places.insert(id.clone(), place);
            assert!(earlier.is_none(), "event `{id}` arrived twice");
        }
        for events in &self.tasks {
            let mut before = None;
            for event in events {
                let place = places.remove(&event.id);
                assert!(place.is_some(), "event `{}` did not arrive", event.id);
                assert!(place > before, "event `{}` arrived before an earlier one of its task", event.id);
                before = place;
            }
        }
        assert!(places.is_empty(), "events arrived that nobody published: {:?}", places.keys());
    }
}
