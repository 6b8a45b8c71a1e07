//! `deny`: licences, sources, banned and duplicate dependencies, as `deny.toml` rules them.

use anyhow::Result;

use crate::{shell, steps::Context, tools::Tool};

const CARGO_DENY: Tool = Tool { name: "cargo-deny", version: "0.20.2", features: &[] };

pub(crate) fn run(ctx: &mut Context) -> Result<()> {
    let program = CARGO_DENY.ensure(&ctx.workspace)?;
    // Everything the check reads is on the disk afterwards, also what other platforms need.
    shell::run(&mut shell::cargo(&ctx.workspace.root, ["fetch"]))?;
    let mut command = shell::program(program, &ctx.workspace.root);
    // Not `advisories`: their database is a repository of its own, which a closed network does not reach.
    command.args(["--offline", "--all-features", "check", "bans", "licenses", "sources"]);
    shell::run(&mut command)
}
