//! Every function of the header is used by the safe crate, or is on the list of those that Rust
//! must not have; every call on a handle is made under the lock that keeps writes apart; and what
//! errors suggest is there.

use std::{collections::HashSet, fs, path::Path};

use flambeau::Dtype;

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

/// Calls without the lock: a loader has one handle and waits for threads; a list is nobody else's.
const ALONE: [&str; 2] = ["data.rs", "loading.rs"];

#[test]
fn calls_on_handles_hold_the_lock() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut checked, mut without) = (0, Vec::new());
    for folder in [root.clone(), root.join("gen")] {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if !path.is_file() || ALONE.contains(&name.as_str()) {
                continue;
            }
            for function in functions(&fs::read_to_string(&path).unwrap()) {
                if function.contains("sys::flam_") && function.contains(".raw()") {
                    checked += 1;
                    if !["reading()", "writing()", "_access()"].iter().any(|a| function.contains(a))
                    {
                        without.push(format!("{}: {}", name, function.lines().next().unwrap()));
                    }
                }
            }
        }
    }
    assert!(checked > 1000, "read {} functions", checked);
    assert!(without.is_empty(), "{:#?}", without);
}

/// The engine's tables of what calls, words and dtypes are in C and in Rust.
#[test]
fn what_errors_suggest_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let engine = fs::read_to_string(root.join("../../../lib/base/wording.cc")).unwrap();
    let tables = engine.split("kCalls[] =").nth(1).unwrap().split("\n\nstd::").next().unwrap();
    let texts: Vec<_> = tables.split('"').skip(1).step_by(2).collect();
    let code = code(&root.join("src"));
    let dtypes: Vec<_> = (0..16).map(|c| format!("Dtype::{:?}", Dtype::from_code(c))).collect();
    let has = |name: &str| {
        let constructor = name.starts_with(char::is_uppercase); // `Some`
        constructor || ["(", "<"].iter().any(|next| code.contains(&format!("fn {name}{next}")))
    };
    let is_there = |word: &str| match word.strip_suffix('(') {
        Some(path) => has(path.rsplit("::").next().unwrap_or(path)),
        None => {
            !word.starts_with("Dtype::") || dtypes.iter().any(|d| word.trim_end_matches(')') == d)
        }
    };
    let ends = |c: char| !c.is_alphanumeric() && c != '_' && c != ':';
    let words: Vec<_> = texts.chunks(3).flat_map(|row| row[2].split_inclusive(ends)).collect();
    assert!(words.len() > 50, "read {} words", words.len());
    let missing: Vec<_> = words.iter().filter(|word| !is_there(word)).collect();
    assert!(missing.is_empty(), "{:?}", missing);
}
