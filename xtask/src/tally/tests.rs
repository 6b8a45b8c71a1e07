use super::Tally;

fn check(output: &str, expected: &str) {
    let mut tally = Tally::default();
    output.lines().for_each(|line| tally.add_line(line));
    assert_eq!(tally.to_string(), expected);
}

#[test]
fn counts_add_up_over_all_result_lines() {
    check("", "0 passed, 0 failed");
    check(
        "test result: ok. 5 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s",
        "5 passed, 0 failed",
    );
    check(
        "running 3 tests\ntest a ... ok\n\
         test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
         \ntest result: ok. 7 passed; 0 failed; 4 ignored; 0 measured; 0 filtered out; finished in 1.50s\n",
        "8 passed, 2 failed, 4 skipped",
    );
    check("the test result: ok. 5 passed; is not at the start", "0 passed, 0 failed");
}
