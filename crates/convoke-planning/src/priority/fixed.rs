//! Scores without rounding.
//!
//! Sums of floating-point numbers depend on the order of adding, and a score that changes with time would be rounded
//! anew at each look: two steps could pass each other and come back. So a score becomes an integer once, in steps of
//! 2⁻³⁶ (about 1.5 × 10⁻¹¹), and whatever follows is exact. What differs by less is a tie, as 0.1 + 0.2 and 0.3 are.

/// The step of scores is 2⁻³⁶.
const FRACTION: f64 = 68_719_476_736.0;

/// Scores and weights go to 2⁴⁶, about 7 × 10¹³, on both sides.
const MAX: f64 = 70_368_744_177_664.0;

/// Horizons go to 2⁴² milliseconds, 139 years.
pub(super) const MAX_HORIZON_MILLIS: u64 = 1 << 42;

/// The clock goes to 2⁴³ milliseconds, the year 2248, and stands there.
///
/// With that, a deadline within the horizon is below 2⁴⁴. A weight is at most 2⁸² steps, so weight × deadline is at most
/// 2¹²⁶, base × horizon at most 2¹²⁴, and their sum stays below 2¹²⁷, which an `i128` holds.
pub(super) const MAX_NOW_MILLIS: u64 = (1 << 43) - 1;

/// The integer nearest to a score; `None` where it is no number or beyond the range.
#[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
pub(super) fn from_f64(score: f64) -> Option<i128> {
    (score.abs() <= MAX).then(|| (score * FRACTION).round() as i128)
}
