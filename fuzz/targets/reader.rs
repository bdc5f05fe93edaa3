#![no_main]
//! Any reader of files: the variable READER names it.

labelflow_fuzz::fuzz_target!(|bytes: &[u8]| labelflow_fuzz::read(bytes));
