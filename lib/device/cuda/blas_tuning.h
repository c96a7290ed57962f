// Choosing an algorithm by its time instead of the library's guess, once for each kind of product.
#pragma once
#include "device/cuda/blas_product.h"
#include "device/runtime.h"

namespace flambeau::cuda {

// The fastest algorithm for this kind of product: what is known of it, else measured now, which
// waits for the stream. The library's own choice where neither may be.
const lt::Heuristic* tuned_algorithm(Stream s, const hal::SlopedMatmul& p, BlasProduct& product);

}  // namespace flambeau::cuda
