//! Says what a build of flambeau has yet to write, and tells the linker where the library is, where
//! the crate is linked against it and not opened at run time.

use std::{env, ffi::OsString, path::Path, process::Command};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/gen");
    println!("cargo:rerun-if-env-changed=FLAMBEAU_LIB_DIR");
    if !Path::new("src/gen/functions.rs").exists() {
        stop("src/gen is not there, which a build writes: run `make build` in flambeau's clone");
    }
    let has = |feature: &str| env::var_os(format!("CARGO_FEATURE_{}", feature)).is_some();
    if has("LOAD") || !has("LINK") || env::var_os("DOCS_RS").is_some() {
        return;
    }
    for folder in folders() {
        println!("cargo:rustc-link-search=native={}", folder.to_string_lossy());
    }
    println!("cargo:rustc-link-lib=dylib=flambeau");
}

/// Where the linker is to look beside its own places and those of RUSTFLAGS. What may be there is
/// for the linker to say, and nothing is linked where a program is only checked.
fn folders() -> Vec<OsString> {
    if let Some(folder) = env::var_os("FLAMBEAU_LIB_DIR") {
        if !Path::new(&folder).join("libflambeau.so").exists() {
            warn(&format!(
                "FLAMBEAU_LIB_DIR is {}, which has no libflambeau.so: `make build` in flambeau's \
                 clone writes it into build/",
                folder.to_string_lossy()
            ));
        }
        return vec![folder];
    }
    match Command::new("pkg-config").args(["--libs-only-L", "flambeau"]).output() {
        Ok(found) if found.status.success() => {
            let flags = String::from_utf8_lossy(&found.stdout);
            flags.split_whitespace().map(|flag| flag.trim_start_matches("-L").into()).collect()
        }
        _ => {
            warn(
                "pkg-config does not say where libflambeau.so is: if the linker does not find it \
                 either, `make install` in flambeau's clone or set FLAMBEAU_LIB_DIR to its build/",
            );
            Vec::new()
        }
    }
}

fn warn(why: &str) {
    println!("cargo:warning={}", why);
}

fn stop(why: &str) -> ! {
    eprintln!("flambeau-sys: {}", why);
    std::process::exit(1)
}
