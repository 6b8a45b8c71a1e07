//! No event of a round carries what is asked or answered.

use proptest::prelude::*;
use serde_json::json;

use convoke_consensus::{
    ConsensusRequest, Decide, JsonField, JudgeAgent, Merge, Ranked, Resolver, ResolverContext, Results,
    Rubric, Verdict,
};
use convoke_core::{AgentDescriptor, Artifact, ExecutorError, TaskOutput, TaskRequest};
use convoke_testkit::{ScriptedExecutor, Step};

use crate::house::{Heard, House, ms, registry};

/// A resolver that says the secret in an error, a panic or a note.
struct Tells(String, u8);

impl Resolver for Tells {
    async fn resolve(&self, _results: Results, _ctx: ResolverContext) -> Result<Verdict, ExecutorError> {
        match self.1 {
            0 => Err(ExecutorError::new(self.0.clone())),
            1 => panic!("{}", self.0),
            _ => Ok(Verdict::not_reached("no").with_note("why", self.0.clone())),
        }
    }
}

fn with_resolver(request: ConsensusRequest, kind: u8, secret: &str) -> ConsensusRequest {
    match kind {
        0 => request.with_resolver(JsonField::new("/a")),
        1 => request.with_resolver(Ranked::new()),
        2 => request.with_resolver(Rubric::new([("a", 1)])),
        3 => request.with_resolver(JudgeAgent::new("judge")),
        4 => request.with_resolver(Merge::new(|results| {
            Ok(results.successes().map(|(_, output)| output.text.clone()).collect::<String>().into())
        })),
        5..8 => request.with_resolver(Tells(secret.to_owned(), kind - 5)),
        8 => request.with_decide(Decide::Early),
        _ => request,
    }
}

fn step(kind: u8, secret: &str) -> Step {
    let mut output = TaskOutput::text(secret)
        .with_artifact(Artifact::text("notes", secret).unwrap())
        .with_metadata("note", secret);
    match kind {
        0 => output.data = Some(json!({ "a": secret })),
        1 => output.data = Some(json!([secret, 1])),
        2 => output.data = Some(json!({ "a": 3 })),
        3 => return Step::panic(secret),
        4 => return Step::fail(ExecutorError::new(secret)),
        5 => return Step::pause(secret),
        6 => return Step::cancelled(),
        _ => {}
    }
    Step::reply(output)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn no_event_carries_content(
        noise in "[a-zA-Z0-9 äöü\"\\\\]{0,8}", kind in 0..10_u8, kinds in prop::collection::vec(0..8_u8, 1..5),
    ) {
        let secret = format!("s3cr3t{noise}");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let voters = kinds.iter().map(|&kind| {
                let secret = secret.clone();
                ScriptedExecutor::answering(move |_| step(kind, &secret))
            });
            let (house, heard) = (House::built(registry(voters), |builder| builder), Heard::default());
            let judge = { let secret = secret.clone(); ScriptedExecutor::answering(move |_| Step::reply(secret.clone())) };
            house.registry.add(AgentDescriptor::new("judge"), judge).unwrap();
            let task = TaskRequest::new(secret.clone()).with_json(&secret).with_metadata("note", secret.clone())
                .requiring("vote").with_timeout(ms(100));
            let request = with_resolver(heard.listen(ConsensusRequest::new(task)), kind, &secret);
            let report = house.reach(request).await;
            let told = format!("{:?} {:?} {:?}", heard.events(), house.sink.events(), house.tasks.events());
            assert!(!told.contains("s3cr3t"), "{told}");
            assert!(!report.to_string().contains("s3cr3t"), "{report}");
            assert_eq!(heard.names().len(), 2, "{report}");
        });
    }
}
