#![no_main]
labelflow_fuzz::reader!("wrench_classes");
