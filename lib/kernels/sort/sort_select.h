// The first few of a long line, or a single element by its rank, in CUDA: a block goes through the
// line a few times, each time fixing 11 more bits of the key that the last one wanted has, then
// collects what comes before it and of its equals the first. A line of 32-bit values costs four
// reads instead of a sort, one of 64 bits seven.
#pragma once
#include "kernels/cuda_launch.h"
#include "kernels/sort/sort_tile.h"
#include "kernels/tile/global_access.h"

namespace flambeau::FLAM_TARGET {

inline constexpr int kSelectThreads = 512, kSelectWarps = kSelectThreads / 32, kSelectBits = 11;

struct SelectShared {
  uint32_t counts[1 << kSelectBits];
  uint32_t warps[2][kSelectWarps];
  uint32_t digit, below, taken;
};

// Whether this is cheaper than sorting, which uses all of a GPU for a single line.
inline bool selects(const SortArgs& a) {
  const bool few = a.count <= kSortTile && a.first == 0, one = a.count == 1;
  return (few || one) && (a.lines >= 8 || a.n <= 1 << 18);
}

// The sum over threads before this one; all threads come here.
__device__ inline uint32_t sum_before(uint32_t mine, uint32_t* warps) {
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  uint32_t upto = mine;
  for (int step = 1; step < 32; step *= 2) {
    const uint32_t left = __shfl_up_sync(0xffffffffu, upto, unsigned(step));
    if (lane >= step) upto += left;
  }
  if (lane == 31) warps[warp] = upto;
  __syncthreads();
  uint32_t before = upto - mine;
  for (int w = 0; w < warp; ++w) before += warps[w];
  return before;
}

// Finds in which bin of the counts the element of that rank is, and how many are in those below.
__device__ inline void find_digit(SelectShared& s, int bins, uint32_t rank) {
  const int each = bins < kSelectThreads ? 1 : bins / kSelectThreads;
  const int first = int(threadIdx.x) * each;
  uint32_t mine = 0;
  for (int i = 0; i < each && first < bins; ++i) mine += s.counts[first + i];
  uint32_t below = sum_before(mine, s.warps[0]);
  if (rank >= below && rank < below + mine) {
    int i = 0;
    for (; rank - below >= s.counts[first + i]; ++i) below += s.counts[first + i];
    s.digit = uint32_t(first + i);
    s.below = below;
  }
  __syncthreads();
}

// The key of a rank of the line, which becomes its rank among its equals.
template <class T>
__device__ SortKey<T> key_of_rank(const SortArgs& a, const T* in, SelectShared& s, uint32_t& rank) {
  using K = SortKey<T>;
  K found = 0;
  for (int shift = kPackedBits<T>; shift > 0;) {
    const bool whole = shift == kPackedBits<T>;
    const int width = shift < kSelectBits ? shift : kSelectBits, above = shift;
    shift -= width;
    for (int i = int(threadIdx.x); i < 1 << width; i += kSelectThreads) s.counts[i] = 0;
    __syncthreads();
    for (int64_t i = threadIdx.x; i < a.n; i += kSelectThreads) {
      const T value = load_global(in + i);
      const K key = packed_key(&value, a.descending);
      if (whole || key >> above == found)
        atomicAdd(&s.counts[(key >> shift) & K((1 << width) - 1)], 1u);
    }
    __syncthreads();
    find_digit(s, 1 << width, rank);
    found = (whole ? K(0) : K(found << width)) | K(s.digit);
    rank -= s.below;
    __syncthreads();
  }
  return found;
}

// The rank of a line's middle, by how many NaN it has.
template <class T>
__device__ uint32_t middle_rank(const SortArgs& a, const T* in, SelectShared& s) {
  if (a.middle == Middle::none) return uint32_t(a.first + a.count - 1);
  int64_t numbers = a.n;
  if constexpr (!std::is_integral_v<T>) {
    if (threadIdx.x == 0) s.taken = 0;
    __syncthreads();
    uint32_t mine = 0;
    for (int64_t i = threadIdx.x; i < a.n; i += kSelectThreads) {
      const T value = load_global(in + i);
      mine += is_nan_value(load(&value));
    }
    if (mine) atomicAdd(&s.taken, mine);
    __syncthreads();
    numbers -= s.taken;
    __syncthreads();
  }
  if (a.middle == Middle::nan_wins && numbers < a.n) return uint32_t(numbers);
  return numbers ? uint32_t((numbers - 1) / 2) : 0;
}

// Puts what is before `last` and its equals up to number `equal` into the tile, or that one alone.
template <class T>
__device__ void collect(const SortArgs& a, const T* in, SelectShared& s, SortKey<T> last,
                        uint32_t equal, bool alone, SortItem<SortKey<T>>* tile) {
  using K = SortKey<T>;
  const uint32_t before = alone ? 0 : uint32_t(a.count) - 1 - equal;
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  if (threadIdx.x == 0) s.taken = 0;
  __syncthreads();
  uint32_t equals = 0;  // so far
  int turn = 0;         // one barrier a step: the next step's counts are others
  for (int64_t start = 0; start < a.n; start += kSelectThreads, turn ^= 1) {
    const int64_t i = start + threadIdx.x;
    K key = K(~K(0));
    bool is_equal = false, is_before = false;
    if (i < a.n) {
      const T value = load_global(in + i);
      key = packed_key(&value, a.descending);
      is_equal = key == last;
      is_before = !alone && key < last;
    }
    if (is_before) tile[atomicAdd(&s.taken, 1u)] = {key, uint32_t(i)};
    const unsigned lanes = __ballot_sync(0xffffffffu, is_equal);
    if (lane == 0) s.warps[turn][warp] = uint32_t(__popc(lanes));
    __syncthreads();
    uint32_t number = equals + uint32_t(__popc(lanes & ((1u << lane) - 1)));
    for (int w = 0; w < kSelectWarps; ++w) {
      if (w < warp) number += s.warps[turn][w];
      equals += s.warps[turn][w];
    }
    if (is_equal && (alone ? number == equal : number <= equal))
      tile[alone ? 0 : before + number] = {key, uint32_t(i)};
    if (alone && equals > equal) break;
  }
}

template <class T> __global__ void sort_select_kernel(SortArgs a, int size) {
  using Item = SortItem<SortKey<T>>;
  __shared__ SelectShared s;
  __shared__ Item tile[kSortTile];
  const bool alone = a.count == 1;
  for (int64_t line = blockIdx.x; line < a.lines; line += gridDim.x) {
    const T* in = reinterpret_cast<const T*>(a.in) + line * a.n;
    uint32_t rank = middle_rank(a, in, s);
    const SortKey<T> last = key_of_rank(a, in, s, rank);
    collect(a, in, s, last, rank, alone, tile);
    for (int i = int(a.count) + int(threadIdx.x); i < size; i += kSelectThreads)
      tile[i] = no_item<SortKey<T>>();
    sort_tile(tile, size);
    for (int64_t i = threadIdx.x; i < a.count; i += kSelectThreads) {
      const uint32_t at = tile[i].at;
      if (a.values)
        store_global(reinterpret_cast<T*>(a.values) + line * a.count + i, load_global(in + at));
      if (a.at) store_global(a.at + line * a.count + i, int64_t(at));
    }
    __syncthreads();
  }
}

template <class T> void sort_select(void* stream, const SortArgs& a) {
  int size = 1;
  while (size < a.count) size *= 2;
  FLAM_LAUNCH((sort_select_kernel<T>), dim3(unsigned(a.lines < 65535 ? a.lines : 65535)),
              dim3(kSelectThreads), 0, stream, a, size);
}

}  // namespace flambeau::FLAM_TARGET
