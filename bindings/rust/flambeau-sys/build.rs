//! Tells the linker where the library is, where the crate is linked against it and not opened at
//! run time.

use std::{env, process::Command};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=FLAMBEAU_LIB_DIR");
    let has = |feature: &str| env::var_os(format!("CARGO_FEATURE_{}", feature)).is_some();
    if has("LOAD") || !has("LINK") || env::var_os("DOCS_RS").is_some() {
        return;
    }
    if let Some(folder) = env::var_os("FLAMBEAU_LIB_DIR") {
        println!("cargo:rustc-link-search=native={}", folder.to_string_lossy());
    } else if let Ok(found) =
        Command::new("pkg-config").args(["--libs-only-L", "flambeau"]).output()
    {
        for flag in String::from_utf8_lossy(&found.stdout).split_whitespace() {
            println!("cargo:rustc-link-search=native={}", flag.trim_start_matches("-L"));
        }
    }
    println!("cargo:rustc-link-lib=dylib=flambeau");
}
