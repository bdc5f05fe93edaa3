//! A full disk and folders that cannot be written: a clear error from every command that writes, and the old files stay.

#![allow(clippy::unwrap_used, clippy::print_stderr)]
#![cfg(unix)]

mod common;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use common::writers::{WRITERS, sandbox_of_writers};
use common::{Ran, Sandbox};

/// Runs a command after the old one, so that there is something to lose; it must fail and change nothing.
fn refuses(sandbox: &Sandbox, old: &str, fail: impl Fn() -> Ran, parts: &[&str]) {
    let _ = std::fs::remove_dir_all(sandbox.path("out"));
    std::fs::create_dir(sandbox.path("out")).unwrap();
    let ran = sandbox.labelflow(old);
    assert!(matches!(ran.code, Some(0 | 1)), "{old}: {}", ran.stderr);
    let before = sandbox.contents("");
    let ran = fail();
    assert_eq!(ran.code, Some(2), "{old}: {}{}", ran.stdout, ran.stderr);
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    assert!(parts.iter().any(|part| ran.stderr.contains(part)), "{old}: {}", ran.stderr);
    // The file that could not be written, or its folder.
    assert!(ran.stderr.contains("out"), "{old}: {}", ran.stderr);
    sandbox.assert_contents(&before);
}

#[test]
fn a_full_disk() {
    let sandbox = sandbox_of_writers();
    for writer in WRITERS {
        // No file may grow: the system reports it as it does a full disk.
        let script = format!("trap '' XFSZ; ulimit -f 0; exec \"$LABELFLOW\" {}", writer.new);
        refuses(&sandbox, writer.old, || sandbox.shell(&script), &["File too large"]);
    }
}

/// Takes the right to write from a folder and all below it, or gives it back.
fn set_writable(path: &Path, is_writable: bool) {
    if path.is_dir() {
        for entry in std::fs::read_dir(path).unwrap() {
            set_writable(&entry.unwrap().path(), is_writable);
        }
    }
    let mode = match (path.is_dir(), is_writable) {
        (true, true) => 0o777,
        (true, false) => 0o555,
        (false, true) => 0o666,
        (false, false) => 0o444,
    };
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_folder_that_cannot_be_written() {
    let sandbox = sandbox_of_writers();
    // Rights do not bind the superuser, who becomes somebody else here.
    let probe = sandbox.path("probe");
    std::fs::create_dir(&probe).unwrap();
    set_writable(&probe, false);
    let is_superuser = std::fs::write(probe.join("file"), "").is_ok();
    let prefix = if is_superuser { "setpriv --reuid=65534 --regid=65534 --clear-groups " } else { "" };
    set_writable(&sandbox.path(""), true);
    if !sandbox.shell(&format!("{prefix}\"$LABELFLOW\" --version")).stdout.contains("labelflow") {
        eprintln!("SKIPPED: the superuser cannot become somebody else here (setpriv)");
        return;
    }
    for writer in WRITERS {
        let fail = || {
            set_writable(&sandbox.path("out"), false);
            let ran = sandbox.shell(&format!("exec {prefix}\"$LABELFLOW\" {}", writer.new));
            set_writable(&sandbox.path("out"), true);
            ran
        };
        refuses(&sandbox, writer.old, fail, &["Permission denied"]);
    }
}
