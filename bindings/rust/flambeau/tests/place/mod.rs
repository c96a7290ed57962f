//! Where the tensors of a test program are that names no device: FLAMBEAU_TEST_DEVICE, else the
//! cpu. Set before `main`, since a program's tests run side by side and share it.

use flambeau::{set_default_device, Device, DeviceType};

pub fn device() -> Device {
    let named = std::env::var("FLAMBEAU_TEST_DEVICE");
    Device::parse(named.as_deref().unwrap_or("cpu")).unwrap()
}

/// A device of its kind; a simulated one where that is the cpu.
#[allow(dead_code)]
pub fn gpu(index: i32) -> Device {
    match device().type_of() {
        DeviceType::Cuda => Device::cuda(index),
        _ => Device::sim(index),
    }
}

extern "C" fn at_start() {
    if std::env::var_os("FLAMBEAU_TEST_DEVICE").is_some() {
        set_default_device(device()).unwrap();
    }
}

#[used]
#[link_section = ".init_array"]
static AT_START: extern "C" fn() = at_start;
