use super::{FirstProgram, first_program};

const README: &str = "\
# Convoke

```console
$ cargo add convoke
```

```toml
[dependencies]
convoke = \"0.1\"
```

```rust
use convoke::Team;
```

Then:

```rust,no_run
fn main() {
    println!(\"one\");
}
```

```rust
fn main() {}
```
";

#[test]
fn the_first_program_comes_with_its_dependencies() {
    let expected = FirstProgram {
        code: "fn main() {\n    println!(\"one\");\n}\n".to_owned(),
        dependencies: "[dependencies]\nconvoke = \"0.1\"\n".to_owned(),
    };
    assert_eq!(first_program(README).unwrap(), expected);
}

#[test]
fn what_is_missing_is_named() {
    let error = first_program("```rust\nfn helper() {}\n```\n").unwrap_err();
    assert!(error.to_string().contains("no ```rust block with `fn main`"), "{error}");
    let error = first_program("```rust\nfn main() {}\n```\n").unwrap_err();
    assert!(error.to_string().contains("no ```toml block with `[dependencies]`"), "{error}");
}
