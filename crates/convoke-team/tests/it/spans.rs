//! The span of a task: under its caller's, with ids alone, and closed when the work has really ended.

use std::{
    collections::HashMap,
    fmt::{self, Write as _},
    sync::{Arc, Mutex},
};

use tokio::time::sleep;
use tracing::{
    Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
    subscriber::with_default,
};
use tracing_subscriber::{
    layer::{Context, Layer, SubscriberExt as _},
    registry::{LookupSpan, Registry},
};

use convoke_core::TaskRequest;
use convoke_observability::TracingSink;
use convoke_registry::{AgentRegistry, ExecutionContext, ExecutorCapabilities, FunctionExecutor};
use convoke_testkit::{Gate, ScriptedExecutor, Step, dropped_after};

use crate::house::{House, agent, ms, registry, settle, task};

/// Keeps every span and event.
#[derive(Clone, Default)]
pub(crate) struct Spans(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    spans: Vec<Span>,
    /// Where the spans that are open stand; ids are used again.
    open: HashMap<u64, usize>,
    /// With the span that each stands in.
    events: Vec<(String, Option<usize>)>,
}

#[derive(Clone, Debug, PartialEq)]
struct Span {
    text: String,
    parent: Option<usize>,
    is_closed: bool,
}

struct Text<'a>(&'a mut String);

impl Visit for Text<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        write!(self.0, " {field}={value:?}").unwrap();
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Spans {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, ctx: Context<'_, S>) {
        let mut kept = self.0.lock().unwrap();
        let mut text = attributes.metadata().name().to_owned();
        attributes.record(&mut Text(&mut text));
        let parent = ctx.span(id).and_then(|span| span.parent());
        let parent = parent.map(|parent| kept.open[&parent.id().into_u64()]);
        let place = kept.spans.len();
        kept.open.insert(id.into_u64(), place);
        kept.spans.push(Span { text, parent, is_closed: false });
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _: Context<'_, S>) {
        let mut kept = self.0.lock().unwrap();
        let place = kept.open[&id.into_u64()];
        values.record(&mut Text(&mut kept.spans[place].text));
    }

    fn on_event(&self, event: &tracing::Event<'_>, ctx: Context<'_, S>) {
        let mut text = event.metadata().name().to_owned();
        event.record(&mut Text(&mut text));
        let mut kept = self.0.lock().unwrap();
        let place = ctx.event_span(event).map(|span| kept.open[&span.id().into_u64()]);
        kept.events.push((text, place));
    }

    fn on_close(&self, id: Id, _: Context<'_, S>) {
        let mut kept = self.0.lock().unwrap();
        let place = kept.open.remove(&id.into_u64()).unwrap();
        kept.spans[place].is_closed = true;
    }
}

impl Spans {
    /// Runs a future on a paused clock with everything that is traced kept.
    pub(crate) fn around<T>(&self, future: impl Future<Output = T>) -> T {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        with_default(Registry::default().with(self.clone()), || runtime.block_on(future))
    }

    /// All that was traced, as text.
    pub(crate) fn texts(&self) -> Vec<String> {
        let kept = self.0.lock().unwrap();
        kept.spans
            .iter()
            .map(|span| span.text.clone())
            .chain(kept.events.iter().map(|event| event.0.clone()))
            .collect()
    }

    /// Whether each span that was opened for a task is closed.
    fn are_closed(&self) -> bool {
        self.0
            .lock()
            .unwrap()
            .spans
            .iter()
            .filter(|span| span.text.starts_with("task"))
            .all(|span| span.is_closed)
    }

    fn list(&self) -> Vec<Span> {
        self.0.lock().unwrap().spans.clone()
    }
}

#[test]
fn a_task_has_a_span_under_that_of_its_caller() {
    let spans = Spans::default();
    spans.around(async {
        let house = House::of(2, ScriptedExecutor::echo());
        let caller = tracing::info_span!("caller");
        tracing::Instrument::instrument(house.run(task("t")), caller.clone()).await;
        let handle = caller.in_scope(|| house.team.spawn(task("u")));
        handle.await.unwrap();
        tracing::Instrument::instrument(house.team.run_parallel([task("v")]), caller).await;
    });
    let span = |text: &str, parent| Span { text: text.to_owned(), parent, is_closed: true };
    assert_eq!(
        spans.list(),
        [
            span("caller", None),
            span("task task=t session=s attempt=1 agent=a status=completed", Some(0)),
            span("task task=u session=s attempt=1 agent=a status=completed", Some(0)),
            span("task task=v session=s attempt=1 agent=a status=completed", Some(0)),
        ]
    );
}

#[test]
fn nested_work_has_a_span_under_that_of_its_task_also_across_a_spawn() {
    let spans = Spans::default();
    spans.around(async {
        let registry = AgentRegistry::new();
        let outer = FunctionExecutor::new(|request: TaskRequest, ctx: ExecutionContext| async move {
            if request.input == "leaf" {
                return Ok("leaf");
            }
            let leaf = |id: &str| TaskRequest::new("leaf").with_id(id);
            ctx.team().run(leaf("u")).await?;
            let team = ctx.team().clone();
            tokio::spawn(async move { team.run(leaf("v")).await }).await??;
            let team = ctx.team().clone();
            tokio::spawn(async move { team.run_parallel([leaf("w")]).await }).await?;
            Ok("done")
        });
        registry.add(agent("a").with_max_concurrency(2), outer).unwrap();
        House::new(registry).run(task("t")).await;
    });
    let parents: Vec<_> = spans.list().iter().map(|span| (span.text.clone(), span.parent)).collect();
    let nested =
        |task: &str| (format!("task task={task} session=s attempt=1 agent=a status=completed"), Some(0));
    assert_eq!(parents[1..], [nested("u"), nested("v"), nested("w")]);
    assert!(spans.are_closed());
}

#[test]
fn what_the_work_traces_belongs_to_its_span() {
    let spans = Spans::default();
    spans.around(async {
        let step = Step::call(|_, _| async {
            let _inner = tracing::info_span!("inner");
            Ok("done")
        });
        House::of(1, ScriptedExecutor::new([step])).run(task("t")).await;
    });
    let spans = spans.list();
    assert_eq!((spans[1].text.as_str(), spans[1].parent), ("inner", Some(0)));
}

#[test]
fn a_span_closes_whatever_becomes_of_its_task() {
    let spans = Spans::default();
    spans.around(async {
        let steps = || [Step::panic("broken"), Step::cancelled(), Step::cancelled(), Step::cancelled()];
        let aborts = ExecutorCapabilities::default().with_abort_on_cancel();
        for capabilities in [ExecutorCapabilities::default(), aborts] {
            let executor = ScriptedExecutor::new(steps()).with_capabilities(capabilities);
            let house = House::new(registry([(agent("a").with_max_concurrency(4), executor)]));
            let request = || TaskRequest::new("x");
            house.run(request()).await;
            house.run(request().with_timeout(ms(20))).await;
            dropped_after(1, house.team.run(request())).await;
            let handle = house.team.spawn(request());
            settle().await;
            handle.cancel();
            handle.await.unwrap();
            settle().await;
            assert!(spans.are_closed());
        }
        let statuses = ["failed", "timed_out", "cancelled", "cancelled"].repeat(2);
        let ended: Vec<_> =
            spans.list().iter().map(|span| span.text.split("status=").nth(1).unwrap().to_owned()).collect();
        assert_eq!(ended, statuses.iter().map(ToString::to_string).collect::<Vec<_>>());
    });
}

#[test]
fn the_span_of_a_run_that_is_dropped_says_so_wherever_it_is() {
    let spans = Spans::default();
    spans.around(async {
        let gate = Gate::closed();
        let steps = [Step::reply("done").after(&gate), Step::cancelled(), Step::reply("late").after(&gate)];
        let house = House::of(1, ScriptedExecutor::new(steps));
        let drop_later = async |id: &str| {
            let run = tokio::spawn(house.team.run(task(id)));
            settle().await;
            run.abort();
            settle().await;
        };
        let is_closed = |id: &str| {
            let all = spans.list();
            all.iter().find(|span| span.text.starts_with(&format!("task task={id} "))).unwrap().is_closed
        };
        // With the one place taken.
        let busy = house.team.spawn(task("busy"));
        gate.arrived(1).await;
        dropped_after(0, house.team.run(task("never polled"))).await;
        dropped_after(1, house.team.run(task("dispatch"))).await;
        settle().await;
        drop_later("line").await;
        dropped_after(1, house.team.run_parallel([task("not admitted")])).await;
        settle().await;
        assert!(is_closed("dispatch") && is_closed("line"));
        gate.let_through(1);
        busy.await.unwrap();
        drop_later("working").await;
        assert!(is_closed("working"));
        drop_later("detached").await;
        sleep(ms(100)).await;
        assert!(house.record("s", "detached").detached && !is_closed("detached"));
        gate.open();
        settle().await;
        house.assert_rest();
    });
    let span = |text: &str| Span { text: format!("task task={text}"), parent: None, is_closed: true };
    assert_eq!(
        spans.list(),
        [
            span("busy session=s attempt=1 agent=a status=completed"),
            span("dispatch session=s attempt=1 status=cancelled"),
            span("line session=s attempt=1 status=cancelled"),
            span("working session=s attempt=1 agent=a status=cancelled"),
            span("detached session=s attempt=1 agent=a status=cancelled"),
        ]
    );
}

#[test]
fn the_span_of_detached_work_closes_when_the_work_has_ended() {
    let spans = Spans::default();
    spans.around(async {
        let house = House::of(1, ScriptedExecutor::new([Step::reply("late").after_delay(ms(500))]));
        assert!(house.run(task("t").with_timeout(ms(20))).await.detached);
        assert!(!spans.are_closed());
        sleep(ms(1_000)).await;
        assert!(spans.are_closed());
    });
}

#[test]
fn what_a_sink_makes_of_the_events_of_a_task_stands_in_its_span() {
    let spans = Spans::default();
    spans.around(async {
        let executor = registry([(agent("a"), ScriptedExecutor::echo())]);
        let house = House::built(executor, |builder| builder.event_sink(TracingSink::new()));
        house.run(task("t")).await;
    });
    let kept = spans.0.lock().unwrap();
    let inside: Vec<_> = kept.events.iter().map(|event| event.1).collect();
    assert_eq!(inside, [Some(0); 4], "{:?}", kept.events);
}
