//! Values in, operations and operators, values out.

mod place;

use flambeau::{
    arange, cat, full, manual_seed,
    options::{FormatOptions, RandomOptions, ReduceOptions},
    randn_with, stack_with, Device, Dtype, Generator, Reduction, Status, Tensor,
};

fn f32s(t: &Tensor) -> Vec<f32> {
    t.to_vec().unwrap()
}

#[test]
fn numbers_become_tensors_and_come_back() {
    let t = Tensor::from_slice(&[1i64, 2, 3, 4, 5, 6], &[2, 3]).unwrap();
    assert_eq!(t.shape(), [2, 3]);
    assert_eq!(t.strides(), [3, 1]);
    assert_eq!(t.dtype(), Dtype::I64);
    assert_eq!(Vec::<i64>::try_from(&t.t().unwrap()).unwrap(), [1, 4, 2, 5, 3, 6]);
    assert_eq!(Tensor::from(vec![true, false]).to_vec::<bool>().unwrap(), [true, false]);
    assert_eq!(Tensor::from([[1.5f64, 2.0], [3.0, 4.0]]).shape(), [2, 2]);
    assert_eq!(Tensor::from(Vec::<u8>::new()).to_vec::<u8>().unwrap(), []);
    assert_eq!(Tensor::from([2.5f64]).item::<f64>().unwrap(), 2.5);
}

#[test]
fn any_byte_that_is_not_zero_is_a_true_bool() {
    let bytes = Tensor::from_slice(&[2u8, 7, 0, 1, 255], &[5]).unwrap();
    let bools = bytes.view_dtype(Dtype::Bool).unwrap().to_vec::<bool>().unwrap();
    assert_eq!(bools.iter().map(|&b| b as u8).collect::<Vec<_>>(), [1, 1, 0, 1, 1]);
    assert!(bools == [true, true, false, true, true]);
    let first = bytes.view_dtype(Dtype::Bool).unwrap().select(0, 0).unwrap();
    assert_eq!(first.item::<bool>().unwrap() as u8, 1);
    assert_eq!(bytes.to_vec::<u8>().unwrap(), [2, 7, 0, 1, 255]);
}

#[test]
fn a_vec_is_taken_over_and_freed_with_the_last_handle() {
    let data = vec![1.0f32, 2.0];
    let first = data.as_ptr();
    let t = Tensor::from_vec(data, &[2]).unwrap();
    assert_eq!(t.data_ptr() as *const f32, first);
    let view = t.view(&[2, 1]).unwrap();
    drop(t);
    assert_eq!(f32s(&view), [1.0, 2.0]);
    // SAFETY: nothing writes.
    assert_eq!(unsafe { view.host_slice::<f32>() }.unwrap(), [1.0, 2.0]);
}

#[test]
fn operators_take_references_values_and_numbers() {
    let (a, b) = (Tensor::from([1.0f32, 2.0]), Tensor::from([3.0f32, 5.0]));
    assert_eq!(f32s(&(&a + &b)), [4.0, 7.0]);
    assert_eq!(f32s(&(&b - 1)), [2.0, 4.0]);
    assert_eq!(f32s(&(1.0 - &a)), [0.0, -1.0]);
    assert_eq!(f32s(&(&a * &b / 2.0)), [1.5, 5.0]);
    assert_eq!(f32s(&-(&a + b)), [-4.0, -7.0]);
    assert_eq!((&Tensor::from([1i64]) + 1.5).dtype(), Dtype::F32);
    let mut c = a.deep_clone().unwrap();
    c += 1.0;
    c *= &a;
    assert_eq!(f32s(&c), [2.0, 6.0]);
    assert_eq!(f32s(&a), [1.0, 2.0]);
}

#[test]
fn methods_give_results_and_defaults_can_be_told() {
    let x = Tensor::from([[1.0f32, 2.0], [3.0, 4.0]]);
    assert_eq!(x.sum().unwrap().item::<f32>().unwrap(), 10.0);
    let rows = x.sum_with(ReduceOptions::default().dim([1]).keepdim(true)).unwrap();
    assert_eq!((rows.shape(), f32s(&rows)), (vec![2, 1], vec![3.0, 7.0]));
    assert_eq!(f32s(&x.add_scaled(&x, 0.5).unwrap()), [1.5, 3.0, 4.5, 6.0]);
    assert_eq!(f32s(&x.softmax_with(1, Some(Dtype::F32)).unwrap()).len(), 4);
    let (values, indices) = x.max_dim(0).unwrap();
    assert_eq!((f32s(&values), indices.to_vec::<i64>().unwrap()), (vec![3.0, 4.0], vec![1, 1]));
    assert_eq!(f32s(&x.clamp(2.0, None::<f64>).unwrap()), [2.0, 2.0, 3.0, 4.0]);
    assert_eq!(f32s(&x.clamp(&Tensor::from([2.0f32, 1.0]), 3).unwrap()), [2.0, 2.0, 3.0, 3.0]);
    assert_eq!(arange(0, 3, 1).unwrap().to_vec::<i64>().unwrap(), [0, 1, 2]);
    assert_eq!(f32s(&full(&[2], 0.5).unwrap()), [0.5, 0.5]);
    let error = x.mse_loss_with(&x, Reduction::Other(77)).unwrap_err();
    assert_eq!(error.status(), Status::InvalidArgument);
}

#[test]
fn writing_methods_chain_on_the_same_tensor() {
    let mut x = Tensor::from([1.0f32, 2.0]);
    x.mul_(2.0).unwrap().add_(1.0).unwrap();
    assert_eq!(f32s(&x), [3.0, 5.0]);
    let mut out = Tensor::from([0.0f32, 0.0]);
    x.add_out(&x, &mut out).unwrap();
    assert_eq!(f32s(&out), [6.0, 10.0]);
    let same = x.clone();
    x.zero_().unwrap();
    assert!(same.is(&x));
    assert_eq!(f32s(&same), [0.0, 0.0]);
}

#[test]
fn tensors_print_as_in_pytorch() {
    let x = Tensor::from([1.0f32, 2.5]).to_device(Device::cpu()).unwrap();
    assert_eq!(x.to_string(), "tensor([1.0000, 2.5000])");
    let text = x.format(FormatOptions::default().precision(2)).unwrap();
    assert_eq!(text, "tensor([1.00, 2.50])");
    assert_eq!(
        format!("{:?} {:?} {}", x.dtype(), Dtype::Other(99), x.device()),
        "F32 Other(99) cpu"
    );
}

#[test]
fn a_seed_repeats_and_a_generator_stands_by_itself() {
    let drawn = |generator: Option<&mut Generator>| {
        f32s(&randn_with(&[4], generator, RandomOptions::default().device(Device::cpu())).unwrap())
    };
    let mut generator = Generator::new().unwrap();
    generator.manual_seed(5).unwrap();
    let first = drawn(Some(&mut generator));
    assert_ne!(drawn(Some(&mut generator)), first);
    generator.manual_seed(5).unwrap();
    assert_eq!(drawn(Some(&mut generator)), first);
    assert_eq!(generator.initial_seed(), 5);
    manual_seed(5).unwrap();
    assert_eq!(drawn(None), first);
}

#[test]
fn lists_go_in_and_come_out() {
    let x = arange(0, 6, 1).unwrap();
    let parts = x.split(4).unwrap();
    assert_eq!(parts.iter().map(Tensor::numel).collect::<Vec<_>>(), [4, 2]);
    let back = cat(&parts).unwrap();
    assert!(back.equal(&x).unwrap());
    assert_eq!(stack_with(&[&x, &x], 1).unwrap().shape(), [6, 2]);
}
