#![no_main]
labelflow_fuzz::reader!("stl");
