#![no_main]
labelflow_fuzz::reader!("word_vectors");
