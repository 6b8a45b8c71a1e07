//! Generated ids: UUID version 7, from a generator that its owner can seed.

use std::sync::atomic::{AtomicU64, Ordering};

use uuid::{Builder, Uuid};

use crate::{OwnerId, PlanId, RunId, SessionId, SignalId, TaskId};

/// Makes task and session ids: UUID version 7 (RFC 9562), the time given by the caller.
///
/// The random bits are a `SplitMix64` sequence (Steele, Lea and Flood, 2014), whose outputs are a permutation of its
/// 64-bit counter: one generator never gives the same id twice, whatever the time says. Two generators from
/// [`IdGenerator::random`] meet with a chance of 2⁻⁶⁴ per pair of ids made in the same millisecond.
///
/// ```
/// use convoke_core::IdGenerator;
///
/// let ids = IdGenerator::seeded(7);
/// assert_ne!(ids.task(0), ids.task(0));
/// assert_eq!(IdGenerator::seeded(7).task(42), IdGenerator::seeded(7).task(42));
/// ```
#[derive(Debug)]
pub struct IdGenerator {
    counter: AtomicU64,
    salt: u16,
}

/// The odd constant of `SplitMix64`: 2⁶⁴ divided by the golden ratio.
const GOLDEN_GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

impl IdGenerator {
    /// A generator that starts at a random place.
    pub fn random() -> Self {
        let (high, low) = Uuid::new_v4().as_u64_pair();
        let [.., salt_high, salt_low] = low.to_be_bytes();
        Self {
            counter: AtomicU64::new(high.rotate_left(32) ^ low),
            salt: u16::from_be_bytes([salt_high, salt_low]),
        }
    }

    /// A generator whose ids follow from `seed` and the times given, for tests and replays.
    pub fn seeded(seed: u64) -> Self {
        Self { counter: AtomicU64::new(seed), salt: 0 }
    }

    /// A task id that this generator has not given before; `unix_millis` is the time that it carries.
    pub fn task(&self, unix_millis: u64) -> TaskId {
        let mut buffer = Uuid::encode_buffer();
        TaskId::from_generated(self.next(unix_millis).hyphenated().encode_lower(&mut buffer))
    }

    /// A session id that this generator has not given before; `unix_millis` is the time that it carries.
    pub fn session(&self, unix_millis: u64) -> SessionId {
        let mut buffer = Uuid::encode_buffer();
        SessionId::from_generated(self.next(unix_millis).hyphenated().encode_lower(&mut buffer))
    }

    fn next(&self, unix_millis: u64) -> Uuid {
        let mut z = self.counter.fetch_add(GOLDEN_GAMMA, Ordering::Relaxed).wrapping_add(GOLDEN_GAMMA);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        // Version and variant overwrite four bits of byte 0 and two of byte 2, so those carry the salt.
        let mut random = [0; 10];
        let [salt_high, salt_low] = self.salt.to_be_bytes();
        let [b0, b1, b2, b3, b4, b5, b6, b7] = z.to_be_bytes();
        random.copy_from_slice(&[salt_high, b0, salt_low, b1, b2, b3, b4, b5, b6, b7]);
        Builder::from_unix_timestamp_millis(unix_millis, &random).into_uuid()
    }
}

impl Default for IdGenerator {
    fn default() -> Self {
        Self::random()
    }
}

macro_rules! random {
    ($($name:ident: $version:ident;)*) => {$(
        impl $name {
            /// A random id: a UUID (RFC 9562), from the randomness of the system.
            pub fn random() -> Self {
                Self::from_generated(Uuid::$version().hyphenated().encode_lower(&mut Uuid::encode_buffer()))
            }
        }
    )*};
}

random! {
    OwnerId: new_v4;
    PlanId: new_v4;
    RunId: now_v7;
    SignalId: now_v7;
}
