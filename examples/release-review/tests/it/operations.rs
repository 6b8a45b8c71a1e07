//! Runbooks and rotas.

use release_review::Fact;

use crate::support::{Files, RELEASE, ROTA, RUNBOOK, noon};

fn facts(files: &Files) -> (Vec<Fact>, String) {
    let facts = files.facts();
    let scope = facts.scope("operations").unwrap();
    (scope.facts().to_vec(), scope.verdict().to_string())
}

fn check_runbook(content: &str, expected: &str, line: u64) {
    let (facts, _) = facts(&Files::ready().with(RUNBOOK, content));
    assert_eq!((facts[0].text.as_str(), facts[0].sources[0].line), (expected, line), "{content}");
}

fn check_rota(path: &str, content: &str, expected: &str, line: u64) {
    let (facts, _) = facts(&Files::ready().without(ROTA).with(path, content));
    assert_eq!((facts[1].text.as_str(), facts[1].sources[0].line), (expected, line), "{content}");
}

fn refused(path: &str, content: &str, expected: &str) {
    let files = if path == RUNBOOK { Files::ready().without(RUNBOOK) } else { Files::ready().without(ROTA) };
    let refusal = files.with(path, content).refusal();
    assert!(refusal.starts_with(expected), "{content}: {refusal}");
}

#[test]
fn steps_below_a_rollback_heading_count() {
    check_runbook("# Rollback\n- a\n- b\n", "the runbook lists 2 rollback steps", 1);
    check_runbook("intro\n\n## Roll-back plan\n\n1. a\n", "the runbook lists 1 rollback step", 3);
    check_runbook(
        "# Ops\n## How to roll back\n### By hand\n1. a\n   - b\n## Else\n- c\n",
        "the runbook lists 2 rollback steps",
        2,
    );
    check_runbook("Rollback\n========\n* a\n", "the runbook lists 1 rollback step", 1);
}

#[test]
fn promises_comments_and_code_are_no_steps() {
    let none = "the runbook lists no rollback steps";
    check_runbook("", none, 1);
    check_runbook("# Runbook\n- rollback\n", none, 1);
    check_runbook("# Rollback\n\nTo be written: rollback is ready.\n", none, 1);
    check_runbook("# Rollback\n- \n-\n", none, 1);
    check_runbook("# Rollback\n<!--\n- a\n-->\n", none, 1);
    check_runbook("# Rollback\n# Release\n- a\n", none, 1);
    check_runbook("```\n# Rollback\n- a\n```\n", none, 1);
    check_runbook("# Rollback\n```\n- a\n```\n", none, 1);
}

#[test]
fn a_statement_about_rollback_is_read() {
    for (content, expected) in [
        ("{\"rollback\": true}", "rollback is available"),
        ("{\"rollback\": false}", "rollback is not available"),
    ] {
        let (facts, verdict) = facts(&Files::ready().without(RUNBOOK).with("rollback.json", content));
        assert_eq!(facts[0].text, expected);
        assert_eq!(verdict, if content.contains("true") { "ready" } else { "blocked" });
    }
    let files = Files::ready().without(RUNBOOK).with("rollback.json", "{\"rollback\":\n\"yes\"}");
    assert!(files.refusal().starts_with("`rollback.json:2`: "), "{}", files.refusal());
}

#[test]
fn shifts_cover_from_their_first_moment_to_before_their_last() {
    let shift = |from: &str, until: &str| {
        format!("{{\"shifts\":[\n{{\"who\":\"Ada\",\"from\":\"{from}\",\"until\":\"{until}\"}}]}}")
    };
    let (yes, no) =
        ("somebody is on call at 2026-08-14T09:00:00Z", "nobody is on call at 2026-08-14T09:00:00Z");
    check_rota(ROTA, &shift("2026-08-14T09:00:00Z", "2026-08-14T10:00:00Z"), yes, 2);
    check_rota(ROTA, &shift("2026-08-14T08:00:00Z", "2026-08-14T09:00:00Z"), no, 1);
    check_rota(ROTA, &shift("2026-08-14T11:00:00+02:00", "2026-08-14T12:00:00+02:00"), yes, 2);
    refused(
        ROTA,
        &shift("2026-08-14T09:00:00Z", "2026-08-14T09:00:00Z"),
        "`oncall.json:2`: the shift ends before it begins",
    );
    refused(ROTA, &shift("2026-08-14", "2026-08-15"), "`oncall.json:2`: is no json of the expected form");
    refused(
        ROTA,
        "{\"shifts\":[\n{\"who\":\"\",\"from\":\"2026-08-14T09:00:00Z\",\"until\":\"2026-08-15T09:00:00Z\"}]}",
        "`oncall.json:2`: the name of who is on call must not be blank",
    );
    refused(
        ROTA,
        "{\"shifts\":[],\"on_call\":true}",
        "`oncall.json:1`: is no json of the expected form: unknown field `on_call`",
    );
}

#[test]
fn without_a_release_time_the_creation_counts_and_is_not_named() {
    let rota = r#"{"shifts":[{"who":"Ada","from":"2026-08-14T12:00:00Z","until":"2026-08-14T12:00:01Z"}]}"#;
    let evidence = Files::ready().with(RELEASE, "release = \"R\"").with(ROTA, rota).open().unwrap();
    let text = |at| evidence.facts(at).scope("operations").unwrap().facts()[1].text.clone();
    assert_eq!(text(noon()), "somebody is on call when the review was created");
    assert_eq!(
        text("2026-08-14T12:00:01Z".parse().unwrap()),
        "nobody is on call when the review was created"
    );
}

fn calendar(lines: &str) -> String {
    let lines = lines.replace('|', "\r\n");
    format!("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\n{lines}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n")
}

#[test]
fn calendars_are_read() {
    let yes = "somebody is on call at 2026-08-14T09:00:00Z";
    let no = "nobody is on call at 2026-08-14T09:00:00Z";
    let table = [
        ("DTSTART:20260814T090000Z|DTEND:20260814T100000Z", yes, 4),
        ("UID:1|DTSTART:20260814T080000Z|DURATION:PT1H", no, 1),
        ("UID:1|DTSTART:20260814T080000Z|DURATION:PT1H1S", yes, 5),
        // 09:00 in UTC is 11:00 in Berlin's summer and 05:00 in New York's.
        ("DTSTART;TZID=Europe/Berlin:20260814T110000|DTEND;TZID=Europe/Berlin:20260814T110001", yes, 4),
        ("DTSTART;TZID=Europe/Berlin:20260814T090000|DTEND;TZID=Europe/Berlin:20260814T110000", no, 1),
        ("DTSTART;TZID=\"America/New_York\":20260814T050000|DURATION:P1D", yes, 4),
        ("DTSTART;X-NOTE=\"a;b:c\";TZID=Europe/Berlin:20260814T110000|DURATION:PT1S", yes, 4),
        ("DTSTART:20260814T0| 90000Z|DTEND:20260814T100000Z", yes, 4),
        ("STATUS:CANCELLED|DTSTART:20260814T090000Z|DTEND:20260814T100000Z", no, 1),
        ("DTSTART:20260814T090000Z|BEGIN:VALARM|DTSTART:nonsense|END:VALARM|DTEND:20260814T100000Z", yes, 4),
    ];
    for (lines, expected, line) in table {
        check_rota("team.ics", &calendar(lines), expected, line);
    }
    let empty = "BEGIN:VCALENDAR\nVERSION:2.0\nEND:VCALENDAR\n";
    check_rota("team.ics", empty, no, 1);
    let two = "BEGIN:VCALENDAR\nBEGIN:VTIMEZONE\nTZID:X\nDTSTART:19700101T000000\nRRULE:FREQ=YEARLY\nEND:VTIMEZONE\n\
               BEGIN:VEVENT\nSUMMARY:A\\, B\nDTSTART:20260814T080000Z\nDTEND:20260814T100000Z\nEND:VEVENT\nEND:VCALENDAR";
    check_rota("team.ics", two, yes, 9);
    let (facts, _) = facts(&Files::ready().without(ROTA).with("team.ics", two));
    assert_eq!(facts[1].value["who"], serde_json::json!(["A, B"]));
}

#[test]
fn calendars_that_cannot_be_judged_are_refused() {
    let event = |lines: &str, expected: &str| refused("team.ics", &calendar(lines), expected);
    event(
        "DTSTART:20260814T080000Z|RRULE:FREQ=WEEKLY|DTEND:20260814T090000Z",
        "`team.ics:5`: has a recurring event (`RRULE`)",
    );
    event("RECURRENCE-ID:20260814T080000Z", "`team.ics:4`: has a recurring event (`RECURRENCE-ID`)");
    event("DTSTART;VALUE=DATE:20260814|DTEND;VALUE=DATE:20260815", "`team.ics:4`: has an all-day event");
    event("DTSTART:20260814|DTEND:20260815", "`team.ics:4`: has an all-day event");
    event(
        "DTSTART:20260814T080000|DTEND:20260814T090000",
        "`team.ics:4`: `20260814T080000` has no time zone",
    );
    event(
        "DTSTART;TZID=W. Europe Standard Time:20260814T080000|DURATION:PT1H",
        "`team.ics:4`: the time zone `W. Europe Standard Time` is not known",
    );
    event("DTSTART:20261314T080000Z|DURATION:PT1H", "`team.ics:4`: `20261314T080000Z` is no date and time");
    event(
        "DTSTART:2026-08-14T08:00:00Z|DURATION:PT1H",
        "`team.ics:4`: `2026-08-14T08:00:00Z` is no date and time",
    );
    event("DTSTART:20260814T080000Z|DURATION:soon", "`team.ics:5`: `soon` is no duration");
    event("DTSTART:20260814T080000Z|DURATION:-PT1H", "`team.ics:4`: the shift ends before it begins");
    event("DTSTART:20260814T080000Z", "`team.ics:3`: has an event without `DTEND` and `DURATION`");
    event("DTEND:20260814T080000Z", "`team.ics:3`: has an event without `DTSTART`");
    event("DTSTART:20260814T080000Z|DTSTART:20260814T080000Z", "`team.ics:5`: has `DTSTART` twice");
    event(
        "DTSTART:20260814T080000Z|DTEND:20260814T090000Z|DURATION:PT1H",
        "`team.ics:5`: has both `DTEND` and `DURATION`",
    );
    let uid = "UID:1|DTSTART:20260814T080000Z|DURATION:PT1H";
    event(
        &format!("{uid}|END:VEVENT|BEGIN:VEVENT|{uid}"),
        "`team.ics:9`: the event `1` stands on line 4 already",
    );
    event("no line of a calendar", "`team.ics:4`: is no calendar line");
    event("END:VCALENDAR", "`team.ics:4`: ends `VCALENDAR`, which is not what was begun last");
    refused("team.ics", "", "`team.ics:1`: is empty");
    refused("team.ics", "BEGIN:VCARD\n", "`team.ics:1`: begins without `BEGIN:VCALENDAR`");
    refused("team.ics", "SUMMARY:a\n", "`team.ics:1`: begins without `BEGIN:VCALENDAR`");
    refused("team.ics", " folded\n", "`team.ics:1`: continues a line that was never begun");
    refused("team.ics", "BEGIN:VCALENDAR\nBEGIN:VEVENT\n", "`team.ics:2`: ends before `END:VEVENT`");
    let deep = format!("BEGIN:VCALENDAR\n{}", "BEGIN:X\n".repeat(100_000));
    refused("team.ics", &deep, "`team.ics:9`: nests components more than 8 deep");
}
