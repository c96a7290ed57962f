// Runs a kernel so that its faults become the device's: an access outside of memory, or an
// exception, ends the kernel and is reported as text, as a GPU reports an illegal address at the
// next synchronisation. A host access to device memory is named and then left to be the fault it
// is.
#pragma once
#include <functional>
#include <string>

namespace flambeau::sim {

class Arena;

// Installs the handler, once the arena is there.
void watch_faults(Arena& arena);

// Empty where `work` ended well.
std::string run_guarded(const char* name, const std::function<void()>& work);
bool in_guarded_work();  // on this thread

}  // namespace flambeau::sim
