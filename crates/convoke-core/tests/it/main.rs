//! The public behaviour of the words.
