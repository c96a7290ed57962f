// A long sum of products in pieces of k, each made by itself, and all of them added in double: no
// chain of additions gets long, and threads have something to share where the result is small. How
// many pieces there are is for the caller to say, by sizes alone, so that the bits do not depend on
// the number of threads.
#pragma once
#include <algorithm>

#include "base/thread_pool.h"
#include "kernels/gemm/gemm_block.h"
#include "kernels/scratch.h"

namespace flambeau::FLAM_TARGET {

inline constexpr int64_t kLongSum = 1 << 16;  // terms of a piece, at most

// piece(i, target) makes the sums of piece i, of m rows and n columns. `grain`: pieces that one
// thread makes, one after the other.
template <class C, class F>
void sum_pieces(int64_t m, int64_t n, int64_t pieces, int64_t grain, const Target<C>& t,
                const F& piece) {
  if (pieces == 1) return piece(0, t);
  const int64_t size = m * n;
  const Scratch memory(size_t(pieces * size) * sizeof(C));
  C* const sums = memory.as<C>();
  parallel_for(pieces, grain, [&](int64_t i, int64_t end) {
    for (; i < end; ++i) piece(i, Target<C>{sums + i * size, n, nullptr, 0, false, false});
  });
  parallel_for(m, 1 + (1 << 14) / (n * pieces), [&](int64_t row, int64_t end) {
    for (; row < end; ++row) {
      const C* init = t.init ? t.init + row * t.init_row : nullptr;
      for (int64_t j = 0; j < n; ++j) {
        double sum = init ? double(init[t.init_column ? 0 : j]) : 0;
        for (int64_t i = 0; i < pieces; ++i) sum += double(sums[i * size + row * n + j]);
        t.out[row * t.out_row + j] = t.relu && sum < 0 ? C(0) : C(sum);
      }
    }
  });
  if (t.finish) t.finish(t.finisher, 0, m, 0, n);
}

}  // namespace flambeau::FLAM_TARGET
