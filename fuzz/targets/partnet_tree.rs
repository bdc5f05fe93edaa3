#![no_main]
labelflow_fuzz::reader!("partnet_tree");
