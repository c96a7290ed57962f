// The table of errors; see status.h.
#include "device/cuda/status.h"

#include <string>

#include "base/error.h"
#include "base/of_thread.h"
#include "base/thread_local.h"

namespace flambeau::cuda {
namespace {

using hal::Status;

FLAM_THREAD_LOCAL OfThread<std::string> t_text;

Status meaning(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return Status::ok;
    case cudaErrorNotReady:
      return Status::not_ready;
    case cudaErrorMemoryAllocation:
      return Status::out_of_memory;
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContextIsDestroyed:
    case cudaErrorExternalDevice:
    case cudaErrorContained:
    case cudaErrorTensorMemoryLeak:
    case cudaErrorMpsClientTerminated:
      return Status::device_lost;
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidKernelImage:
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorJitCompilerNotFound:
      return Status::no_kernel_image;
    case cudaErrorInsufficientDriver:
    case cudaErrorCallRequiresNewerDriver:
    case cudaErrorCompatNotSupportedOnDevice:
      return Status::driver_too_old;
    case cudaErrorNoDevice:
    case cudaErrorDevicesUnavailable:
    case cudaErrorStubLibrary:
      return Status::no_gpu;
    case cudaErrorStreamCaptureUnsupported:
    case cudaErrorStreamCaptureInvalidated:
    case cudaErrorStreamCaptureMerge:
    case cudaErrorStreamCaptureUnmatched:
    case cudaErrorStreamCaptureUnjoined:
    case cudaErrorStreamCaptureIsolation:
    case cudaErrorStreamCaptureImplicit:
    case cudaErrorCapturedEvent:
    case cudaErrorStreamCaptureWrongThread:
      return Status::capture;
    case cudaErrorInvalidValue:
    case cudaErrorInvalidConfiguration:
    case cudaErrorInvalidDevice:
    case cudaErrorInvalidResourceHandle:
    case cudaErrorInvalidMemcpyDirection:
      return Status::invalid;
    case cudaErrorNotSupported:
      return Status::unsupported;
    default:
      return Status::internal;
  }
}

}  // namespace

Status status_of(cudaError_t error) {
  const Status status = meaning(error);
  if (status == Status::ok) return status;
  (void)cudaGetLastError();  // a failure that is not sticky must not show in somebody else's next
                             // call
  if (status == Status::not_ready) return status;
  t_text.get() = cat_text(cudaGetErrorName(error), ": ", cudaGetErrorString(error));
  return status;
}

Status failed(Status status, std::string text) {
  t_text.get() = std::move(text);
  return status;
}

std::string last_text() {
  const std::string* const known = t_text.found();
  return known ? *known : "";
}

}  // namespace flambeau::cuda
