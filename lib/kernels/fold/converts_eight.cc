// Asks the processor once, while the library loads.
#include "kernels/fold/converts_eight.h"

namespace flambeau {

#if defined(__x86_64__)
const bool converts_eight = (__builtin_cpu_init(), !__builtin_cpu_is("amdfam19h"));
#else
const bool converts_eight = false;
#endif

}  // namespace flambeau
