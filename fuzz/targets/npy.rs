#![no_main]
labelflow_fuzz::reader!("npy");
