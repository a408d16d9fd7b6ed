//! Tests of the solved model.
