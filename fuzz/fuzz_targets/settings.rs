#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| structcomp::fuzz::settings(bytes));
