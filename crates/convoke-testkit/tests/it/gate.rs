//! Gates.

use std::{cell::Cell, pin::pin};

use convoke_testkit::{Gate, dropped_after};

#[tokio::test]
async fn a_closed_gate_lets_so_many_through_in_the_order_of_their_arrival() {
    let gate = Gate::closed();
    let mut line = Vec::new();
    for number in 1..=3 {
        let waiting = gate.clone();
        line.push(tokio::spawn(async move { waiting.pass().await }));
        gate.arrived(number).await;
    }
    gate.let_through(2);
    let last = line.pop().unwrap();
    for waiting in line {
        waiting.await.unwrap();
    }
    assert!(!last.is_finished());
    gate.open();
    last.await.unwrap();
    gate.pass().await;
    assert_eq!(gate.arrivals(), 4);
}

#[tokio::test]
async fn who_gives_up_takes_no_place() {
    let gate = Gate::default();
    assert_eq!(dropped_after(1, gate.pass()).await, None);
    gate.let_through(1);
    gate.pass().await;
    assert_eq!(dropped_after(1, gate.pass()).await, None);
    assert_eq!(format!("{gate:?}"), "Gate { is_open: false, arrivals: 3 }");
}

#[tokio::test]
async fn a_future_is_polled_so_often_and_no_oftener() {
    let polls = Cell::new(0);
    let endless = async {
        loop {
            polls.set(polls.get() + 1);
            tokio::task::yield_now().await;
        }
    };
    assert_eq!(dropped_after::<&mut _>(3, &mut pin!(endless)).await, None::<()>);
    assert_eq!(polls.get(), 3);
}
