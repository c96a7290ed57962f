// Halves that meet at one place, on the host: they add up, or multiply, in f32 and are rounded
// once. Where each run of a walk writes to a row of its own the row is widened, whatever its
// indices say; else the writes of a place are known in advance, as a list.
#pragma once
#include "base/thread_pool.h"
#include "kernels/index/index_runs.h"
#include "kernels/map/map_element.h"
#include "kernels/scratch.h"

namespace flambeau::FLAM_TARGET {

// ---- in rows ------------------------------------------------------------------------------------

template <class F, class T>
FLAM_FN void update_wide(Compute<T>* wide, const int64_t* index, const T* src, int64_t step,
                         int64_t n) {
#pragma GCC unroll 4
  for (int64_t i = 0; i < n; ++i) {
    Compute<T>& place = wide[index[i]];
    place = F{}(place, load(src + i * step));
  }
}

// One run: n writes to a dense row as long as the list's dimension.
template <class F, class T>
void meet_in_row(const IndexArgs& a, const WalkPlace& p, int64_t n, Compute<T>* wide) {
  const IndexList& list = a.list[0];
  const int64_t step = a.src_stride[a.ndim - 1] / int64_t(sizeof(T));
  const int64_t* const index = reinterpret_cast<const int64_t*>(list.data + p.list[0]);
  const T* const src = reinterpret_cast<const T*>(a.src + p.src);
  char* const row = a.dst + p.dst;
  gather_run<T>(reinterpret_cast<char*>(wide), row, sizeof(T), list.size);
  for (int64_t i = 0; i < n; i += kIndexBlock) {
    const int64_t m = n - i < kIndexBlock ? n - i : kIndexBlock;
    if (out_of_range<8>(index + i, 8, m, 0, uint64_t(list.size))) {
      for (int64_t k = i; k < i + m; ++k) {
        const int64_t place = p.list[0] + k * 8;
        const int64_t at = listed_offset(a, &place) / int64_t(sizeof(T));
        update_wide<F>(wide, &at, src + k * step, step, 1);
      }
    } else {
      update_wide<F>(wide, index + i, src + i * step, step, m);
    }
  }
  scatter_run<T>(row, sizeof(T), reinterpret_cast<const char*>(wide), list.size);
}

template <class F, class T> void meet_in_rows(const IndexArgs& a) {
  const int64_t n = a.size[a.ndim - 1];
  parallel_for(a.numel / n, 16384 / n + 1, [&](int64_t begin, int64_t end) {
    const Scratch wide(size_t(a.list[0].size) * sizeof(Compute<T>));
    walk_runs(a, begin * n, end * n, [&](const WalkPlace& p, int64_t length) {
      meet_in_row<F, T>(a, p, length, wide.as<Compute<T>>());
    });
  });
}

// ---- by places ----------------------------------------------------------------------------------

constexpr int64_t kMeetRun = 512;

// All writes to one place, n elements along the last of the free dimensions, rounded once.
template <class F, class T>
void meet_run(const IndexArgs& a, int64_t first, const WalkPlace& p, int64_t n) {
  const int last = a.free_dims - 1;
  const int64_t to = a.free_dims ? a.dst_stride[last] / int64_t(sizeof(T)) : 1,
                from = a.free_dims ? a.src_stride[last] / int64_t(sizeof(T)) : 1;
  T* dst = reinterpret_cast<T*>(a.dst + p.dst + a.meetings[first].dst);
  const auto each = [&](auto to_step, auto from_step) {
    Compute<T> sum[kMeetRun];
    for (int64_t i = 0; i < n; ++i) sum[i] = load(dst + i * to_step);
    for (int64_t m = first; m >= 0; m = a.meetings[m].next) {
      const T* src = reinterpret_cast<const T*>(a.src + p.src + a.meetings[m].src);
      for (int64_t i = 0; i < n; ++i) sum[i] = F{}(sum[i], load(src + i * from_step));
    }
    for (int64_t i = 0; i < n; ++i) dst[i * to_step] = narrow<T>(sum[i]);
  };
  constexpr std::integral_constant<int64_t, 1> dense;
  to == 1 && from == 1 ? each(dense, dense) : each(to, from);
}

template <class F, class T> void meet(const IndexArgs& a) {
  const int64_t inner = a.free_dims ? a.size[a.free_dims - 1] : 1;
  const int64_t runs = (inner + kMeetRun - 1) / kMeetRun;
  int64_t rows = 1;
  for (int d = 0; d + 1 < a.free_dims; ++d) rows *= a.size[d];
  parallel_for(a.places * rows * runs, 16384 / (inner < kMeetRun ? inner : kMeetRun) + 1,
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t at = i % runs * kMeetRun, row = i / runs % rows;
                   const WalkPlace p = walk_place(a, row * inner + at, 0, a.free_dims);
                   const int64_t n = inner - at < kMeetRun ? inner - at : kMeetRun;
                   meet_run<F, T>(a, a.first[i / runs / rows], p, n);
                 }
               });
}

}  // namespace flambeau::FLAM_TARGET
