// Runs a kernel so that its faults become the device's: an access outside of memory, or an
// exception, ends the kernel and is reported as text, as a GPU reports an illegal address at the
// next synchronisation.
#pragma once
#include <functional>
#include <string>

namespace flambeau::sim {

// Empty where `work` ended well.
std::string run_guarded(const char* name, const std::function<void()>& work);

}  // namespace flambeau::sim
