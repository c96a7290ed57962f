//! The library, opened at the first call: where it is looked for, what must be true of it, and the
//! table of its functions.
//!
//! Invariant: once the table is there, every entry is a function of a library that is not older
//! than this crate.

use std::{
    cell::UnsafeCell,
    env,
    ffi::{CStr, CString},
    os::raw::{c_char, c_int, c_void},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::Once,
};

use crate::*;

extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlerror() -> *const c_char;
}

const NOW: c_int = 2;

struct Slot(UnsafeCell<Option<Result<Table, Refused>>>);
// SAFETY: written inside `call_once` only, read after it.
unsafe impl Sync for Slot {}

static OPENED: Once = Once::new();
static SLOT: Slot = Slot(UnsafeCell::new(None));

fn opened() -> &'static Result<Table, Refused> {
    OPENED.call_once(|| {
        let result = open();
        // SAFETY: no other thread passes `call_once` before this returns.
        unsafe { *SLOT.0.get() = Some(result) };
    });
    // SAFETY: set above, never changed again.
    unsafe { (*SLOT.0.get()).as_ref().expect("set by call_once") }
}

/// Opens the library unless it is open. The text names every place that was tried, and why it would
/// not do.
pub fn load() -> Result<(), &'static Refused> {
    opened().as_ref().map(drop)
}

#[inline]
fn table() -> &'static Table {
    match opened() {
        Ok(table) => table,
        Err(why) => panic!("{}", why.message),
    }
}

fn soname() -> String {
    format!("libflambeau.so.{}", VERSION.0)
}

/// Where to look, in order. What FLAMBEAU_LIBRARY names is meant: nothing else is tried then.
fn candidates() -> Vec<PathBuf> {
    if let Some(named) = env::var_os("FLAMBEAU_LIBRARY").filter(|name| !name.is_empty()) {
        return vec![PathBuf::from(named)];
    }
    let mut places = Vec::new();
    if let Some(folder) = env::current_exe().ok().and_then(|exe| exe.parent().map(Path::to_owned)) {
        places.push(folder.join(soname()));
    }
    places.push(PathBuf::from(soname()));
    places
}

fn open() -> Result<Table, Refused> {
    let (mut tried, mut status) = (String::new(), FLAM_ERROR_LIBRARY_MISSING);
    for place in candidates() {
        match open_one(&place) {
            Ok(table) => return Ok(table),
            Err(why) => {
                let text =
                    why.message.trim_start_matches(&format!("{}: ", place.display())).to_owned();
                tried += &format!("\n  {}: {}", place.display(), text);
                status = why.status;
            }
        }
        // A file that is there and will not do ends the search: another one would hide the mistake.
        if place.is_absolute() && place.exists() {
            break;
        }
    }
    let message = format!(
        "cannot open the flambeau library; tried{}\n  set FLAMBEAU_LIBRARY to the path of {}, \
         which `make build` in flambeau's clone writes into build/",
        tried,
        soname()
    );
    Err(Refused { status, message })
}

fn open_one(place: &Path) -> Result<Table, Refused> {
    let missing = |message| Refused { status: FLAM_ERROR_LIBRARY_MISSING, message };
    let path = CString::new(place.as_os_str().as_bytes())
        .map_err(|_| missing("the path has a zero byte".to_owned()))?;
    // SAFETY: a C string; the library is never closed.
    let library = unsafe { dlopen(path.as_ptr(), NOW) };
    if library.is_null() {
        // SAFETY: dlopen has just failed, so there is a text.
        return Err(missing(unsafe { CStr::from_ptr(dlerror()) }.to_string_lossy().into_owned()));
    }
    // SAFETY: the signatures are those of the headers.
    unsafe {
        let get = |name| {
            symbol(library, name).ok_or_else(|| missing("this file is not libflambeau".to_owned()))
        };
        let version: unsafe extern "C" fn() -> u32 = std::mem::transmute(get("flam_version\0")?);
        let require: unsafe extern "C" fn(i32, i32) -> flam_status =
            std::mem::transmute(get("flam_version_require\0")?);
        if require(VERSION.0 as i32, VERSION.1 as i32) != FLAM_OK {
            let clear: unsafe extern "C" fn() = std::mem::transmute(get("flam_error_clear\0")?);
            clear();
            return Err(Refused::version(version()));
        }
        Table::fill(|name| symbol(library, name).ok_or_else(|| Refused::older(name)))
    }
}

unsafe fn symbol(library: *mut c_void, name: &'static str) -> Option<*mut c_void> {
    debug_assert!(name.ends_with('\0'));
    let found = dlsym(library, name.as_ptr().cast());
    if found.is_null() {
        None
    } else {
        Some(found)
    }
}

/// Declares the table, how it is filled, and one function per entry.
macro_rules! functions {
    ($(fn $name:ident($($arg:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        struct Table {
            $($name: unsafe extern "C" fn($($type),*) $(-> $result)?,)*
        }

        impl Table {
            unsafe fn fill<F>(get: F) -> Result<Table, Refused>
            where
                F: Fn(&'static str) -> Result<*mut c_void, Refused>,
            {
                Ok(Table {
                    $($name: std::mem::transmute::<
                        *mut c_void, unsafe extern "C" fn($($type),*) $(-> $result)?
                    >(get(concat!(stringify!($name), "\0"))?),)*
                })
            }
        }

        $(
            #[inline]
            pub unsafe fn $name($($arg: $type),*) $(-> $result)? {
                (table().$name)($($arg),*)
            }
        )*
    };
}

include!("gen/functions.rs");
