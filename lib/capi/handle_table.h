// The table of live handles: all of them while leaks are tracked or handles are checked, with
// the call that made them and, where checked, the one that released them and from where in the
// program.
#pragma once
#include <initializer_list>
#include <string>

#include "base/ref.h"

namespace flambeau::capi {

void write_down(RefCounted* object, const char* function);  // one more handle; may throw bad_alloc
// One less, by a function or, where none is named, by the call that runs.
void strike_out(RefCounted* object, const char* by = nullptr) noexcept;

// While handles are checked: the program may use these as long as it is lent them.
void lend(const RefCounted* object) noexcept;
void take_back(const RefCounted* object) noexcept;

}  // namespace flambeau::capi
