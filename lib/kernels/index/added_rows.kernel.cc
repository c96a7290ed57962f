// See added_rows.h. A block has a strip of rows and a tile of columns. It lists the indices that
// name its rows, sorts the list by row without a change of order within one, and adds row by row in
// registers, with what rounding leaves out; a row of many indices is shared by all warps. A list
// that is full is a round, after which sums wait in memory: a result's bits depend on the indices
// and on shapes alone.
#include "kernels/index/added_rows.h"

#include "kernels/types.h"
#if defined(FLAM_DEVICE_SOURCE)
#include "kernels/cuda_launch.h"
#include "kernels/map/map_chunk.h"
#include "kernels/report/report_device.h"
#include "kernels/tile/store_wide.h"

namespace flambeau::FLAM_TARGET {

inline constexpr int kAddingThreads = 256, kAddingWarps = kAddingThreads / 32, kLooked = 8,
                     kPiece = kAddingThreads * kLooked, kUnderWay = 8;
inline constexpr int kListed = kAddedListed, kAlone = 64,
                     kMostSharedRows = kListed / (kAlone + 1) + 1;
inline constexpr int kPlaceBits = 22;  // of an entry; the rest is a row of the strip
inline constexpr uint32_t kPlace = (1u << kPlaceBits) - 1;
static_assert(kListed == 2 * kPiece);  // the first two pieces fit whatever they name
static_assert(kAddedStripRows <= 1 << (32 - kPlaceBits) && kAddedStripRows == 4 * kAddingThreads);

// What a round has: rows of the strip beside places in the source, from the round's first on.
struct AddedList {
  uint32_t named[kListed], sorted[kListed];
  int ends[kAddedStripRows];  // of each row's entries in `sorted`; how many they are before that
  int warps[kAddingWarps], shared[kMostSharedRows], shares;
  unsigned char begun[kAddedStripRows];  // whether a sum of the row is in memory

  __device__ __forceinline__ int start(int row) const { return row ? ends[row - 1] : 0; }
};

// What warps before this one have of `own`, and all have.
__device__ __forceinline__ int before_warp(int own, int (&warps)[kAddingWarps], int& all) {
  const int warp = int(threadIdx.x) / 32;
  __syncthreads();  // what was there is read
  if (threadIdx.x % 32 == 0) warps[warp] = own;
  __syncthreads();
  int before = 0;
  all = 0;
#pragma unroll
  for (int w = 0; w < kAddingWarps; ++w) {
    if (w < warp) before += warps[w];
    all += warps[w];
  }
  return before;
}

struct AddedStrip {
  int64_t first;
  int rows;
  bool reports;  // of all blocks that look at an index one says that it is out of range
};

// Adds to the list what the piece from `begin` on has of the strip's rows, in its order.
__device__ inline void list_piece(const AddedRowsArgs& a, const AddedStrip& strip, int64_t round,
                                  int64_t begin, int& filled, AddedList& s) {
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  const int64_t own = begin + warp * 32 * kLooked + lane;
  int row[kLooked], total = 0;
  unsigned found[kLooked];
#pragma unroll
  for (int k = 0; k < kLooked; ++k) {
    int64_t index = a.skipped;
    if (own + k * 32 < a.count) {
      uint32_t at = uint32_t(own + k * 32);
      divide(at, a.period);
      index = load_global(a.index + at);
      if (strip.reports) in_range(a.op, a.report, index, index, 0, a.rows);
    }
    const int64_t of_strip = index - strip.first;
    row[k] = index != a.skipped && of_strip >= 0 && of_strip < strip.rows ? int(of_strip) : -1;
    found[k] = __ballot_sync(0xffffffffu, row[k] >= 0);
    total += __popc(found[k]);
  }
  int all;
  int at = filled + before_warp(total, s.warps, all);
  const unsigned below = (1u << lane) - 1;
#pragma unroll
  for (int k = 0; k < kLooked; ++k) {
    if (row[k] >= 0) {
      const uint32_t place = uint32_t(own + k * 32 - round);
      s.named[at + __popc(found[k] & below)] = uint32_t(row[k]) << kPlaceBits | place;
      atomicAdd(&s.ends[row[k]], 1);
    }
    at += __popc(found[k]);
  }
  filled += all;
}

// Makes starts of the rows' numbers of entries, and finds the rows that warps share.
__device__ inline void start_rows(AddedList& s) {
  const int lane = int(threadIdx.x) % 32, first = int(threadIdx.x) * 4;
  int count[4], sum = 0, all;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    count[i] = s.ends[first + i];
    sum += count[i];
    if (count[i] > kAlone) s.shared[atomicAdd(&s.shares, 1)] = first + i;
  }
  int end = sum;  // of the warp's lanes up to this one
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    const int before = __shfl_up_sync(0xffffffffu, end, unsigned(d));
    if (lane >= d) end += before;
  }
  int at = before_warp(__shfl_sync(0xffffffffu, end, 31), s.warps, all) + end - sum;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    s.ends[first + i] = at;
    at += count[i];
  }
}

// By one warp: entries of a row keep their order. Starts become ends.
__device__ inline void sort_rows(AddedList& s, int filled) {
  const int lane = int(threadIdx.x) % 32;
#pragma unroll 1
  for (int at = 0; at < filled; at += 32) {
    const bool there = at + lane < filled;
    const unsigned active = __ballot_sync(0xffffffffu, there);
    if (there) {
      const uint32_t entry = s.named[at + lane];
      const int row = int(entry >> kPlaceBits);
      const unsigned same = __match_any_sync(active, row);
      const int to = s.ends[row] + __popc(same & ((1u << lane) - 1));
      s.sorted[to] = entry & kPlace;
      __syncwarp(active);
      if ((same >> lane) == 1) s.ends[row] = to + 1;
    }
    __syncwarp();
  }
}

// One value, or words of 16 bytes.
template <class T, int kCount>
__device__ __forceinline__ void load_row(const T* p, T (&v)[kCount]) {
  constexpr int kWord = kCount == 1 ? 1 : 16 / int(sizeof(T));
#pragma unroll
  for (int w = 0; w < kCount; w += kWord) {
    const auto chunk = Chunk<T, kWord>::from(p + w);
#pragma unroll
    for (int e = 0; e < kWord; ++e) v[w + e] = chunk.element(e);
  }
}

template <class T, class V, int kCount>
__device__ __forceinline__ void store_row(T* p, const V (&v)[kCount]) {
  if constexpr (kCount == 1) {
    store_global(p, narrow<T>(v[0]));
  } else {
    constexpr int kWord = 16 / int(sizeof(T));
#pragma unroll
    for (int w = 0; w < kCount; w += kWord) {
      V part[kWord];
#pragma unroll
      for (int e = 0; e < kWord; ++e) part[e] = v[w + e];
      store_wide(p + w, Chunk<T, kWord>::rounded(part).word);
    }
  }
}

// Sums of a lane's columns. With those of single and double precision is what their roundings have
// left out (Neumaier 1974; Knuth's sum of two), so that long ones are exact; halves are added up in
// f32.
template <class T, int kCount> struct AddedSums {
  using V = Compute<T>;
  static constexpr bool kExact = sizeof(V) == sizeof(T);
  V sum[kCount] = {}, rest[kExact ? kCount : 1] = {};

  __device__ __forceinline__ void add(int e, V x) {
    if constexpr (kExact) {
      const V whole = sum[e] + x, added = whole - sum[e];
      rest[e] += (sum[e] - (whole - added)) + (x - added);
      sum[e] = whole;
    } else {
      sum[e] += x;
    }
  }
  // The sums with their rests; what is infinite has none.
  __device__ __forceinline__ void round() {
    if constexpr (kExact) {
#pragma unroll
      for (int e = 0; e < kCount; ++e) {
        const V whole = sum[e] + rest[e];
        if (whole == whole) sum[e] = whole;
      }
    }
  }
};

// A lane's columns of the strip's rows.
template <class T, int kCount> struct AddedRow {
  using Sums = AddedSums<T, kCount>;
  using V = typename Sums::V;
  static constexpr bool kExact = Sums::kExact;
  const AddedRowsArgs& a;
  AddedList& s;
  int64_t first, column, round;
  bool active;  // the lane has columns

  template <class To> __device__ __forceinline__ To* in(char* table, int row) const {
    return reinterpret_cast<To*>(table) + (first + row) * a.width + column;
  }
  // Sums that are not whole yet; those of single and double precision wait in the result.
  __device__ __forceinline__ V* waiting(int row) const {
    return in<V>(kExact ? a.out : a.aside, row);
  }
  __device__ __forceinline__ void begin(int row, Sums& sums) const {
    if (!s.begun[row] || !active) return;
    load_row(waiting(row), sums.sum);
    if constexpr (kExact) {
      if (a.aside) load_row(in<V>(a.aside, row), sums.rest);
    }
  }
  // Entries [from, to) of the sorted list.
  __device__ __forceinline__ void add(int from, int to, Sums& sums) const {
    const T* const source = reinterpret_cast<const T*>(a.source) + round * a.width + column;
#pragma unroll 1
    for (int at = from; at < to; at += kUnderWay) {
      Chunk<T, kCount> rows[kUnderWay] = {};
#pragma unroll
      for (int u = 0; u < kUnderWay; ++u) {
        if (at + u < to && active)
          rows[u] = Chunk<T, kCount>::from(source + int64_t(s.sorted[at + u]) * a.width);
      }
#pragma unroll
      for (int u = 0; u < kUnderWay; ++u) {
        if constexpr (kCount == 1) {
          sums.add(0, static_cast<V>(rows[u].element(0)));
        } else {
          const auto values = rows[u].values();
#pragma unroll
          for (int e = 0; e < kCount; ++e) sums.add(e, values.v[e]);
        }
      }
    }
  }
  __device__ __forceinline__ void leave(int row, Sums& sums, bool whole) const {
    __syncwarp();  // all lanes have begun
    if (!whole && threadIdx.x % 32 == 0) s.begun[row] = 1;
    if (!active) return;
    if (whole || !a.aside) sums.round();
    if (kExact || !whole) store_row(waiting(row), sums.sum);
    if constexpr (kExact) {
      if (!whole && a.aside) store_row(in<V>(a.aside, row), sums.rest);
    } else {
      if (whole) store_row(in<T>(a.out, row), sums.sum);
    }
  }
};

// Rows of few entries, a warp each.
template <class T, int kCount>
__device__ __forceinline__ void add_alone(const AddedRow<T, kCount>& of, int rows, bool last) {
  const AddedList& s = of.s;
#pragma unroll 1
  for (int row = int(threadIdx.x) / 32; row < rows; row += kAddingWarps) {
    const int from = s.start(row), to = s.ends[row];
    if (to - from > kAlone || (from == to && !last)) continue;
    AddedSums<T, kCount> sums;
    of.begin(row, sums);
    of.add(from, to, sums);
    of.leave(row, sums, last);
  }
}

// What warps have added up of a row: sums, then rests.
template <class T, int kCount> struct AddedParts {
  using Sums = AddedSums<T, kCount>;
  typename Sums::V v[(Sums::kExact ? 2 : 1) * kCount][kAddingThreads];

  __device__ __forceinline__ void keep(const Sums& sums) {
#pragma unroll
    for (int e = 0; e < kCount; ++e) {
      v[e][threadIdx.x] = sums.sum[e];
      if constexpr (Sums::kExact) v[kCount + e][threadIdx.x] = sums.rest[e];
    }
  }
  __device__ __forceinline__ void add_to(Sums& sums, int thread) const {
#pragma unroll
    for (int e = 0; e < kCount; ++e) {
      sums.add(e, v[e][thread]);
      if constexpr (Sums::kExact) sums.rest[e] += v[kCount + e][thread];
    }
  }
};

// Rows of many entries: each warp adds a part up, and the parts are added in their order.
template <class T, int kCount>
__device__ __forceinline__ void add_shared(const AddedRow<T, kCount>& of,
                                           AddedParts<T, kCount>& parts, bool last) {
  const AddedList& s = of.s;
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
#pragma unroll 1
  for (int i = 0; i < s.shares; ++i) {
    const int row = s.shared[i], from = s.start(row), entries = s.ends[row] - from;
    AddedSums<T, kCount> sums;
    of.add(from + entries * warp / kAddingWarps, from + entries * (warp + 1) / kAddingWarps, sums);
    parts.keep(sums);
    __syncthreads();
    if (warp == 0) {
      sums = {};
      of.begin(row, sums);
#pragma unroll 1
      for (int w = 0; w < kAddingWarps; ++w) parts.add_to(sums, w * 32 + lane);
      of.leave(row, sums, last);
    }
    __syncthreads();
  }
}

template <class T, int kCount>
__global__ void __launch_bounds__(kAddingThreads)
    added_rows_kernel(const __grid_constant__ AddedRowsArgs a) {
  __shared__ AddedList s;
  __shared__ AddedParts<T, kCount> parts;
  AddedStrip strip{blockIdx.x * int64_t(a.strip), a.strip, blockIdx.x == 0 && blockIdx.y == 0};
  if (a.rows - strip.first < a.strip) strip.rows = int(a.rows - strip.first);
  const int64_t column = (int64_t(blockIdx.y) * 32 + int(threadIdx.x) % 32) * kCount;
  for (int r = int(threadIdx.x); r < kAddedStripRows; r += kAddingThreads) s.begun[r] = 0;
  int64_t begin = 0;
  do {
    for (int r = int(threadIdx.x); r < kAddedStripRows; r += kAddingThreads) s.ends[r] = 0;
    if (threadIdx.x == 0) s.shares = 0;
    __syncthreads();
    const int64_t round = begin;
    int filled = 0;
    for (; begin < a.count && filled + kPiece <= kListed && begin - round + kPiece <= kPlace;
         begin += kPiece)
      list_piece(a, strip, round, begin, filled, s);
    __syncthreads();
    start_rows(s);
    __syncthreads();
    if (threadIdx.x < 32) sort_rows(s, filled);
    __syncthreads();
    const AddedRow<T, kCount> of{a, s, strip.first, column, round, column < a.width};
    add_alone(of, strip.rows, begin >= a.count);
    add_shared(of, parts, begin >= a.count);
    __syncthreads();
  } while (begin < a.count);
}

template <class T, int kCount> void launch_added_rows(void* stream, const AddedRowsArgs& a) {
  const int64_t columns = 32 * kCount;
  FLAM_LAUNCH(
      (added_rows_kernel<T, kCount>),
      dim3(unsigned((a.rows + a.strip - 1) / a.strip), unsigned((a.width + columns - 1) / columns)),
      dim3(kAddingThreads), 0, stream, a);
}

template <class T> void added_rows_entry(void* stream, const void* p) {
  const auto& a = *static_cast<const AddedRowsArgs*>(p);
  a.each == 1 ? launch_added_rows<T, 1>(stream, a)
              : launch_added_rows<T, 16 / int(sizeof(T))>(stream, a);
}

template <class... T> bool register_added_rows(TypeList<T...>) {
  (kAddedRows.add(kColumn, FLAM_ISA_RANK, dtype_of<T>, &added_rows_entry<T>), ...);
  return true;
}

[[maybe_unused]] static const bool registered_added_rows = register_added_rows(FloatTypes{});

}  // namespace flambeau::FLAM_TARGET
#endif
