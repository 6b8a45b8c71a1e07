//! What is made of numbers: medians, spreads, exponents.

use serde::{Deserialize, Serialize};

/// The middle of some numbers, and how far apart they are.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Spread {
    /// `None` of no numbers.
    pub(crate) fn of(numbers: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut numbers: Vec<f64> = numbers.into_iter().collect();
        numbers.sort_by(f64::total_cmp);
        let (&min, &max) = (numbers.first()?, numbers.last()?);
        let upper = numbers.get(numbers.len() / 2)?;
        let lower = numbers.get((numbers.len() - 1) / 2)?;
        Some(Self { median: f64::midpoint(*lower, *upper), min, max })
    }
}

/// How an amount grows with a size: 1 where it is proportional, 2 where it is quadratic. Sizes and amounts are above zero.
pub(crate) fn exponent(sizes: (usize, usize), amounts: (f64, f64)) -> f64 {
    (amounts.1 / amounts.0).ln() / (float(sizes.1) / float(sizes.0)).ln()
}

/// A count as a number to reckon with.
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2 to the power of 53")]
pub(crate) fn float(count: usize) -> f64 {
    count as f64
}

/// The same of a wider count.
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2 to the power of 53")]
pub(crate) fn float_of(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests;
