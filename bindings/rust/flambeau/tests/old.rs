//! A library of another version: one test, since a process opens the library once.

use std::{fs, path::Path, process::Command};

use flambeau::{open_library, Status};

const OTHER: &str = "
unsigned flam_version(void) { return 7 << 16 | 3 << 8 | 1; }
int flam_version_require(int major, int minor) { return major == 7 ? minor - minor : 13; }
void flam_error_clear(void) {}
";

#[test]
fn a_library_of_another_version_is_named_with_both_versions() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (source, library) = (folder.join("other.c"), folder.join("libother.so"));
    fs::write(&source, OTHER).unwrap();
    let mut compiler = Command::new("cc");
    let built = compiler.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).status();
    assert!(built.expect("cc runs").success());
    std::env::set_var("FLAMBEAU_LIBRARY", &library);
    let error = open_library().unwrap_err();
    assert_eq!(error.status(), Status::AbiVersion);
    assert!(error.message().contains("version 7.3.1; this program needs 0.2"), "{}", error);
}
