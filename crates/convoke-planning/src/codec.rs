//! Plans, drafts and what runs came to, as JSON.

mod document;
mod error;
mod extract;
mod probe;
mod run;

pub use error::CodecError;

use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer, de};

use crate::{Plan, PlanDraft, PlanPolicy, PlanRun, PlanValidator};

pub(crate) use extract::is_object;

use document::{Read, Written};
use probe::{Probe, RunProbe};

/// The version of the format that this crate writes, and the newest that it reads.
pub const FORMAT_VERSION: u64 = 1;

/// The longest text that is read unless said otherwise: 64 MiB.
pub const DEFAULT_MAX_BYTES: usize = 64 * 1024 * 1024;

/// Plans, drafts and what runs came to, as JSON with a format version.
///
/// What is written is read as the same value, every number included. What cannot be read is an error and never a guess:
/// an unknown field or status, a newer version, more bytes or steps than allowed. Reading stops before it takes memory for
/// steps that are too many.
///
/// ```
/// use convoke_planning::{PlanCodec, PlanDraft, PlanValidator, StepDraft};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let draft = PlanDraft::new("publish").with_id("p1").with_step(StepDraft::new("write").titled("Write it"));
/// let plan = PlanValidator::default().validate(draft)?;
///
/// let codec = PlanCodec::default();
/// let json = codec.encode(&plan)?;
/// assert_eq!(
///     json,
///     r#"{"format_version":1,"id":"p1","goal":"publish","revision":0,"steps":[{"id":"write","title":"Write it"}]}"#
/// );
/// assert_eq!(codec.decode(&json)?, plan);
///
/// let answer = "Here it is:\n```json\n{\"goal\": \"publish\", \"steps\": [{\"title\": \"Write {it}\"}]}\n```";
/// assert_eq!(codec.from_text(answer)?.steps[0].title, "Write {it}");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct PlanCodec {
    validator: PlanValidator,
    max_steps: u32,
    max_bytes: usize,
}

impl PlanCodec {
    /// A codec that reads as many steps as the policy says, and 64 MiB.
    pub fn new(policy: &PlanPolicy) -> Self {
        Self {
            validator: PlanValidator::new(policy),
            max_steps: policy.max_steps(),
            max_bytes: DEFAULT_MAX_BYTES,
        }
    }

    /// Sets the longest text that is read, in bytes. What is read may take a multiple of that in memory.
    #[must_use]
    pub fn with_max_bytes(mut self, max_bytes: usize) -> Self {
        self.max_bytes = max_bytes;
        self
    }

    /// Writes a plan.
    ///
    /// # Errors
    ///
    /// [`CodecError::TooDeep`] where what somebody attached nests so deep that it could not be read.
    pub fn encode(&self, plan: &Plan) -> Result<String, CodecError> {
        document::to_json(&Written::plan(plan))
    }

    /// Writes a draft, whatever is wrong with it.
    ///
    /// # Errors
    ///
    /// [`CodecError::Unwritable`] where a priority signal is not finite; else as [`encode`](Self::encode).
    pub fn encode_draft(&self, draft: &PlanDraft) -> Result<String, CodecError> {
        document::to_json(&Written::draft(draft))
    }

    /// Reads a plan, and checks it as a draft is checked; tools and agents are not looked up.
    ///
    /// # Errors
    ///
    /// [`CodecError`] says what cannot be read, or [what is wrong](CodecError::Invalid) with it.
    pub fn decode(&self, json: &str) -> Result<Plan, CodecError> {
        let probe = self.probe(json)?;
        if probe.format_version.is_none() {
            return Err(CodecError::NoVersion);
        }
        self.plan(Read::of(json)?)
    }

    /// Writes a plan as a part of something larger.
    pub(crate) fn serialize<S: Serializer>(plan: &Plan, serializer: S) -> Result<S::Ok, S::Error> {
        Written::plan(plan).serialize(serializer)
    }

    /// Reads what [`serialize`](Self::serialize) wrote.
    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(&self, deserializer: D) -> Result<Plan, D::Error> {
        let read = Read::deserialize(deserializer)?;
        let version = read.format_version.ok_or(CodecError::NoVersion);
        let plan =
            version.and_then(|version| Self::check_version(Some(version))).and_then(|()| self.plan(read));
        plan.map_err(de::Error::custom)
    }

    fn plan(&self, read: Read) -> Result<Plan, CodecError> {
        let (draft, revision) = read.into_revision()?;
        Ok(self.validator.check(draft, None, revision)?)
    }

    /// Reads a draft. A person or a model may leave the version out.
    ///
    /// # Errors
    ///
    /// [`CodecError`] says what cannot be read.
    pub fn decode_draft(&self, json: &str) -> Result<PlanDraft, CodecError> {
        self.probe(json)?;
        let read = Read::of(json)?;
        if read.revision.is_some() {
            return Err(CodecError::DraftWithRevision);
        }
        Ok(read.into_draft())
    }

    /// Writes what a run came to, with its plan, its outputs and its errors. An output whose data is `null` is read as one
    /// that has none.
    ///
    /// ```
    /// # use convoke_planning::{FunctionStepExecutor, PlanCodec, PlanDraft, PlanRunner, PlanValidator, StepDraft};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let draft = PlanDraft::new("publish").with_step(StepDraft::new("write").titled("Write it"));
    /// let runner = PlanRunner::builder()
    ///     .executor(FunctionStepExecutor::new(|_, _| async { Ok("a page") }))
    ///     .build()?;
    /// let run = runner.run_plan(PlanValidator::default().validate(draft)?).await?;
    ///
    /// let codec = PlanCodec::default();
    /// assert_eq!(codec.decode_run(&codec.encode_run(&run)?)?, run);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`CodecError::InconsistentRun`] where somebody changed the run, so that its counts are not those of its steps; else
    /// as [`encode`](Self::encode).
    pub fn encode_run(&self, run: &PlanRun) -> Result<String, CodecError> {
        run::write(run)
    }

    /// Reads what a run came to. Its plan is checked as [`decode`](Self::decode) checks it, and its counts are held against
    /// its steps.
    ///
    /// # Errors
    ///
    /// [`CodecError`] says what cannot be read.
    pub fn decode_run(&self, json: &str) -> Result<PlanRun, CodecError> {
        self.bytes(json)?;
        let RunProbe { format_version, steps, plan } = RunProbe::of(json)?;
        Self::check_version(Some(format_version))?;
        Self::check_version(Some(plan.format_version.ok_or(CodecError::NoVersion)?))?;
        self.check_steps(steps.max(plan.steps))?;
        run::read(json, |plan| self.plan(plan))
    }

    /// Finds the draft in the answer of a model, and reads it: the JSON object among prose and code fences; of several, the
    /// one that has `steps`. It takes time with the length of the text.
    ///
    /// # Errors
    ///
    /// [`CodecError::NoObject`], [`CodecError::CutOff`] or [`CodecError::Ambiguous`] where there is not exactly one; else as
    /// [`decode_draft`](Self::decode_draft).
    pub fn from_text(&self, text: &str) -> Result<PlanDraft, CodecError> {
        self.bytes(text)?;
        self.decode_draft(extract::object(text)?)
    }

    fn bytes(&self, text: &str) -> Result<(), CodecError> {
        if text.len() > self.max_bytes {
            return Err(CodecError::TooLong { bytes: text.len(), allowed: self.max_bytes });
        }
        Ok(())
    }

    fn probe(&self, json: &str) -> Result<Probe, CodecError> {
        self.bytes(json)?;
        let probe = Probe::of(json)?;
        Self::check_version(probe.format_version)?;
        self.check_steps(probe.steps)?;
        Ok(probe)
    }

    fn check_version(version: Option<u64>) -> Result<(), CodecError> {
        match version {
            Some(version) if version > FORMAT_VERSION => Err(CodecError::NewerVersion { version }),
            Some(0) => Err(CodecError::NoSuchVersion),
            _ => Ok(()),
        }
    }

    fn check_steps(&self, steps: u64) -> Result<(), CodecError> {
        if steps > u64::from(self.max_steps) {
            return Err(CodecError::TooManySteps { steps, allowed: self.max_steps });
        }
        Ok(())
    }
}

/// Of the default policy.
impl Default for PlanCodec {
    fn default() -> Self {
        Self::new(&PlanPolicy::default())
    }
}
