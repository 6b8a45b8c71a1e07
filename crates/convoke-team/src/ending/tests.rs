//! Every order of calls, since there are few.

use super::*;

#[test]
fn the_first_of_end_and_give_up_decides() {
    for cause in [None, Some(StopCause::Cancelled), Some(StopCause::Deadline)] {
        let ended = Ending::default();
        if let Some(cause) = cause {
            ended.stop(cause);
        }
        assert_eq!(ended.end(), End::Ended(cause));
        assert!(!ended.give_up());
        ended.stop(StopCause::Cancelled);
        assert_eq!(ended.end(), End::Abandoned, "an end is stamped once");

        let abandoned = Ending::default();
        if let Some(cause) = cause {
            abandoned.stop(cause);
        }
        assert!(abandoned.give_up());
        assert_eq!(abandoned.end(), End::Abandoned);
        assert!(!abandoned.give_up());
    }
}

#[test]
fn the_first_cause_of_a_stop_holds() {
    let ending = Ending::default();
    ending.stop(StopCause::Deadline);
    ending.stop(StopCause::Cancelled);
    assert_eq!(ending.end(), End::Ended(Some(StopCause::Deadline)));
}

#[test]
fn two_threads_never_both_win() {
    for _ in 0..2_000 {
        let ending = Ending::default();
        let (ended, gave_up) = std::thread::scope(|scope| {
            let work = scope.spawn(|| ending.end());
            let watch = scope.spawn(|| ending.give_up());
            (work.join().unwrap(), watch.join().unwrap())
        });
        assert_eq!(ended == End::Abandoned, gave_up);
    }
}
