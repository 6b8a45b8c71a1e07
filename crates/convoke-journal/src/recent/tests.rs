//! What stays and what goes.

use super::Recent;

#[test]
fn the_oldest_goes_when_there_are_more_than_may_be() {
    let mut recent = Recent::new(2);
    recent.insert("a", 1);
    recent.insert("b", 2);
    recent.insert("a", 3);
    assert_eq!((recent.len(), recent.get(&"a")), (2, Some(&1)), "the first word stands");
    recent.insert("c", 4);
    assert_eq!(recent.iter().collect::<Vec<_>>(), [(&"b", &2), (&"c", &4)]);
    assert!(!recent.contains(&"a"));
    assert_eq!(recent.len(), 2);
}
