// Which devices have a context in this process, whoever made it: the runtime makes one for every
// device that a thread names to it, at half a gigabyte of the GPU's memory each.
#pragma once

namespace flambeau::cuda {

bool has_context(int device);

}  // namespace flambeau::cuda
