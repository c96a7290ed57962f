// Rows of few terms on the host: sixteen rows are turned into columns, so that every step serves
// all of them, as one row alone could not fill a vector.
#pragma once
#include "base/thread_pool.h"
#include "kernels/fold/fold_wide.h"
#include "kernels/fold/turned_rows.h"

namespace flambeau::FLAM_TARGET {

inline constexpr int kShortTerms = 32;

inline bool takes_short(const FoldArgs& a) {
  return a.reduced == 1 && a.blocks == 1 && a.count <= kShortTerms && a.kept > 0 &&
         a.kept_size[a.kept - 1] >= kTurnedRows / 2;
}

template <class M, class T>
FLAM_FN void fold_turned(const M& m, const T (*turned)[kTurnedRows], int n, const double* centre,
                         typename M::Acc* acc) {
  if constexpr (kFoldsWide<M, T>) return fold_turned_wide<kTurnedRows>(m, turned, n, centre, acc);
  for (int r = 0; r < kTurnedRows; ++r) acc[r] = m.zero();
  for (int i = 0; i < n; ++i) {
#pragma GCC ivdep
    for (int r = 0; r < kTurnedRows; ++r)
      acc[r] = m.step(acc[r], load(turned[i] + r), centre[r], i);
  }
}

template <class M, class T> void fold_short_rows(const M& m, const FoldArgs& a) {
  const int last = a.kept - 1, n = int(a.count);
  const int64_t dense = a.kept_size[last], step_in = a.kept_in[last], step_out = a.kept_out[last];
  const int64_t tiles = (dense + kTurnedRows - 1) / kTurnedRows, lines = a.outputs / dense;
  const int64_t grain = kFoldGrain / ((n + 1) * kTurnedRows) + 1;
  parallel_for(lines * tiles, grain, [&](int64_t begin, int64_t end) {
    T turned[kShortTerms][kTurnedRows] = {};
    double centre[kTurnedRows] = {};
    typename M::Acc acc[kTurnedRows];
    for (int64_t u = begin; u < end; ++u) {
      const int64_t first = u % tiles * kTurnedRows;
      const int rows = int(dense - first < kTurnedRows ? dense - first : kTurnedRows);
      const FoldPlace at = fold_place(a, u / tiles * dense + first);
      turn_rows(turned[0], kTurnedRows, a.in + at.in, step_in, a.reduced_in[0], rows, n);
      for (int r = 0; M::centred && r < rows; ++r) centre[r] = a.centre[at.out + r * step_out];
      fold_turned(m, turned, n, centre, acc);
      fold_emit_many(m, a, at.out, step_out, acc, rows);
    }
  });
}

}  // namespace flambeau::FLAM_TARGET
