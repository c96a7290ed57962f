//! Warnings told to a closure, and refused by one.

mod place;

use std::sync::{Arc, Mutex};

use flambeau::{set_warning_handler, zeros, Error, Result, Status};

#[test]
fn a_closure_hears_of_warnings_and_may_refuse_them() -> Result<()> {
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&told);
    set_warning_handler(move |message| {
        heard.lock().unwrap().push(message.to_owned());
        Ok(())
    })?;
    let x = zeros(&[2, 3])?;
    let mut out = zeros(&[4])?;
    x.sum_out(&mut out)?;
    let messages = std::mem::take(&mut *told.lock().unwrap());
    assert_eq!(messages.len(), 1);
    assert!(messages[0].contains("had shape [4]"), "{}", messages[0]);
    assert_eq!(Arc::strong_count(&told), 2);

    set_warning_handler(|_| Err(Error::new(Status::Io, "not here")))?;
    assert_eq!(Arc::strong_count(&told), 1); // the closure before was dropped
    let mut out = zeros(&[4])?;
    let error = x.sum_out(&mut out).unwrap_err();
    assert!(error.message().contains("not here"), "{}", error);
    assert_eq!(out.shape(), [4]);
    Ok(())
}
