//! Files that are read: what may be read once only is copied when it is first opened.

use std::fs::{self, File, Metadata};
use std::io::{self, IsTerminal, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// The path that stands for standard input, and among outputs for standard output.
const STANDARD: &str = "-";

/// Whether a path stands for standard input or output.
pub fn is_standard(path: &Path) -> bool {
    path.as_os_str() == STANDARD
}

/// What tells files apart, however they are called: device and inode. Some systems have none.
#[cfg(unix)]
pub fn identity(metadata: &Metadata) -> Option<[u64; 2]> {
    use std::os::unix::fs::MetadataExt;
    Some([metadata.dev(), metadata.ino()])
}

/// What tells files apart on other systems: nothing but their paths.
#[cfg(not(unix))]
pub fn identity(_: &Metadata) -> Option<[u64; 2]> {
    None
}

/// A file to read from: each reader of it has a place of its own.
///
/// Standard input, which is the path `-`, pipes and sockets can be read once only, but readers go over a file more than once: a header, then
/// rows, then the place of an error. So these are copied into a temporary file without a name, and whoever opens the same path again gets the
/// copy as long as any reader has it, or to the end of the process after [`keep_copies`].
///
/// ```
/// use std::io::Read;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("note.txt");
/// std::fs::write(&path, "done")?;
/// let mut text = String::new();
/// labelflow_files::InputFile::open(&path)?.read_to_string(&mut text)?;
/// assert_eq!(text, "done");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct InputFile {
    file: Arc<File>,
    position: u64,
    n_bytes: u64,
}

/// What can be read once only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    StandardInput,
    /// A pipe by its [`identity`].
    Pipe([u64; 2]),
}

/// The copies of this process.
struct Copies {
    known: Vec<(Source, Weak<File>)>,
    kept: Vec<Arc<File>>,
    are_kept: bool,
}

static COPIES: Mutex<Copies> = Mutex::new(Copies { known: Vec::new(), kept: Vec::new(), are_kept: false });

fn copies() -> MutexGuard<'static, Copies> {
    COPIES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on, copies of pipes are kept to the end of the process: for programs that read each pipe once.
pub fn keep_copies() {
    copies().are_kept = true;
}

impl InputFile {
    /// Opens a file, or standard input if the path is `-`. Waits for whoever writes to a pipe.
    pub fn open(path: &Path) -> io::Result<Self> {
        if is_standard(path) {
            return Self::copy_once(Some(Source::StandardInput), || {
                refuse_device(&io::stdin(), standard_input_metadata()?.as_ref())?;
                copy_of(io::stdin())
            });
        }
        let metadata = fs::metadata(path)?;
        if metadata.is_file() || metadata.is_dir() {
            return Self::new(File::open(path)?.into());
        }
        Self::copy_once(identity(&metadata).map(Source::Pipe), || {
            let pipe = File::open(path)?;
            refuse_device(&pipe, Some(&metadata))?;
            copy_of(pipe)
        })
    }

    /// The copy of a source, made if there is none.
    fn copy_once(source: Option<Source>, make: impl FnOnce() -> io::Result<File>) -> io::Result<Self> {
        let mut copies = copies();
        let known = copies.known.iter().find(|(of, _)| Some(*of) == source);
        if let Some(copy) = known.and_then(|(_, copy)| copy.upgrade()) {
            return Self::new(copy);
        }
        let copy = Arc::new(make()?);
        copies.known.retain(|(_, copy)| copy.strong_count() > 0);
        copies.known.extend(source.map(|source| (source, Arc::downgrade(&copy))));
        if copies.are_kept || source == Some(Source::StandardInput) {
            copies.kept.push(copy.clone());
        }
        Self::new(copy)
    }

    fn new(file: Arc<File>) -> io::Result<Self> {
        Ok(Self { n_bytes: file.metadata()?.len(), file, position: 0 })
    }

    /// The size of the file.
    pub fn n_bytes(&self) -> u64 {
        self.n_bytes
    }

    /// Another reader, which begins at this byte.
    #[must_use]
    pub fn at(&self, position: u64) -> Self {
        Self { position, ..self.clone() }
    }
}

/// A temporary file with these contents.
fn copy_of(mut source: impl Read) -> io::Result<File> {
    let no_copy = |error: io::Error| {
        let folder = std::env::temp_dir();
        io::Error::new(error.kind(), format!("copying it to {}, which TMPDIR names: {error}", folder.display()))
    };
    let mut copy = tempfile::tempfile().map_err(no_copy)?;
    io::copy(&mut source, &mut copy).map_err(no_copy)?;
    Ok(copy)
}

impl Read for InputFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        #[cfg(unix)]
        let n_read = std::os::unix::fs::FileExt::read_at(&*self.file, buffer, self.position)?;
        #[cfg(windows)]
        let n_read = std::os::windows::fs::FileExt::seek_read(&*self.file, buffer, self.position)?;
        self.position += n_read as u64;
        Ok(n_read)
    }
}

impl Seek for InputFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(offset) => self.n_bytes.checked_add_signed(offset),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
        };
        self.position = position.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}

#[cfg(unix)]
fn standard_input_metadata() -> io::Result<Option<Metadata>> {
    use std::os::fd::AsFd;
    Ok(Some(File::from(io::stdin().as_fd().try_clone_to_owned()?).metadata()?))
}

#[cfg(not(unix))]
fn standard_input_metadata() -> io::Result<Option<Metadata>> {
    Ok(None)
}

/// A device such as `/dev/zero` has no end; at a terminal the user says where it is.
fn refuse_device(file: &impl IsTerminal, metadata: Option<&Metadata>) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let kind = metadata.map(Metadata::file_type);
        if kind.is_some_and(|kind| kind.is_char_device() || kind.is_block_device()) && !file.is_terminal() {
            return Err(io::Error::other("expected a file or a pipe, found a device"));
        }
    }
    let _ = (file, metadata);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(mut file: InputFile) -> String {
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn readers_of_a_file_do_not_move_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("letters");
        fs::write(&path, "abcdef").unwrap();
        let mut file = InputFile::open(&path).unwrap();
        assert_eq!((file.n_bytes(), file.seek(SeekFrom::End(-2)).unwrap()), (6, 4));
        assert_eq!((text(file.at(1)), text(file)), ("bcdef".to_owned(), "ef".to_owned()));
        assert_eq!(InputFile::open(folder.path().join("none").as_path()).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_is_read_once_as_long_as_its_copy_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let written = |contents: &'static str| {
            let writer = std::thread::spawn({
                let path = path.clone();
                move || fs::write(path, contents).unwrap()
            });
            let file = InputFile::open(&path).unwrap();
            writer.join().unwrap();
            file
        };
        let file = written("first");
        assert_eq!(
            (text(file.clone()), text(InputFile::open(&path).unwrap())),
            ("first".to_owned(), "first".to_owned())
        );
        drop(file);
        assert_eq!(text(written("second")), "second");
        keep_copies();
        drop(written("third"));
        assert_eq!(text(InputFile::open(&path).unwrap()), "third");
    }

    #[cfg(unix)]
    #[test]
    fn a_device_without_an_end_is_refused() {
        let error = InputFile::open(Path::new("/dev/zero")).unwrap_err().to_string();
        assert!(error.contains("found a device"), "{error}");
    }
}
