// The thread's open scopes, whatever they changed: a push stores how to undo it and returns a
// token; pop takes the innermost one only. One stack for grad mode, device, stream and the rest
// gives one order to check. Scopes below the floor belong to the caller of the code that runs.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>

namespace flambeau::capi {

uint64_t push_scope(
    std::function<void()> undo);  // throws Error(scope) once the thread's have ended
void pop_scope(
    uint64_t token);  // throws Error(scope) where it is not this thread's innermost scope

size_t raise_scope_floor() noexcept;  // to the scopes open now; returns where it was
void lower_scope_floor(size_t before) noexcept;
void close_scopes_to_floor() noexcept;

}  // namespace flambeau::capi
