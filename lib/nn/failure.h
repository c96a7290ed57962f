// Which module an error comes from: the innermost that an exception left, or that is running. The
// ABI asks when it records the error; nothing is spent where a call succeeds.
#pragma once
#include <string>

struct flam_module;

namespace flambeau::nn {

// In a catch block: the exception leaves this module, unless it left another before.
void note_failure(const ::flam_module& m) noexcept;
// In a catch block: `"net.0" (Conv2d)`, the type alone for a root, empty outside of modules.
std::string failed_module();

}  // namespace flambeau::nn
