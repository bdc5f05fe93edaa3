#![no_main]
labelflow_fuzz::reader!("partnet_split");
