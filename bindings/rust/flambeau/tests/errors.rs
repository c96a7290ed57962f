//! Failures: codes and texts, operators that panic, nothing left behind on the thread.

mod place;

use std::panic::catch_unwind;

use flambeau::{load, zeros, Device, Error, Status, Tensor};

#[test]
fn a_failed_call_gives_code_and_text_and_leaves_nothing() {
    let (a, b) = (Tensor::from([1.0f32, 2.0]), Tensor::from([1.0f32, 2.0, 3.0]));
    let error = a.add(&b).unwrap_err();
    assert_eq!(error.status(), Status::Shape);
    assert!(error.message().contains("[2]") && error.message().contains("[3]"), "{}", error);
    assert!(format!("{:?}", error).starts_with("Error(Shape): "));
    assert_eq!(a.add(1.0).unwrap().to_vec::<f32>().unwrap(), [2.0, 3.0]);
    assert_eq!(a.matmul(Tensor::from([1i64, 2])).unwrap_err().status(), Status::Dtype);
}

#[test]
fn operators_panic_with_the_engines_text() {
    let (a, b) = (Tensor::from([1.0f32, 2.0]), Tensor::from([1.0f32, 2.0, 3.0]));
    let wanted = a.add(&b).unwrap_err().message().to_owned();
    let panic = catch_unwind(move || &a + &b).unwrap_err();
    assert_eq!(panic.downcast_ref::<String>(), Some(&wanted));
}

#[test]
fn wrong_lengths_and_types_are_refused_before_memory_is_read() {
    assert_eq!(Tensor::from_slice(&[1.0f32], &[2]).unwrap_err().status(), Status::Shape);
    assert_eq!(Tensor::from_slice(&[1.0f32], &[-1, -1]).unwrap_err().status(), Status::Shape);
    assert_eq!(Tensor::from_vec(vec![1u8; 4], &[i64::MAX, 4]).unwrap_err().status(), Status::Shape);
    let x = Tensor::from([1.0f32, 2.0]);
    let error = x.to_vec::<f64>().unwrap_err();
    assert_eq!(error.status(), Status::Dtype);
    assert!(error.message().contains("to_dtype(Dtype::F64)"), "{}", error);
    assert_eq!(x.item::<f32>().unwrap_err().status(), Status::Shape);
}

/// Sizes that no machine serves, and such that have no elements.
#[test]
fn sizes_out_of_bounds_are_errors() {
    for sizes in
        [vec![1 << 40], vec![i64::MAX], vec![i64::MAX, 2], vec![1 << 32, 1 << 32], vec![2, -3]]
    {
        assert_eq!(Tensor::from_slice(&[1.0f32; 6], &sizes).unwrap_err().status(), Status::Shape);
        assert!(zeros(&sizes).is_err(), "{sizes:?}");
    }
    assert_eq!(Tensor::from_slice::<f32>(&[], &[0, 4]).unwrap().shape(), [0, 4]);
    let image = zeros(&[1, 4, 8, 8]).unwrap();
    for size in [i64::MAX, 1 << 62, 1 << 40, 0, -1] {
        assert!(image.pixel_shuffle(size).is_err());
        assert!(image.max_pool2d(&[size]).is_err());
        assert!(image.tensor_split(size).is_err());
    }
}

#[test]
fn texts_with_zero_bytes_and_unknown_devices_are_errors() {
    assert_eq!(load("a\0b").unwrap_err().status(), Status::InvalidArgument);
    assert_eq!(Device::parse("tpu").unwrap_err().status(), Status::InvalidArgument);
    assert_eq!(load("/no/such/file").unwrap_err().status(), Status::Io);
    assert_eq!("cpu".parse::<Device>().unwrap(), Device::cpu());
}

#[test]
fn errors_are_the_programs_too() {
    fn takes_any(_: impl std::error::Error + Send + Sync + 'static) {}
    takes_any(Error::new(Status::Io, "mine"));
    let error = Error::from(std::io::Error::new(std::io::ErrorKind::Other, "disk"));
    assert_eq!(error.status(), Status::Callback);
    assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "disk");
}
