//! Names and back.

use std::collections::HashSet;

use proptest::prelude::*;

use super::{Unescaped, escape, unescape};

#[test]
fn a_name_is_readable_where_it_can_be() {
    fn check(id: &str, name: &str) {
        assert_eq!(escape(id), name);
        assert_eq!(unescape(name), Unescaped::Id(id.to_owned()));
    }
    check("plan-7_b.json", "plan-7_b.json");
    check("plan/7", "plan%2f7");
    check("..", "%2e.");
    check("Aa", "%41a");
    check("é~%", "%c3%a9%7e%25");
}

#[test]
fn a_foreign_name_is_no_id() {
    for name in ["A", "%4", "%zz", "%61", "a b", ".x", "%ff"] {
        assert_eq!(unescape(name), Unescaped::Foreign, "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_name_fits_and_tells_ids_apart(ids in prop::collection::hash_set("\\PC{1,256}", 1..20)) {
        let names: HashSet<_> = ids.iter().map(|id| escape(id)).collect();
        prop_assert_eq!(names.len(), ids.len());
        for id in &ids {
            let name = escape(id);
            prop_assert!(name.len() <= 200 && !name.starts_with('.'));
            match unescape(&name) {
                Unescaped::Id(back) => prop_assert_eq!(&back, id),
                said => prop_assert!(said == Unescaped::Cut && id.len() > 66, "{:?}", said),
            }
        }
    }
}
