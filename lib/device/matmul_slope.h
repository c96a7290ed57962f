// A product that is multiplied, in the pass that makes it, by the slope of a GELU (by tanh): the
// gradient of what a layer's activation was given. Apart from the table that every provider fills,
// because a vendor's library alone makes it; whoever asks has another way.
#pragma once
#include "device/fault.h"
#include "device/fork.h"
#include "device/hal.h"
#include "device/matmul.h"
#include "device/runtime.h"

namespace flambeau::hal {

struct SlopedMatmul : Matmul {
  SlopedMatmul(const Matmul& m, Operand given = {}) : Matmul(m), gelu_input(given) {}  // NOLINT
  // [m, n] in rows, what went into the GELU; with it there is no c, no relu, no sums and no batch.
  // Without data: the product alone.
  Operand gelu_input;
};

// Enqueues the product; `unsupported`, and nothing is done, where the library does not make it. The
// provider of GPUs sets it; null in builds without.
inline Status (*sloped_matmul)(Stream s, const SlopedMatmul& p) = nullptr;

// The only way to call it, as try_call() is for the table.
inline Status try_sloped_matmul(Stream s, const SlopedMatmul& p) {
  if (fault::g_armed.load(std::memory_order_relaxed) && fault::hal_call_fails()) [[unlikely]]
    return Status::internal;
  if (!fork::may_use()) [[unlikely]]
    return Status::forked;
  return sloped_matmul ? sloped_matmul(s, p) : Status::unsupported;
}

}  // namespace flambeau::hal
