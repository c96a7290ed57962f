// Copies from one GPU to another: direct where the machine can, which CUDA does only once it was
// told so, for each pair; through the host's memory otherwise.
#pragma once

namespace flambeau::cuda {

// Before a copy from `device`, the current one, to `peer`.
void open_way(int device, int peer);

}  // namespace flambeau::cuda
