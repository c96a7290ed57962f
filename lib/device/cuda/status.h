// CUDA's error codes as the HAL's: which ones mean that the device is lost, and the text that goes
// with the thread's last failure.
#pragma once
#include <cuda_runtime_api.h>

#include <string>

#include "device/cuda/context.h"
#include "device/hal.h"

namespace flambeau::cuda {

// Maps, keeps the text for this thread, and clears CUDA's own record.
hal::Status status_of(cudaError_t error);
// Keeps the text of another failure.
hal::Status failed(hal::Status status, std::string text);
std::string last_text();

// Of a call whose failure nobody can be told of: it must not show in somebody else's next launch.
inline void ignore(cudaError_t error) {
  if (error != cudaSuccess) (void)cudaGetLastError();
}

// Makes a device current for CUDA calls on this thread and puts the previous one back: other
// libraries in the process have a current device too.
class DeviceGuard {
 public:
  explicit DeviceGuard(int device) {
    error_ = cudaGetDevice(&before_);
    if (error_ == cudaSuccess && before_ != device) {
      error_ = cudaSetDevice(device);
      changed_ = error_ == cudaSuccess;
    }
  }
  // Back to a device without a context would make one there.
  ~DeviceGuard() {
    if (changed_ && has_context(before_)) ignore(cudaSetDevice(before_));
  }
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;
  cudaError_t error() const { return error_; }

 private:
  int before_ = 0;
  bool changed_ = false;
  cudaError_t error_;
};

// For calls that wait for nothing which a capture holds: memory for what is captured comes while it
// is.
class RelaxedCapture {
 public:
  RelaxedCapture() { ignore(cudaThreadExchangeStreamCaptureMode(&mode_)); }
  ~RelaxedCapture() { ignore(cudaThreadExchangeStreamCaptureMode(&mode_)); }
  RelaxedCapture(const RelaxedCapture&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

// Runs `f` with the device current.
template <class F>
hal::Status on_device(int device, F&& f) {
  const DeviceGuard guard(device);
  return status_of(guard.error() != cudaSuccess ? guard.error() : f());
}

}  // namespace flambeau::cuda
