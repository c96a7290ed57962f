// The thread's open scopes, whatever they changed: a push stores how to undo it and returns a
// token; pop takes the innermost one only. One stack for grad mode, device, stream and the rest
// gives one order to check.
#pragma once
#include <cstdint>
#include <functional>

namespace flambeau::capi {

uint64_t push_scope(std::function<void()> undo);
void pop_scope(
    uint64_t token);  // throws Error(scope) where it is not this thread's innermost scope

}  // namespace flambeau::capi
