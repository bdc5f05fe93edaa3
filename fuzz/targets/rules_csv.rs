#![no_main]
labelflow_fuzz::reader!("rules_csv");
