//! Writes the definitions of all kinds to `config/crd/`. A test fails when what is there differs.

use std::{error::Error, fs, path::Path};

fn main() -> Result<(), Box<dyn Error>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/crd");
    fs::create_dir_all(&directory)?;
    for (name, yaml) in crds::files()? {
        fs::write(directory.join(name), yaml)?;
    }
    Ok(())
}
