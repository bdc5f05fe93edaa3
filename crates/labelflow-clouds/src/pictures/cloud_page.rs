//! Pages to turn clouds around in: one HTML file with everything in it, for any browser, with or without a network.
//!
//! ```text
//! stored = round(65535 · (p + 0.5)),   p in the frame of the scan, from −0.5 to 0.5
//! ```
//!
//! Three 16-bit numbers a point, lowest byte first, as base64: a step is 1/65535 of the size of the scan.

use std::io::Write;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use labelflow_data::{Result, write_atomically};
use serde_json::{Value, json};

use super::completed_scan::{CloudRole, check_scans};
use crate::geometry::{Normalization, PointCloud};
use crate::pictures::CompletedScan;

/// The page; `{{title}}` and `{{scans}}` stand for what differs.
const TEMPLATE: &str = include_str!("cloud_page.html");
/// The most scans of a page.
const MOST_SCANS: usize = 100;
/// The most points of a cloud: browsers draw these while one turns them.
const MOST_POINTS: usize = 100_000;

/// Writes a page that shows scans and their completions, to be turned and zoomed.
///
/// The page needs no network and no other file. Of clouds with more than 100,000 points it shows that many, evenly chosen, and
/// says so. There are at most 100 scans.
///
/// ```
/// use labelflow_clouds::pictures::{CompletedScan, write_cloud_page};
/// use labelflow_clouds::geometry::PointCloud;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("scan.html");
/// let input = PointCloud::new(vec![[0.0; 3], [1.0, 0.0, 0.0]])?;
/// let completion = PointCloud::new(vec![[0.0; 3], [1.0, 0.0, 0.0], [0.5, 1.0, 0.0]])?;
/// let scan =
///     CompletedScan { name: "scan.ply".into(), input, completions: vec![completion], truth: None };
/// write_cloud_page(&path, &[scan])?;
/// assert!(std::fs::read_to_string(&path)?.contains("<title>scan.ply</title>"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_cloud_page(path: &Path, scans: &[CompletedScan]) -> Result<()> {
    let page = cloud_page(scans)?;
    write_atomically(path, |writer| writer.write_all(page.as_bytes()))
}

fn cloud_page(scans: &[CompletedScan]) -> Result<String> {
    check_scans(scans, MOST_SCANS)?;
    let title = match scans {
        [only] => escaped(&only.name),
        several => format!("{} scans and their completions", several.len()),
    };
    let scans = scans.iter().map(page_scan).collect::<Result<Vec<_>>>()?;
    // Inside a script, `<` could end it; JSON can say it otherwise.
    let scans = Value::from(scans).to_string().replace('<', "\\u003c");
    let (start, rest) = TEMPLATE.split_once("{{title}}").expect("the template has a title");
    let (middle, end) = rest.split_once("{{scans}}").expect("the template has scans");
    Ok([start, &title, middle, &scans, end].concat())
}

/// What the page is told of a scan. `count` is the number of points of a cloud, of which the page may have fewer.
fn page_scan(scan: &CompletedScan) -> Result<Value> {
    let frame = scan.frame(usize::MAX)?;
    let mut clouds = Vec::new();
    for (index, (role, cloud)) in scan.clouds(usize::MAX).into_iter().enumerate() {
        let label = match role {
            CloudRole::Input => "Input".to_owned(),
            CloudRole::Completion => format!("Completion {index}"),
            CloudRole::Truth => "Truth".to_owned(),
        };
        let points = STANDARD.encode(stored_points(&frame, cloud)?);
        clouds.push(json!({ "role": role, "label": label, "count": cloud.len(), "points": points }));
    }
    Ok(json!({ "name": scan.name, "clouds": clouds }))
}

fn stored_points(frame: &Normalization, cloud: &PointCloud) -> Result<Vec<u8>> {
    let n_points = cloud.len().min(MOST_POINTS);
    let chosen = match n_points == cloud.len() {
        true => frame.apply(cloud)?,
        false => {
            let indices = (0..n_points).map(|index| index * cloud.len() / n_points);
            frame.apply(&cloud.select(&indices.collect::<Vec<_>>()))?
        }
    };
    let stored = |value: f32| ((value + 0.5) * 65535.0).round().clamp(0.0, 65535.0) as u16;
    Ok(chosen.as_flat().iter().flat_map(|&value| stored(value).to_le_bytes()).collect())
}

/// Text that HTML shows as it is.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pictures::completed_scan::tests::scan_of_furniture;
    use crate::shapes::FurnitureCategory;

    /// The scans as the script of a page reads them.
    fn read_back(page: &str) -> Value {
        let (_, rest) = page.split_once(r#"id="scans">"#).unwrap();
        serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
    }

    #[test]
    fn points_come_back_within_half_a_step() {
        let scan = scan_of_furniture(FurnitureCategory::Chair, 0, 2);
        let frame = scan.frame(usize::MAX).unwrap();
        let scans = read_back(&cloud_page(std::slice::from_ref(&scan)).unwrap());
        let clouds = scans[0]["clouds"].as_array().unwrap();
        let roles: Vec<&str> = clouds.iter().map(|cloud| cloud["role"].as_str().unwrap()).collect();
        assert_eq!(roles, ["input", "completion", "completion", "truth"]);
        assert_eq!(clouds[2]["label"], "Completion 2");
        for (cloud, (_, original)) in clouds.iter().zip(scan.clouds(usize::MAX)) {
            assert_eq!(cloud["count"], original.len());
            let bytes = STANDARD.decode(cloud["points"].as_str().unwrap()).unwrap();
            assert_eq!(bytes.len(), 6 * original.len());
            let points = frame.apply(original).unwrap();
            for (pair, &value) in bytes.chunks(2).zip(points.as_flat()) {
                let read = f32::from(u16::from_le_bytes([pair[0], pair[1]])) / 65535.0 - 0.5;
                assert!((read - value).abs() < 0.51 / 65535.0, "{read} {value}");
            }
        }
    }

    #[test]
    fn names_cannot_become_markup() {
        let name = r#"</script><!--<script>alert("1")</script>&{{scans}}'.ply"#;
        let scan = CompletedScan { name: name.into(), ..scan_of_furniture(FurnitureCategory::Lamp, 0, 1) };
        let page = cloud_page(&[scan]).unwrap();
        assert_eq!(read_back(&page)[0]["name"], name);
        assert_eq!(page.matches("</script>").count(), TEMPLATE.matches("</script>").count());
        assert!(!page.contains("<!--") && !page.contains("alert(\"1\")</"));
        assert!(page.contains("<title>&lt;/script&gt;&lt;!--&lt;script&gt;alert(&quot;1&quot;)"));
    }

    #[test]
    fn the_page_needs_no_network() {
        for word in ["http:", "https:", "src=", "url(", "import "] {
            assert!(!TEMPLATE.contains(word), "{word}");
        }
    }

    #[test]
    fn large_clouds_are_thinned_evenly() {
        let points = (0..250_000).map(|index| [f64::from(index), 0.0, 0.0]).collect();
        let input = PointCloud::new(points).unwrap();
        let scan = CompletedScan { name: "a".into(), input, completions: vec![], truth: None };
        let scans = read_back(&cloud_page(&[scan]).unwrap());
        let cloud = &scans[0]["clouds"][0];
        assert_eq!(cloud["count"], 250_000);
        let bytes = STANDARD.decode(cloud["points"].as_str().unwrap()).unwrap();
        assert_eq!(bytes.len(), 6 * MOST_POINTS);
        assert_eq!(bytes[..2], [0, 0]);
        assert!(bytes[bytes.len() - 5] == 255, "the end is there too");
        assert!(cloud_page(&[]).is_err());
    }
}
