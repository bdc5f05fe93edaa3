//! Downloads of the catalog's files from their publishers.

use std::io::{Cursor, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use zip::ZipArchive;
use zip::result::ZipResult;

use super::catalog_entry::{file_state, sha256_hex};
use crate::catalog::{CatalogEntry, CatalogFile, FileState};
use crate::{Error, Result, ensure, write_atomically};

/// A download is never larger than this factor times the catalog's size: gzip can grow what it cannot shrink.
const SLACK: u64 = 2;

/// Downloads the files of a dataset into `dir`, and returns their paths.
///
/// A file that is already there with the right hash is left alone. Content with a wrong hash is never stored.
pub fn fetch(entry: &CatalogEntry, dir: &Path) -> Result<Vec<PathBuf>> {
    let agent = ureq::Agent::config_builder()
        .timeout_connect(Some(Duration::from_secs(20)))
        .timeout_recv_response(Some(Duration::from_secs(60)))
        .build()
        .into();
    fetch_with(&agent, entry, dir)
}

fn fetch_with(agent: &ureq::Agent, entry: &CatalogEntry, dir: &Path) -> Result<Vec<PathBuf>> {
    entry.files.iter().map(|file| fetch_file(agent, entry, file, dir)).collect()
}

fn fetch_file(agent: &ureq::Agent, entry: &CatalogEntry, file: &CatalogFile, dir: &Path) -> Result<PathBuf> {
    let path = dir.join(file.path);
    if file_state(file, &path)? == FileState::Good {
        return Ok(path);
    }
    let address = if file.url.is_empty() { file.path } else { file.url };
    let refuse = |reason: String| Error::Network {
        address: address.to_owned(),
        reason,
        hint: format!("point --data or LABELFLOW_DATA to a folder that holds a copy as {}", file.path),
    };
    ensure(!file.url.is_empty(), || refuse("no publisher has it in this form".to_owned()))?;
    let bytes = download(agent, file).map_err(refuse)?;
    let found = sha256_hex(file.checksum, &bytes);
    if !file.accepts(&found) {
        return Err(refuse(format!(
            "expected the SHA-256 {}, found {found} in {} bytes; nothing was stored for {}",
            file.sha256,
            bytes.len(),
            entry.name
        )));
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|source| Error::write(folder, source))?;
    }
    write_atomically(&path, |writer| writer.write_all(&bytes))?;
    Ok(path)
}

/// The bytes of the file, or what went wrong.
fn download(agent: &ureq::Agent, file: &CatalogFile) -> Result<Vec<u8>, String> {
    let (address, member) = match file.url.split_once('#') {
        Some((address, member)) => (address, Some(member)),
        None => (file.url, None),
    };
    let limit = file.bytes.saturating_mul(SLACK).saturating_add(1 << 20);
    let mut response = agent.get(address).call().map_err(|error| reason(&error))?;
    let body = response.body_mut().with_config().limit(limit);
    let bytes = body.read_to_vec().map_err(|error| reason(&error))?;
    match member {
        None => Ok(bytes),
        Some(member) => unzipped(bytes, member, limit),
    }
}

/// A file of a zip archive, not more than `limit` bytes of it.
fn unzipped(archive: Vec<u8>, member: &str, limit: u64) -> Result<Vec<u8>, String> {
    let unzip = || -> ZipResult<Vec<u8>> {
        let mut archive = ZipArchive::new(Cursor::new(archive))?;
        let mut bytes = Vec::new();
        archive.by_name(member)?.take(limit).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    unzip().map_err(|error| format!("{member} in the archive: {error}"))
}

/// What went wrong, in plain words.
fn reason(error: &ureq::Error) -> String {
    match error {
        ureq::Error::StatusCode(404) => "the publisher no longer has it there (404)".to_owned(),
        ureq::Error::StatusCode(code) => format!("the publisher answered {code}"),
        ureq::Error::HostNotFound => "the host was not found; is there a network?".to_owned(),
        ureq::Error::ConnectionFailed => "no connection; is there a network?".to_owned(),
        ureq::Error::Timeout(_) => "no answer in time; is there a network?".to_owned(),
        ureq::Error::Io(error) => format!("{error}; is there a network?"),
        ureq::Error::BodyExceedsLimit(limit) => {
            format!("more than {limit} bytes came, far more than the file has")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::net::TcpListener;

    use super::*;
    use crate::catalog::Checksum;

    /// SHA-256 of `abc`.
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    /// Answers one request with this status and body; returns the address.
    fn serve_once(status: &'static str, body: &'static [u8]) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            let length = body.len();
            let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n");
            stream.write_all(head.as_bytes()).unwrap();
            stream.write_all(body).unwrap();
        });
        format!("http://{address}/file")
    }

    fn entry(url: String) -> CatalogEntry {
        let file = CatalogFile {
            path: "some/where/abc.txt",
            url: Box::leak(url.into_boxed_str()),
            sha256: ABC,
            bytes: 3,
            checksum: Checksum::File,
            other_sha256: Vec::new(),
        };
        CatalogEntry { files: vec![file], ..crate::catalog::find("breast-cancer").unwrap().clone() }
    }

    /// An agent that talks to this machine whatever proxy the environment names.
    fn local_agent() -> ureq::Agent {
        ureq::Agent::config_builder().proxy(None).build().into()
    }

    fn fetch_from(url: String, dir: &Path) -> Result<Vec<PathBuf>> {
        fetch_with(&local_agent(), &entry(url), dir)
    }

    #[test]
    fn the_right_content_is_stored_and_then_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let url = serve_once("200 OK", b"abc");
        let paths = fetch_from(url.clone(), folder.path()).unwrap();
        assert_eq!(std::fs::read(&paths[0]).unwrap(), b"abc");
        assert_eq!(fetch_from(url, folder.path()).unwrap(), paths, "no second request is needed");
    }

    #[test]
    fn a_file_that_nobody_offers_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let error = fetch_from(String::new(), folder.path()).unwrap_err().to_string();
        assert!(error.contains("cannot fetch some/where/abc.txt: no publisher has it"), "{error}");
    }

    #[test]
    fn the_wrong_content_is_not_stored() {
        let folder = tempfile::tempdir().unwrap();
        let error = fetch_from(serve_once("200 OK", b"abd"), folder.path()).unwrap_err();
        assert!(error.to_string().contains("expected the SHA-256 ba7816bf"), "{error}");
        assert!(!folder.path().join("some").exists());
    }

    #[test]
    fn a_body_without_end_is_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        static LONG: [u8; 3 << 20] = [0; 3 << 20];
        let error = fetch_from(serve_once("200 OK", &LONG), folder.path()).unwrap_err();
        assert!(error.to_string().contains("far more than the file has"), "{error}");
    }

    #[test]
    fn a_missing_file_and_a_silent_host_say_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let error = fetch_from(serve_once("404 Not Found", b""), folder.path()).unwrap_err();
        assert!(error.to_string().contains("404"), "{error}");
        let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let address = format!("http://{closed}/file");
        let message = fetch_from(address.clone(), folder.path()).unwrap_err().to_string();
        for part in [&*address, "LABELFLOW_DATA", "some/where/abc.txt", "is there a network?"] {
            assert!(message.contains(part), "{message}");
        }
    }

    #[test]
    fn a_file_is_taken_out_of_its_archive() {
        let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
        let options = zip::write::SimpleFileOptions::default();
        archive.start_file("folder/abc.txt", options).unwrap();
        archive.write_all(b"abc").unwrap();
        let bytes = archive.finish().unwrap().into_inner();
        assert_eq!(unzipped(bytes.clone(), "folder/abc.txt", 100).unwrap(), b"abc");
        assert_eq!(unzipped(bytes.clone(), "folder/abc.txt", 2).unwrap(), b"ab");
        assert!(unzipped(bytes, "other", 100).unwrap_err().starts_with("other in the archive"));
        assert!(unzipped(b"no archive".to_vec(), "abc.txt", 100).is_err());
    }
}
