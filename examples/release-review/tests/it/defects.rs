//! Lists of defects, in the forms in which trackers give them.

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
