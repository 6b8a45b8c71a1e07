//! Holds nothing: the scenarios are in `it`.
