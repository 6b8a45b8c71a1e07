//! Engineering's rule: ready if and only if every test passed and no critical defect is open.

use serde_json::json;

use crate::{
    evidence::{DefectCounts, TestCounts, Thresholds},
    fact::Fact,
    verdict::Verdict,
};

pub(super) fn facts(tests: &TestCounts, defects: &DefectCounts, limits: Thresholds) -> (Vec<Fact>, Verdict) {
    let ran = tests.passed + tests.failed;
    let all_passed = tests.failed == 0
        && ran >= limits.min_tests
        && limits.max_skipped.is_none_or(|most| tests.skipped <= most)
        && limits.max_flaky.is_none_or(|most| tests.flaky <= most);
    let none_critical = defects.open_critical <= limits.max_open_critical;
    let facts = vec![test_fact(tests, limits), defect_fact(defects, limits)];
    (facts, Verdict::from_rule(all_passed && none_critical))
}

fn test_fact(tests: &TestCounts, limits: Thresholds) -> Fact {
    let TestCounts { total, passed, failed, skipped, flaky, failures, roots } = tests;
    let ran = passed + failed;
    let part = |count: u64, what: &str, most: Option<u64>| match most {
        Some(most) if count > most => Some(format!("{count} {what} (at most {most} allowed)")),
        _ if count > 0 => Some(format!("{count} {what}")),
        _ => None,
    };
    let parts = [
        Some(format!("{passed} of {total} tests passed")),
        part(*failed, "failed", None),
        part(*skipped, "skipped", limits.max_skipped),
        part(*flaky, "only on a rerun", limits.max_flaky),
        (ran < limits.min_tests).then(|| format!("{ran} ran (at least {} must)", limits.min_tests)),
    ];
    let text = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let named: Vec<_> = failures
        .iter()
        .map(|test| json!({ "name": test.name, "file": test.source.file, "line": test.source.line }))
        .collect();
    let value = json!({
        "total": total,
        "passed": passed,
        "failed": failed,
        "skipped": skipped,
        "flaky": flaky,
        "failures": named,
    });
    let failed_lines = failures.iter().map(|test| test.source.clone());
    let mut sources = roots.clone();
    for line in failed_lines {
        // A runner that writes its report as one line has every failure on it.
        if !sources.contains(&line) {
            sources.push(line);
        }
    }
    Fact { id: "tests".to_owned(), text, value, sources }
}

fn defect_fact(defects: &DefectCounts, limits: Thresholds) -> Fact {
    let DefectCounts { total, open, open_critical, listed, file } = defects;
    let noun = if *open_critical == 1 { "defect" } else { "defects" };
    let limit = match limits.max_open_critical {
        0 => String::new(),
        most => format!(" (at most {most} allowed)"),
    };
    let text = format!("{open_critical} open critical {noun}{limit}");
    let named: Vec<_> = listed
        .iter()
        .map(|defect| {
            let source = &defect.source;
            json!({ "id": defect.id, "title": defect.title, "file": source.file, "line": source.line })
        })
        .collect();
    let value = json!({ "total": total, "open": open, "open_critical": open_critical, "defects": named });
    let sources = if listed.is_empty() {
        vec![file.clone()]
    } else {
        listed.iter().map(|defect| defect.source.clone()).collect()
    };
    Fact { id: "critical-defects".to_owned(), text, value, sources }
}
