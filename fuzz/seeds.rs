//! Writes the small valid files that fuzzing starts from: `corpus/TARGET/valid-N`.

use std::path::Path;

use labelflow_fuzz::readers::READERS;

fn main() -> std::io::Result<()> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for reader in READERS {
        let folder = corpus.join(reader.name);
        std::fs::create_dir_all(&folder)?;
        for (index, bytes) in (reader.valid)().into_iter().enumerate() {
            std::fs::write(folder.join(format!("valid-{index}")), bytes)?;
        }
    }
    Ok(())
}
