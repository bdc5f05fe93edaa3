#![no_main]
labelflow_fuzz::reader!("off");
