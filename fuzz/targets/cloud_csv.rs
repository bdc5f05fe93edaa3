#![no_main]
labelflow_fuzz::reader!("cloud_csv");
