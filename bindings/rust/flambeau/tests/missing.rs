//! A library that is not there: one test, since a process looks for the library once.

use flambeau::{open_library, zeros, Status};

#[test]
fn a_missing_library_says_what_was_tried() {
    std::env::set_var("FLAMBEAU_LIBRARY", "/no/such/libflambeau.so.0");
    let error = open_library().unwrap_err();
    assert_eq!(error.status(), Status::LibraryMissing);
    assert!(error.message().contains("\n  /no/such/libflambeau.so.0: "), "{}", error);
    assert!(error.message().contains("set FLAMBEAU_LIBRARY"), "{}", error);
    assert!(error.message().contains("`make build`"), "{}", error);
    assert_eq!(zeros(&[1]).unwrap_err().message(), error.message());
    let panic = std::panic::catch_unwind(flambeau::grad_enabled).unwrap_err();
    assert_eq!(panic.downcast_ref::<String>().unwrap(), error.message());
}
