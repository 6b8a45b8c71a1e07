//! How long to wait before trying again.

use std::time::Duration;

use crate::PolicyError;

/// How long a failed step waits before it is tried again: a time that doubles with each failure up to a longest one, of
/// which a random part is taken off, so that steps that failed together do not come back together.
///
/// Chance is an input, as time is.
///
/// ```
/// use std::time::Duration;
///
/// use convoke_planning::Backoff;
///
/// # fn main() -> Result<(), convoke_planning::PolicyError> {
/// let backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(1), 0.5)?;
/// assert_eq!(backoff.delay(1, 0.0), Duration::from_millis(100));
/// assert_eq!(backoff.delay(3, 0.0), Duration::from_millis(400));
/// assert_eq!(backoff.delay(9, 0.0), Duration::from_secs(1));
/// assert_eq!(backoff.delay(9, 0.5), Duration::from_millis(750));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
    jitter: f64,
}

impl Backoff {
    /// Waits `first` after the first failure, then twice as long each time, at most `longest`. Up to `jitter` of that, from
    /// 0 to 1, is taken off by chance.
    ///
    /// # Errors
    ///
    /// [`PolicyError`] where `first` is zero, `longest` is shorter, or `jitter` is not from 0 to 1.
    pub fn new(first: Duration, longest: Duration, jitter: f64) -> Result<Self, PolicyError> {
        if first.is_zero() {
            return Err(PolicyError::ZeroTime { field: "first" });
        }
        if longest < first {
            return Err(PolicyError::Time { field: "longest", value: longest, wanted: "at least `first`" });
        }
        if !(0.0..=1.0).contains(&jitter) {
            return Err(PolicyError::Number {
                field: "jitter",
                value: jitter,
                wanted: "a number from 0 to 1",
            });
        }
        Ok(Self { first, longest, jitter })
    }

    /// Tries again at once.
    pub fn none() -> Self {
        Self { first: Duration::ZERO, longest: Duration::ZERO, jitter: 0.0 }
    }

    /// How long to wait after so many failures in a row. `chance` is drawn evenly from 0 to 1; what lies outside counts as
    /// the nearer end.
    pub fn delay(&self, failures: u32, chance: f64) -> Duration {
        let doubled = 1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX);
        let whole = self.first.saturating_mul(doubled).min(self.longest);
        let chance = if chance.is_nan() { 0.0 } else { chance.clamp(0.0, 1.0) };
        whole.saturating_sub(whole.mul_f64(self.jitter * chance))
    }
}

/// 100 ms, doubling up to 10 s, up to half of it taken off.
impl Default for Backoff {
    fn default() -> Self {
        Self { first: Duration::from_millis(100), longest: Duration::from_secs(10), jitter: 0.5 }
    }
}
