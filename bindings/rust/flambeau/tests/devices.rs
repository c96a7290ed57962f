//! Two GPUs, simulated ones unless others are under test: the variable is set before the first
//! call, so that this file is one test.

mod place;

use flambeau::{
    cuda_is_available, cuda_unavailable_reason,
    memory::{self, MemoryPool},
    monitor, nn,
    options::{CreationOptions, EventOptions, GraphCaptureBeginOptions, StreamOptions},
    Device, DeviceType, Event, Graph, Status, Stream, Tensor,
};

#[test]
fn tensors_live_on_devices() {
    std::env::set_var("FLAMBEAU_SIM", "devices=2,memory=64MiB");
    let there = place::gpu(1);
    let kind = there.type_of();
    assert_eq!(Device::count(kind), 2);
    assert_eq!(cuda_is_available(), cuda_unavailable_reason().is_empty());
    let here = Tensor::from([1.0f32, 2.0]).to_device(Device::cpu()).unwrap();
    assert_eq!(there.to_string(), if kind == DeviceType::Cuda { "cuda:1" } else { "sim:1" });
    let mut x = here.to_device(there).unwrap();
    assert_eq!(x.device(), there);
    assert!(memory::allocated(there) > 0);
    x.set_requires_grad(true).unwrap();
    (&x * &x).sum().unwrap().backward().unwrap();
    assert_eq!(x.grad().unwrap().unwrap().to_vec::<f32>().unwrap(), [2.0, 4.0]);
    assert_eq!(x.add(&here).unwrap_err().status(), Status::DeviceMismatch);
    let mut model = nn::sequential([nn::Layer::linear(2, 1).unwrap()]).unwrap();
    model.to_device(Device::cpu()).unwrap();
    let weight = model.parameter("0.weight").unwrap();
    let error = model.forward(&x).unwrap_err();
    let advice = format!("model.to_device(Device::parse(\"{}\")?)?", there);
    assert!(error.message().contains(&advice), "{}", error);
    model.to_device(there).unwrap();
    assert_eq!((weight.device(), model.forward(&x).unwrap().device()), (there, there));
    let huge = flambeau::zeros_with(&[1 << 28], CreationOptions::default().device(there));
    assert_eq!(huge.unwrap_err().status(), Status::OutOfDeviceMemory);

    let scope = there.push().unwrap();
    assert_eq!(Device::current(kind), there);
    drop(scope);
    assert_eq!(Device::current(kind), place::gpu(0));

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

    a_step_is_captured(&x.detach().unwrap(), &stream);
    memory_comes_out_of_a_pool(there);
    what_a_gpu_tells(there);
}

fn what_a_gpu_tells(device: Device) {
    assert_eq!(monitor::read(device, "memory_total").unwrap(), 64 << 20);
    assert_eq!(monitor::read(device, "fan").unwrap_err().status(), Status::InvalidArgument);
    let own = format!("\"pid\": {}", std::process::id());
    assert!(monitor::processes(device).unwrap().contains(&own));
    assert!(monitor::table().starts_with("GPU"));
    assert_eq!(device.property("warp_size").unwrap(), 32);
}

fn a_step_is_captured(x: &Tensor, stream: &Stream) {
    let mut graph = Graph::new().unwrap();
    assert_eq!(graph.replay().unwrap_err().status(), Status::GraphCapture);
    let y = {
        let _scope = stream.push().unwrap();
        let options = GraphCaptureBeginOptions::default().device(x.device());
        graph.capture_begin_with(None, options).unwrap();
        let y = x.add(1.0).unwrap();
        graph.capture_end().unwrap();
        y
    };
    let mut written = x.clone();
    written.mul_(10.0).unwrap();
    graph.replay().unwrap();
    assert_eq!(y.to_vec::<f32>().unwrap(), [11.0, 21.0]);
}

fn memory_comes_out_of_a_pool(device: Device) {
    let pool = MemoryPool::new_with(Some(device)).unwrap();
    let place = |in_pool: bool| {
        let _scope = in_pool.then(|| pool.push().unwrap());
        zeros_on(device).data_ptr()
    };
    let (inside, outside) = (place(true), place(false));
    assert_ne!(inside, outside);
    assert_eq!(place(true), inside);
}

fn zeros_on(device: Device) -> Tensor {
    flambeau::zeros_with(&[8], CreationOptions::default().device(device)).unwrap()
}
