//! Lists of defects, in the forms in which trackers give them.

use proptest::prelude::*;

use crate::support::{DEFECTS, Files, RELEASE};

fn check(path: &str, content: &str, expected: &str, verdict: &str) {
    let facts = Files::ready().without(DEFECTS).with(path, content).facts();
    let scope = facts.scope("engineering").unwrap();
    let found = (scope.facts()[1].text.as_str(), scope.verdict().to_string());
    assert_eq!(found, (expected, verdict.to_owned()), "{content}");
}

fn refused(path: &str, content: &str, expected: &str) {
    let refusal = Files::ready().without(DEFECTS).with(path, content).refusal();
    assert!(refusal.starts_with(expected), "{content}: {refusal}");
}

#[test]
fn csv_is_read() {
    let none = "0 open critical defects";
    check("defects.csv", "id,severity,status\n", none, "ready");
    check("defects.csv", "id,severity,status\nD-1,critical,closed\n", none, "ready");
    check("defects.csv", "id,severity,status\nD-1,critical,open\n", "1 open critical defect", "blocked");
    check(
        "defects.csv",
        "id,severity,status\nD-1,BLOCKER,In Progress\nD-2,critical,new\n",
        "2 open critical defects",
        "blocked",
    );
    check("defects.csv", "\u{feff}Status,owner,ID,Severity\r\nopen,\"a, b\",1,minor\r\n", none, "ready");
}

#[test]
fn csv_that_cannot_be_judged_is_refused() {
    refused("defects.csv", "", "`defects.csv:1`: needs the columns id, severity and status; `id` is missing");
    refused("defects.csv", "id;severity;status\n1;low;open\n", "`defects.csv:1`: needs the columns");
    refused("defects.csv", "id,id,severity,status\n", "`defects.csv:1`: has the column `id` twice");
    refused("defects.csv", "id,severity,status\r\n\r\n\r\nD-1,low\r\n", "`defects.csv:4`: has 2 fields");
    refused(
        "defects.csv",
        "id,severity,status\nD-1,low\n",
        "`defects.csv:2`: has 2 fields where the header has 3",
    );
    refused(
        "defects.csv",
        "id,severity,status\nD-1,low,open\nD-2,critcal,open\n",
        "`defects.csv:3`: severity `critcal` is not known",
    );
    refused(
        "defects.csv",
        "id,severity,status\nD-1,low,open\n\nD-1,low,open\n",
        "`defects.csv:4`: defect `D-1` stands on line 2 already",
    );
    refused("defects.csv", "id,severity,status\n ,low,open\n", "`defects.csv:2`: `id` is empty");
    refused("defects.csv", "id,severity,status\nD,low, \n", "`defects.csv:2`: `status` is empty");
    refused(
        "defects.csv",
        "id,severity,status\nD\u{7},low,open\n",
        "`defects.csv:2`: the id of a defect must not hold the control character U+0007",
    );
    refused("defects.csv", "id,severity,status\nD\0,low,open\n", "`defects.csv:2`: holds a NUL byte");
}

#[test]
fn a_quote_that_nothing_closes_hides_no_blocker() {
    let unclosed = "opens a quote that nothing closes";
    for (content, line) in [
        ("id,severity,status,title\nD-1,low,open,\"unterminated\nD-2,critical,open,data loss\n", 2),
        ("id,severity,status,title\nD-1,low,open,a\n\"D-2,critical,open,data loss\n", 3),
        ("id,severity,status,title\r\nD-1,low,open,\"a \"\" b\r\nD-2,critical,open,c\r\n", 2),
        ("id,severity,status,\"title\nD-1,critical,open,c\n", 1),
        ("id,severity,status,title\nD-1,low,open,\"\"\"\nD-2,critical,open,c\n", 2),
        ("\u{feff}\u{feff}\"id,severity,status\n", 1),
    ] {
        refused("defects.csv", content, &format!("`defects.csv:{line}`: {unclosed}"));
    }
    let closed = "id,severity,status,title\nD-1,low,open,\"a \"\"quoted\"\" word\"\nD-2,low,open,6\" nails\n";
    check("defects.csv", closed, "0 open critical defects", "ready");
}

#[test]
fn a_field_over_several_lines_is_refused_where_it_counts_and_remarked_elsewhere() {
    let hiding = "id,severity,status,title\nD-1,low,open,\"one\nD-2,critical,open,two\"\n";
    refused("defects.csv", hiding, "`defects.csv:2`: `title` goes over several lines");
    let header = "id,severity,status,\"more\nD-1,critical,open,two\"\n";
    refused("defects.csv", header, "`defects.csv:1`: has a column whose name goes over several lines");

    let notes = "id,severity,status,notes\nD-1,low,open,x\nD-2,low,open,\"one\ntwo\"\nD-3,critical,open,x\n";
    let evidence = Files::ready().with(DEFECTS, notes).open().unwrap();
    let warning = &evidence.warnings()[0];
    assert_eq!((warning.file.as_str(), warning.line), (DEFECTS, 3));
    assert!(warning.text.starts_with("`notes` goes over several lines"), "{warning}");
    check("defects.csv", notes, "1 open critical defect", "blocked");

    let many = (0..30).map(|n| format!("D-{n},low,open,\"one\ntwo\"\n")).collect::<Vec<_>>().concat();
    let many = format!("id,severity,status,notes\n{many}");
    let evidence = Files::ready().with(DEFECTS, many).open().unwrap();
    assert_eq!(evidence.warnings().len(), 21);
    assert_eq!(evidence.warnings()[20].text, "10 more defects go over several lines");
}

proptest! {
    #[test]
    fn a_line_after_a_file_that_is_read_is_a_defect_of_its_own(notes in "[\",\r\n ab]{0,12}") {
        let start = format!("id,severity,status,notes\nD-1,low,open,{notes}");
        let files = Files::ready().without(DEFECTS);
        if files.clone().with(DEFECTS, &start).open().is_ok() {
            let facts = files.with(DEFECTS, format!("{start}\nD-2,critical,open,x\n")).facts();
            let fact = &facts.scope("engineering").unwrap().facts()[1];
            prop_assert_eq!(&fact.text, "1 open critical defect");
        }
    }
}

#[test]
fn json_is_read() {
    check("defects.json", "[]", "0 open critical defects", "ready");
    check(
        "defects.json",
        r#"[{"id":1,"severity":"critical","status":"open","owner":"x"},{"id":"D-2","severity":"low","status":"open"}]"#,
        "1 open critical defect",
        "blocked",
    );
}

#[test]
fn json_that_cannot_be_judged_is_refused() {
    refused("defects.json", "{}", "`defects.json:1`: is no json of the expected form");
    refused("defects.json", "[\n{\"id\":1,\n\"severity\":2,\"status\":\"open\"}]", "`defects.json:3`: ");
    refused(
        "defects.json",
        "[\n\n{\"severity\":\"low\",\"status\":\"open\"}]",
        "`defects.json:3`: is no json of the expected form: missing field `id`",
    );
    refused(
        "defects.json",
        "[{\"id\":\"a\",\"id\":\"b\",\"severity\":\"low\",\"status\":\"open\"}]",
        "`defects.json:1`: is no json of the expected form: duplicate field `id`",
    );
    refused("defects.json", "[{\"id\":-1,\"severity\":\"low\",\"status\":\"open\"}]", "`defects.json:1`: ");
    refused(
        "issues.json",
        "[{\"number\":1,\"title\":\"a\",\"state\":\"maybe\",\"labels\":[]}]",
        "`issues.json:1`: ",
    );
    let deep = format!("[{{\"id\":{}", "[".repeat(100_000));
    refused("defects.json", &deep, "`defects.json:1`: ");
}

#[test]
fn a_github_export_reads_as_it_is() {
    let issue = |number: u64, state: &str, labels: &str| {
        format!(
            r#"{{"number":{number},"title":"t","state":"{state}","labels":{labels},"locked":false,"milestone":null}}"#
        )
    };
    let named = |label: &str| format!(r#"[{{"id":1,"name":"bug"}},{{"name":"{label}","color":"f00"}}]"#);
    for label in ["critical", "Severity: Critical", "severity/critical", "priority:blocker"] {
        let export = format!("[{}]", issue(7, "open", &named(label)));
        check("issues.json", &export, "1 open critical defect", "blocked");
        let export = format!("[{}]", issue(7, "CLOSED", &named(label)));
        check("issues.json", &export, "0 open critical defects", "ready");
    }
    let export =
        format!("[{},{}]", issue(7, "OPEN", "[\"critical\"]"), issue(8, "open", &named("non-critical")));
    check("defects.json", &export, "1 open critical defect", "blocked");
}

#[test]
fn pull_requests_among_the_issues_are_left_out_and_remarked() {
    let export =
        "[{\"number\":1,\"title\":\"t\",\"state\":\"open\",\"labels\":[\"critical\"],\"pull_request\":{}}]";
    let evidence = Files::ready().without(DEFECTS).with("issues.json", export).open().unwrap();
    assert_eq!(evidence.warnings()[0].text, "1 pull requests among the issues were left out");
}

#[test]
fn settings_name_the_severities_and_the_limit() {
    let settings = "release = \"R\"\n[thresholds]\nmax_open_critical = 1\n[defects]\ncritical = [\"sev1\"]\nother = [\"sev2\"]\n";
    let files = Files::ready().with(RELEASE, settings);
    let one = files.clone().with(DEFECTS, "id,severity,status\n1,SEV1,open\n2,sev2,open\n").facts();
    let scope = one.scope("engineering").unwrap();
    assert_eq!(scope.facts()[1].text, "1 open critical defect (at most 1 allowed)");
    assert_eq!(scope.verdict().to_string(), "ready");
    let two = files.with(DEFECTS, "id,severity,status\n1,sev1,open\n2,sev1,open\n").facts();
    assert_eq!(two.scope("engineering").unwrap().verdict().to_string(), "blocked");
}
