// Memory that is mapped into reserved addresses, a part at a time; see hal.h.
#pragma once
#include "device/hal.h"

namespace flambeau::cuda {

hal::Status reserve(int device, size_t bytes, void** out);
hal::Status release(int device, void* data, size_t bytes);
hal::Status map(int device, void* data, size_t bytes);
hal::Status unmap(int device, void* data, size_t bytes);

}  // namespace flambeau::cuda
