// For which GPUs this library has code: what CMAKE_CUDA_ARCHITECTURES said, as in
// "75-virtual,90-real". Asking needs no context, and so leaves a process free to fork.
#pragma once
#include <string_view>

namespace flambeau::cuda {

// By CUDA's rules: machine code runs on the same major and an equal or newer minor version, PTX on
// equal and newer devices. "90" is both; the code of "90a" runs on 9.0 alone. Words ("native",
// "all-major") leave the question to the first launch.
bool has_code(std::string_view architectures, int major, int minor);

}  // namespace flambeau::cuda
