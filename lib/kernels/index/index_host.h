// Indexed reads and writes on the host, run by run along the walk's last dimension. Before the
// first write every index is checked, in bulk, unless the target is a fresh one, which an error
// lets go. Threads share a dimension along which places differ whatever the lists say, or the rows
// of a table: so no two of them meet, and what is written twice is written in order.
#pragma once
#include <atomic>
#include <cstdlib>
#include <utility>

#include "base/thread_pool.h"
#include "kernels/copy_run.h"
#include "kernels/index/index_meet.h"
#include "kernels/index/index_runs.h"

namespace flambeau::FLAM_TARGET {

// ---- one run ------------------------------------------------------------------------------------

// The run's bytes per element on either side.
struct RunSteps {
  int64_t dst, src;
};

// Eight elements of what run_in_row says.
template <class F, class T>
FLAM_FN void eight_in_row(T* dst, const T* src, const int64_t* index, int64_t i) {
  if constexpr (kReads<F> && sizeof(T) > 1) {
    constexpr int64_t kPiece = 16 / sizeof(T);
    typedef T Piece __attribute__((vector_size(16)));
#pragma GCC unroll 4
    for (int64_t end = i + 8; i < end; i += kPiece) {
      const Piece piece = [&]<size_t... K>(std::index_sequence<K...>) {
        return Piece{src[index[i + int64_t(K)]]...};
      }(std::make_index_sequence<size_t(kPiece)>{});
      memcpy(dst + i, &piece, sizeof piece);
    }
  } else {
#pragma GCC unroll 8
    for (int64_t end = i + 8; i < end; ++i)
      update_place(Update<F>{}, dst + (kReads<F> ? i : index[i]), src[kReads<F> ? index[i] : i]);
  }
}

// Of neighbours on one side, where the other stands still but for the list, whose indices count
// elements. What is read is stored by pieces, for a store takes as long as a piece's. What the next
// blocks look at is asked for: checking a block would wait for it, with nothing else to do.
template <class F, class T>
FLAM_FN void run_in_row(T* dst, const T* src, const int64_t* index, int64_t n) {
  constexpr int64_t kAhead = 1024;
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    __builtin_prefetch(index + i + kAhead);
    if constexpr (!kReads<F>) __builtin_prefetch(src + i + kAhead);
    eight_in_row<F>(dst, src, index, i);
  }
  for (; i < n; ++i)
    update_place(Update<F>{}, dst + (kReads<F> ? i : index[i]), src[kReads<F> ? index[i] : i]);
}

// Moved by dense indices of one list, none of which is negative or too large.
template <class F, class T>
FLAM_FN void run_by_list(char* dst, const char* src, const int64_t* index, int64_t step,
                         RunSteps by, int64_t n) {
  constexpr int64_t kBytes = sizeof(T);
  if (step == kBytes && by.dst == kReads<F> * kBytes && by.src == !kReads<F> * kBytes)
    return run_in_row<F>(reinterpret_cast<T*>(dst), reinterpret_cast<const T*>(src), index, n);
#pragma GCC unroll 4
  for (int64_t i = 0; i < n; ++i, dst += by.dst, src += by.src) {
    const int64_t moved = index[i] * step;
    update_place(Update<F>{}, reinterpret_cast<T*>(dst + (kReads<F> ? 0 : moved)),
                 *reinterpret_cast<const T*>(src + (kReads<F> ? moved : 0)));
  }
}

template <class F, class T>
void run_by_lists(const IndexArgs& a, WalkPlace p, RunSteps by, int64_t n) {
  char* dst = a.dst + p.dst;
  const char* src = a.src + p.src;
  for (int64_t i = 0; i < n; ++i, dst += by.dst, src += by.src) {
    const int64_t moved = listed_offset(a, p.list);
    update_place(Update<F>{}, reinterpret_cast<T*>(dst + (kReads<F> ? 0 : moved)),
                 *reinterpret_cast<const T*>(src + (kReads<F> ? moved : 0)));
    for (int l = 0; l < a.lists; ++l) p.list[l] += a.list[l].stride[a.ndim - 1];
  }
}

// A run that is moved as a whole.
template <class F, class T>
FLAM_FN void run_moved(char* dst, const char* src, RunSteps by, int64_t n) {
  if (by.dst == int64_t(sizeof(T)) && by.src == int64_t(sizeof(T))) {
    T* to = reinterpret_cast<T*>(dst);
    const T* from = reinterpret_cast<const T*>(src);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) update_place(Update<F>{}, to + i, from[i]);
    return;
  }
  if (by.dst == int64_t(sizeof(T)) && by.src == 0) {  // with one number
    T* to = reinterpret_cast<T*>(dst);
    const T value = *reinterpret_cast<const T*>(src);
    for (int64_t i = 0; i < n; ++i) update_place(Update<F>{}, to + i, value);
    return;
  }
  for (int64_t i = 0; i < n; ++i, dst += by.dst, src += by.src) {
    update_place(Update<F>{}, reinterpret_cast<T*>(dst), *reinterpret_cast<const T*>(src));
  }
}

// Whether elements are read by dense rows, one index a row.
inline bool reads_rows(const IndexArgs& a, int64_t bytes) {
  return a.ndim == 2 && a.lists == 1 && a.list[0].stride[1] == 0 && a.list[0].stride[0] == 8 &&
         a.dst_stride[1] == bytes && a.src_stride[0] == 0 && a.src_stride[1] == bytes;
}

// Such rows lie anywhere, so the first lines of those to come are asked for ahead.
inline void read_rows(const IndexArgs& a, int64_t bytes, int64_t begin, int64_t end) {
  constexpr int64_t kAhead = 2048, kFirst = 1024;  // bytes
  const int64_t inner = a.size[1], row_bytes = inner * bytes, rows = a.size[0];
  const int64_t ahead = kAhead / row_bytes + 1, first = row_bytes < kFirst ? row_bytes : kFirst;
  const int64_t* const index = reinterpret_cast<const int64_t*>(a.list[0].data);
  const uint64_t size = uint64_t(a.list[0].size);
  const int64_t step = a.list[0].step, dst_row = a.dst_stride[0];
  const char* const src = a.src;
  char* const dst = a.dst;
  int64_t row = begin / inner, at = begin % inner;
  for (; begin < end; ++row, at = 0) {
    const int64_t n = inner - at < end - begin ? inner - at : end - begin;
    begin += n;
    if (row + ahead < rows && uint64_t(index[row + ahead]) < size) {
      const char* next = src + index[row + ahead] * step;
      for (int64_t i = 0; i < first; i += 64) __builtin_prefetch(next + i);
    }
    const int64_t place = row * 8;
    const int64_t moved =
        uint64_t(index[row]) < size ? index[row] * step : listed_offset(a, &place);
    copy_run(dst + row * dst_row + at * bytes, src + moved + at * bytes, n * bytes);
  }
}

template <class F, class T> void index_range(const IndexArgs& a, int64_t begin, int64_t end) {
  if constexpr (kReads<F>) {
    if (reads_rows(a, sizeof(T))) return read_rows(a, sizeof(T), begin, end);
  }
  const int last = a.ndim - 1;
  const RunSteps by = a.ndim ? RunSteps{a.dst_stride[last], a.src_stride[last]} : RunSteps{};
  bool alike = true;  // a whole run is moved alike
  for (int l = 0; l < a.lists; ++l) alike &= !a.ndim || a.list[l].stride[last] == 0;
  const bool one_dense = a.ndim && a.lists == 1 && a.list[0].stride[last] == sizeof(int64_t);
  walk_runs(a, begin, end, [&](const WalkPlace& p, int64_t n) {
    if (alike) {
      const int64_t moved = listed_offset(a, p.list);
      return run_moved<F, T>(a.dst + p.dst + (kReads<F> ? 0 : moved),
                             a.src + p.src + (kReads<F> ? moved : 0), by, n);
    }
    if (!one_dense) return run_by_lists<F, T>(a, p, by, n);
    const int64_t* index = reinterpret_cast<const int64_t*>(a.list[0].data + p.list[0]);
    for (int64_t i = 0; i < n; i += kIndexBlock) {
      const int64_t m = n - i < kIndexBlock ? n - i : kIndexBlock;
      const WalkPlace at{p.dst + i * by.dst, p.src + i * by.src, {p.list[0] + i * 8}};
      if (out_of_range<8>(index + i, 8, m, 0, uint64_t(a.list[0].size))) {
        run_by_lists<F, T>(a, at, by, m);
      } else {
        run_by_list<F, T>(a.dst + at.dst, a.src + at.src, index + i, a.list[0].step, by, m);
      }
    }
  });
}

// ---- every index once, before the first write ---------------------------------------------------

// The walk along the dimensions that list l looks at.
inline IndexArgs walk_of_list(const IndexArgs& a, int l) {
  IndexArgs walk = a;
  walk.ndim = 0;
  walk.lists = 1;
  walk.numel = 1;
  walk.list[0] = a.list[l];
  for (int d = 0; d < a.ndim; ++d) {
    if (a.list[l].stride[d] == 0) continue;
    walk.size[walk.ndim] = a.size[d];
    walk.list[0].stride[walk.ndim++] = a.list[l].stride[d];
    walk.numel *= a.size[d];
  }
  return walk;
}

inline void check_list(const IndexArgs& a, int l) {
  const IndexArgs walk = walk_of_list(a, l);
  const IndexList& list = walk.list[0];
  const int64_t stride = walk.ndim ? list.stride[walk.ndim - 1] : 0;
  const uint64_t size = uint64_t(list.size), low = list.from_end ? size : 0;
  std::atomic<bool> bad = false;
  parallel_for(walk.numel, 65536, [&](int64_t begin, int64_t end) {
    walk_runs(walk, begin, end, [&](const WalkPlace& p, int64_t n) {
      const char* index = list.data + p.list[0];
      const bool out = stride == 8 ? out_of_range<8>(index, stride, n, low, size)
                                   : out_of_range<0>(index, stride, n, low, size);
      if (out) bad.store(true, std::memory_order_relaxed);
    });
  });
  if (!bad) return;
  walk_runs(walk, 0, walk.numel, [&](const WalkPlace& p, int64_t n) {  // the first, for the error
    WalkPlace at = p;
    for (int64_t i = 0; i < n; ++i, at.list[0] += stride) listed_offset(walk, at.list);
  });
}

// ---- the launch ---------------------------------------------------------------------------------

// The longest dimension along which no two writes meet: places there differ without the lists.
inline int shared_dim(const IndexArgs& a) {
  int split = -1;
  for (int d = 0; d < a.ndim; ++d) {
    if (a.dst_stride[d] && (split < 0 || a.size[d] > a.size[split])) split = d;
  }
  return split;
}

// Whether one list moves whole runs of some cache lines: rows of a table, each in memory of its
// own, as rows of an expanded tensor are not.
inline bool moves_rows(const IndexArgs& a, int64_t bytes) {
  const int last = a.ndim - 1;
  return a.lists == 1 && a.ndim && a.list[0].stride[last] == 0 && a.dst_stride[last] == bytes &&
         a.size[last] * bytes >= 256 && std::abs(a.list[0].step) >= a.size[last] * bytes;
}

// The writes to every so-many-th place of the list's dimension, in their order: what is written
// often lies close together, as the frequent words of a vocabulary do.
template <class F, class T> void write_places(const IndexArgs& a, int64_t part, int64_t parts) {
  const IndexList& list = a.list[0];
  const RunSteps by{a.dst_stride[a.ndim - 1], a.src_stride[a.ndim - 1]};
  walk_runs(a, 0, a.numel, [&](const WalkPlace& p, int64_t n) {
    const int64_t index = *reinterpret_cast<const int64_t*>(list.data + p.list[0]);
    const int64_t asked = index < 0 && list.from_end ? index + list.size : index;
    const int64_t at = in_range(a.op, a.report, asked, index, list.dim, list.size);
    if (at % parts != part) return;
    run_moved<F, T>(a.dst + p.dst + at * list.step, a.src + p.src, by, n);
  });
}

// Elements [begin, end) of dimension d.
inline IndexArgs part_of(const IndexArgs& a, int d, int64_t begin, int64_t end) {
  IndexArgs part = a;
  part.size[d] = end - begin;
  part.numel = a.numel / a.size[d] * (end - begin);
  part.dst += begin * a.dst_stride[d];
  part.src += begin * a.src_stride[d];
  for (int l = 0; l < a.lists; ++l) part.list[l].data += begin * a.list[l].stride[d];
  return part;
}

template <class F, class T> void index_entry(void*, const void* p) {
  const IndexArgs& a = *static_cast<const IndexArgs*>(p);
  if constexpr (!std::is_same_v<Compute<T>, T> &&
                (std::is_same_v<F, AddPlace> || std::is_same_v<F, MulPlace>)) {
    if (a.places) return meet<F, T>(a);
    if (a.in_rows) {
      for (int l = 0; !a.fresh && l < a.lists; ++l) check_list(a, l);
      return meet_in_rows<F, T>(a);
    }
  }
  if constexpr (kReads<F>) {
    return parallel_for(a.numel, 16384,
                        [&](int64_t begin, int64_t end) { index_range<F, T>(a, begin, end); });
  }
  for (int l = 0; !a.fresh && l < a.lists; ++l) check_list(a, l);
  const int64_t threads = get_num_threads();
  if (moves_rows(a, sizeof(T))) {
    const int64_t parts = a.numel <= 16384 ? 1 : threads;
    return parallel_for(parts, 1, [&](int64_t part, int64_t end) {
      for (; part < end; ++part) write_places<F, T>(a, part, parts);
    });
  }
  const int split = shared_dim(a);
  if (split < 0) return index_range<F, T>(a, 0, a.numel);
  // Where the lists do not follow that dimension every part walks all the indices, so there are no
  // more parts than threads.
  const int64_t others = a.numel / a.size[split];
  const int64_t share = (a.size[split] + threads - 1) / threads, least = 16384 / others + 1;
  parallel_for(a.size[split], share > least ? share : least, [&](int64_t begin, int64_t end) {
    const IndexArgs part = part_of(a, split, begin, end);
    index_range<F, T>(part, 0, part.numel);
  });
}

}  // namespace flambeau::FLAM_TARGET
