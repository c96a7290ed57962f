//! Every function of the header is used by the safe crate, or is on the list of those that Rust
//! must not have; and every call on a handle is made under the lock that keeps writes apart.

use std::{collections::HashSet, fs, path::Path};

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| word.starts_with("flam_"))
}

/// The lines of a folder's files that are no comments.
fn code(folder: &Path) -> String {
    let mut all = String::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all += &code(&path);
        } else {
            let text = fs::read_to_string(&path).unwrap();
            let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            all.extend(lines.flat_map(|line| [line, "\n"]));
        }
    }
    all
}

#[test]
fn nothing_of_the_header_is_missing() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let code = code(&root.join("src"));
    let used: HashSet<_> = words(&code).map(str::to_owned).collect();
    let table = fs::read_to_string(root.join("../flambeau-sys/src/gen/functions.rs")).unwrap();
    let functions: Vec<_> =
        table.lines().filter_map(|line| line.trim().strip_prefix("fn ")).collect();
    assert!(functions.len() > 500, "read {} functions", functions.len());
    let by_hand = fs::read_to_string(root.join("../../generate/rust_by_hand.txt")).unwrap();
    let left_out: HashSet<_> = by_hand
        .lines()
        .skip_while(|line| !line.starts_with("# Not for Rust"))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let missing: Vec<_> = functions
        .iter()
        .map(|f| f.split('(').next().unwrap())
        // frames, and so keeping, are not for Rust; types with several owners retain by Clone
        .filter(|name| !name.ends_with("_keep") && !name.ends_with("_retain"))
        // what takes a number where an operation takes an Operand, of which numbers are some
        .filter(|name| !is_number_form(name, &used))
        .filter(|name| !used.contains(*name) && !left_out.contains(name))
        .collect();
    assert!(missing.is_empty(), "write these by hand in src/: {:?}", missing);
}

/// `flam_add_f64_` of `flam_add_`, which is used.
fn is_number_form(name: &str, used: &HashSet<String>) -> bool {
    let plain = name.trim_end_matches('_');
    match plain.strip_suffix("_f64").or_else(|| plain.strip_suffix("_i64")) {
        Some(base) => used.contains(&(base.to_owned() + &name[plain.len()..])),
        None => false,
    }
}

/// The functions of a source file, each from its `fn` to the next one.
fn functions(text: &str) -> impl Iterator<Item = &str> {
    text.split("fn ").skip(1)
}

const GUARDS: [&str; 4] = ["reading()", "writing()", "unlocked()", "_access()"];

#[test]
fn calls_on_handles_hold_the_lock() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut checked, mut without) = (0, Vec::new());
    for folder in [root.clone(), root.join("gen")] {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if !path.is_file() {
                continue;
            }
            for function in functions(&fs::read_to_string(&path).unwrap()) {
                if function.contains("sys::flam_") && function.contains(".raw()") {
                    checked += 1;
                    if !GUARDS.iter().any(|guard| function.contains(guard)) {
                        let line = function.lines().next().unwrap();
                        without.push(format!("{}: {}", path.display(), line));
                    }
                }
            }
        }
    }
    assert!(checked > 1000, "read {} functions", checked);
    assert!(without.is_empty(), "{:#?}", without);
}
