// Memory of deleted objects may be withheld from reuse: how a check of handles knows a released one
// by its address. Off, a delete costs one test more.
#pragma once

namespace flambeau {

// Asked for all memory that C++ code of the library frees; true keeps it. Set before threads start.
extern bool (*withhold)(void* memory) noexcept;

}  // namespace flambeau
