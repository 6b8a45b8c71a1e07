//! Progress: bounded, lossy, counted, and with an end.

use convoke_core::{TaskId, TaskRequest};
use convoke_registry::{CancellationToken, ExecutionContext, Progress, TaskDriver, TaskHandle, Updates};
use convoke_testkit::{Trial, dropped_after};

fn channel() -> (ExecutionContext, Updates, TaskDriver) {
    let (mut handle, mut driver) = TaskHandle::new(TaskId::new("t").unwrap(), CancellationToken::new());
    let ctx = Trial::new(TaskRequest::new("x")).unwrap().context().with_progress(driver.progress());
    (ctx, handle.updates().unwrap(), driver)
}

#[tokio::test]
async fn updates_come_in_order_and_end_with_the_last_sender() {
    let (ctx, mut updates, _driver) = channel();
    let clone = ctx.clone();
    ctx.emit("first");
    clone.emit(Progress::new("second").with_fraction(0.5));
    drop(ctx);
    assert_eq!(updates.next().await, Some("first".into()));
    assert_eq!(updates.next().await, Some(Progress::new("second").with_fraction(0.5)));
    assert!(dropped_after(1, updates.next()).await.is_none(), "a clone is left");
    clone.emit("third".to_owned());
    drop(clone);
    assert_eq!(updates.next().await.unwrap().text, "third");
    assert_eq!(updates.next().await, None);
    assert_eq!(updates.next().await, None);
}

#[tokio::test]
async fn the_newest_sixty_four_are_kept_and_the_rest_is_counted() {
    let (ctx, mut updates, _driver) = channel();
    for number in 0..64 {
        ctx.emit(number.to_string());
    }
    assert_eq!(updates.missed(), 0);
    for number in 64..100 {
        ctx.emit(number.to_string());
    }
    assert_eq!(updates.missed(), 36);
    drop(ctx);
    for number in 36..100 {
        assert_eq!(updates.next().await.unwrap().text, number.to_string());
    }
    assert_eq!(updates.next().await, None);
}

#[tokio::test]
async fn dropping_a_wait_loses_no_update() {
    let (ctx, mut updates, _driver) = channel();
    assert!(dropped_after(1, updates.next()).await.is_none());
    ctx.emit("one");
    ctx.emit("two");
    assert_eq!(dropped_after(1, updates.next()).await.flatten().unwrap().text, "one");
    assert_eq!(updates.next().await.unwrap().text, "two");
}

#[tokio::test]
async fn a_reader_that_waits_is_woken() {
    let (ctx, mut updates, _driver) = channel();
    let reader = tokio::spawn(async move {
        let mut read = Vec::new();
        while let Some(update) = updates.next().await {
            read.push(update.text);
        }
        read
    });
    tokio::task::yield_now().await;
    ctx.emit("one");
    tokio::task::yield_now().await;
    ctx.emit("two");
    drop(ctx);
    assert_eq!(reader.await.unwrap(), ["one", "two"]);
}

#[tokio::test]
async fn updates_end_with_a_driver_that_never_gave_them_to_a_context() {
    let (mut handle, driver) = TaskHandle::new(TaskId::new("t").unwrap(), CancellationToken::new());
    let mut updates = handle.updates().unwrap();
    drop(driver);
    assert_eq!(updates.next().await, None);
    assert!(handle.updates().is_none());
}

#[test]
fn a_fraction_is_between_nothing_and_all() {
    for (given, kept) in [(-1.0, 0.0), (0.25, 0.25), (7.0, 1.0)] {
        assert_eq!(Progress::new("x").with_fraction(given).fraction, Some(kept));
    }
    assert_eq!(Progress::new("x").with_fraction(f32::NAN).fraction, None);
}
