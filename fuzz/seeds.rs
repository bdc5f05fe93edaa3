//! Writes the small valid files that fuzzing starts from: `corpus/TARGET/valid-N`.

#[cfg(feature = "models")]
mod model_seeds;

use std::path::Path;

use labelflow_fuzz::READERS;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for reader in READERS {
        write(reader.name, (reader.valid)())?;
    }
    #[cfg(feature = "models")]
    for (target, files) in model_seeds::all()? {
        write(target, files)?;
    }
    Ok(())
}

fn write(target: &str, files: Vec<Vec<u8>>) -> std::io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    std::fs::create_dir_all(&folder)?;
    for (index, bytes) in files.into_iter().enumerate() {
        std::fs::write(folder.join(format!("valid-{index}")), bytes)?;
    }
    Ok(())
}
