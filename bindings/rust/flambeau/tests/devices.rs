//! Two simulated GPUs: the variable is set before the first call, so that this file is one test.

use flambeau::{
    cuda_is_available, cuda_unavailable_reason, memory,
    options::{CreationOptions, EventOptions, StreamOptions},
    Device, DeviceType, Event, Status, Stream, Tensor,
};

#[test]
fn tensors_live_on_simulated_devices() {
    std::env::set_var("FLAMBEAU_SIM", "devices=2,memory=64MiB");
    assert_eq!(Device::count(DeviceType::Sim), 2);
    assert_eq!(cuda_is_available(), cuda_unavailable_reason().is_empty());
    let (here, there) = (Tensor::from([1.0f32, 2.0]), Device::sim(1));
    assert_eq!(there.to_string(), "sim:1");
    let mut x = here.to_device(there).unwrap();
    assert_eq!(x.device(), there);
    assert!(memory::allocated(there) > 0);
    x.set_requires_grad(true).unwrap();
    (&x * &x).sum().unwrap().backward().unwrap();
    assert_eq!(x.grad().unwrap().unwrap().to_vec::<f32>().unwrap(), [2.0, 4.0]);
    assert_eq!(x.add(&here).unwrap_err().status(), Status::DeviceMismatch);
    let huge = flambeau::zeros_with(&[1 << 28], CreationOptions::default().device(there));
    assert_eq!(huge.unwrap_err().status(), Status::OutOfDeviceMemory);

    let scope = there.push().unwrap();
    assert_eq!(Device::current(DeviceType::Sim), there);
    drop(scope);
    assert_eq!(Device::current(DeviceType::Sim), Device::sim(0));

    let stream = Stream::new_with(StreamOptions::default().device(there)).unwrap();
    let mut event = Event::new_with(EventOptions::default().device(there).timing(true)).unwrap();
    let y = {
        let _scope = stream.push().unwrap();
        let y = x.detach().unwrap().mul(2.0).unwrap();
        event.record_with(Some(&stream)).unwrap();
        y
    };
    event.synchronize().unwrap();
    assert!(event.query().unwrap());
    assert_eq!(y.to_vec::<f32>().unwrap(), [2.0, 4.0]);
}
