//! Clouds drawn as a picture or as a page.

mod cloud_page;
mod cloud_picture;
mod cloud_tile;
mod completed_scan;
mod stroke_font;

pub use cloud_page::write_cloud_page;
pub use cloud_picture::write_cloud_picture;
pub use completed_scan::CompletedScan;
pub use stroke_font::{StrokeLetter, stroke_letter};
