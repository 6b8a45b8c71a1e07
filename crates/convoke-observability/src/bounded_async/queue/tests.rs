//! The queue's machine against the plainest model of it, under any order of publishing and passing on.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::{Handed, Next, Queue, WhenFull};

#[derive(Clone, Copy, Debug)]
enum Op {
    Publish,
    /// The worker asks for an item, if it has none.
    Ask,
    /// The worker is done with its item, if it has one.
    Finish(Handed),
    Close,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => Just(Op::Publish),
        4 => Just(Op::Ask),
        3 => Just(Op::Finish(Handed::Delivered)),
        1 => Just(Op::Finish(Handed::Failed)),
        1 => Just(Op::Close),
    ]
}

#[derive(Default)]
struct Model {
    waiting: VecDeque<u64>,
    in_hand: Option<u64>,
    published: u64,
    delivered: Vec<u64>,
    failed: Vec<u64>,
    dropped: Vec<u64>,
    closed: bool,
}

impl Model {
    fn publish(&mut self, capacity: usize, when_full: WhenFull) -> Result<Option<u64>, u64> {
        let item = self.published;
        if self.closed {
            return Err(item);
        }
        self.published += 1;
        self.waiting.push_back(item);
        if self.waiting.len() <= capacity {
            return Ok(None);
        }
        let dropped = match when_full {
            WhenFull::DropNewest => self.waiting.pop_back(),
            WhenFull::DropOldest => self.waiting.pop_front(),
        };
        self.dropped.extend(dropped);
        Ok(dropped)
    }

    fn ask(&mut self) -> Next<u64> {
        self.in_hand = self.waiting.pop_front();
        match self.in_hand {
            Some(item) => Next::Hand(item),
            None if self.closed => Next::End,
            None => Next::Wait,
        }
    }

    fn finish(&mut self, handed: Handed) {
        match handed {
            Handed::Delivered => self.delivered.extend(self.in_hand.take()),
            Handed::Failed => self.failed.extend(self.in_hand.take()),
        }
    }

    /// By its definition: the smallest number that is not settled.
    fn settled_below(&self) -> u64 {
        let is_settled = |number: &u64| {
            [&self.delivered, &self.failed, &self.dropped].iter().any(|settled| settled.contains(number))
        };
        (0..self.published).find(|number| !is_settled(number)).unwrap_or(self.published)
    }
}

fn check(queue: &Queue<u64>, model: &Model, capacity: usize) -> Result<(), TestCaseError> {
    let counters = queue.counters();
    prop_assert_eq!(counters.published, model.published);
    prop_assert_eq!(counters.delivered, model.delivered.len() as u64);
    prop_assert_eq!(counters.failed, model.failed.len() as u64);
    prop_assert_eq!(counters.dropped, model.dropped.len() as u64);
    prop_assert_eq!(
        counters.published,
        counters.delivered + counters.failed + counters.dropped + counters.waiting
    );
    prop_assert_eq!(queue.settled_below(), model.settled_below());
    prop_assert_eq!(queue.is_half_full(), 2 * model.waiting.len() >= capacity);
    Ok(())
}

proptest! {
    #[test]
    fn counts_each_item_once_and_keeps_the_order(
        capacity in 1_usize..5,
        when_full in prop_oneof![Just(WhenFull::DropNewest), Just(WhenFull::DropOldest)],
        ops in prop::collection::vec(op(), 0..80),
    ) {
        let mut queue = Queue::new(capacity, when_full);
        let mut model = Model::default();
        for op in ops {
            match op {
                Op::Publish => {
                    let item = model.published;
                    prop_assert_eq!(queue.push(item), model.publish(capacity, when_full));
                }
                Op::Ask if model.in_hand.is_none() => prop_assert_eq!(queue.next(), model.ask()),
                Op::Finish(handed) if model.in_hand.is_some() => {
                    queue.finish(handed);
                    model.finish(handed);
                }
                Op::Close => {
                    queue.close();
                    model.closed = true;
                }
                Op::Ask | Op::Finish(_) => {}
            }
            check(&queue, &model, capacity)?;
        }

        queue.close();
        if model.in_hand.is_some() {
            queue.finish(Handed::Delivered);
            model.finish(Handed::Delivered);
        }
        while let Next::Hand(item) = queue.next() {
            model.ask();
            queue.finish(Handed::Delivered);
            prop_assert_eq!(model.in_hand, Some(item));
            model.finish(Handed::Delivered);
        }
        check(&queue, &model, capacity)?;
        prop_assert_eq!(queue.counters().waiting, 0);
        prop_assert!(model.delivered.is_sorted());
    }
}
