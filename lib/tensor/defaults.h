// What a creation function takes where its caller names no dtype or device; process-wide, as in
// torch.
#pragma once
#include "tensor/tensor.h"

namespace flambeau {

struct Defaults {
  Dtype dtype = Dtype::f32;
  Device device = kCpu;
};
Defaults& defaults();

inline Dtype dtype_or_default(Dtype d) { return d == Dtype::none ? defaults().dtype : d; }
inline Device device_or_default(Device d) { return d ? d : defaults().device; }

// Whether what this thread makes now are inference tensors; graph/graph.cc, which keeps the modes,
// says it.
inline bool (*makes_inference_tensors)() = [] { return false; };

}  // namespace flambeau
