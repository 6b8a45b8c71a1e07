//! Stops that are asked for while others ask for the token.

use std::{sync::Barrier, thread};

use super::*;

#[test]
fn who_gets_the_token_while_the_stop_is_asked_for_hears_of_it() {
    for _ in 0..500 {
        let (stop, all) = (Stop::default(), Barrier::new(3));
        let tokens = thread::scope(|scope| {
            let getting = [(); 2].map(|()| {
                scope.spawn(|| {
                    all.wait();
                    stop.token().clone()
                })
            });
            all.wait();
            stop.ask();
            // From here on, whoever of them made it.
            assert!(stop.is_asked_for() && stop.token().is_cancelled());
            getting.map(|token| token.join().unwrap())
        });
        assert!(tokens.iter().all(CancellationToken::is_cancelled));
    }
}

#[test]
fn a_copy_stops_with_the_first_whichever_is_asked() {
    let (first, second) = (Stop::default(), Stop::default());
    let (copy, other) = (first.clone(), second.clone());
    first.ask();
    assert!(copy.is_asked_for() && copy.token().is_cancelled());
    other.ask();
    assert!(second.is_asked_for() && second.token().is_cancelled());
}

#[test]
fn a_copy_of_what_was_asked_to_stop_is_asked_too() {
    let stop = Stop::default();
    stop.ask();
    let copy = stop.clone();
    assert!(copy.is_asked_for() && copy.token().is_cancelled());
}
