// Indexed reads and writes, and the positions of true elements. Writes on the host are split over
// threads only along dimensions that no index looks at: so no two threads meet, and what is written
// twice is written in order.
#include "kernels/index/index.h"

#include "kernels/index/index_update.h"
#if !defined(FLAM_DEVICE_SOURCE)
#include "base/thread_pool.h"
#endif

namespace flambeau::FLAM_TARGET {

// Bytes by which the lists move the target, at `place[l]` bytes into list l.
FLAM_KERNEL_FN int64_t listed_offset(const IndexArgs& a, const int64_t* place) {
  int64_t offset = 0;
  for (int l = 0; l < a.lists; ++l) {
    const IndexList& list = a.list[l];
    const int64_t index = *reinterpret_cast<const int64_t*>(list.data + place[l]);
    const int64_t at = index < 0 && list.from_end ? index + list.size : index;
    offset += in_range(a.op, a.report, at, index, list.dim, list.size) * list.step;
  }
  return offset;
}

// Where element i of the walk stands on both sides and in every list.
struct WalkPlace {
  int64_t dst = 0, src = 0, list[kIndexLists] = {};
};
// Dimensions first to last - 1 of the walk, at their element i.
FLAM_KERNEL_FN WalkPlace walk_place(const IndexArgs& a, int64_t i, int first, int last) {
  WalkPlace p;
  for (int d = last - 1; d >= first; --d) {
    const int64_t outer = d > first ? i / a.size[d] : 0, at = i - outer * a.size[d];
    p.dst += at * a.dst_stride[d];
    p.src += at * a.src_stride[d];
    for (int l = 0; l < a.lists; ++l) p.list[l] += at * a.list[l].stride[d];
    i = outer;
  }
  return p;
}

FLAM_KERNEL_FN WalkPlace walk_place(const IndexArgs& a, int64_t i) {
  return walk_place(a, i, 0, a.ndim);
}

// Read moves the source, everything else the destination.
struct ReadPlace : SetPlace {};
template <class F> inline constexpr bool kReads = std::is_same_v<F, ReadPlace>;
template <class F> using Update = std::conditional_t<kReads<F>, SetPlace, F>;

#if defined(FLAM_DEVICE_SOURCE)

template <class F, class T> __global__ void index_kernel(IndexArgs a) {
  const int64_t step = int64_t(gridDim.x) * blockDim.x;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < a.numel; i += step) {
    const WalkPlace p = walk_place(a, i);
    const int64_t moved = listed_offset(a, p.list);
    T* dst = reinterpret_cast<T*>(a.dst + p.dst + (kReads<F> ? 0 : moved));
    update_place(Update<F>{}, dst,
                 *reinterpret_cast<const T*>(a.src + p.src + (kReads<F> ? moved : 0)));
  }
}

// Every place belongs to one thread, which goes through all that could be written there in order.
template <class F, class T> __global__ void ordered_kernel(IndexArgs a, int64_t columns) {
  const int64_t length = a.numel / columns, step = int64_t(gridDim.x) * blockDim.x;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < columns * a.owners;
       i += step) {
    const uint64_t owner = uint64_t(i) & (a.owners - 1);
    const WalkPlace column = walk_place(a, i / a.owners, 0, a.free_dims);
    for (int64_t k = 0; k < length; ++k) {
      WalkPlace p = walk_place(a, k, a.free_dims, a.ndim);
      for (int l = 0; l < a.lists; ++l) p.list[l] += column.list[l];
      const int64_t at = p.dst + listed_offset(a, p.list);
      if ((uint64_t(at) * 0x9e3779b97f4a7c15u >> 40 & (a.owners - 1)) != owner) continue;
      update_alone(F{}, reinterpret_cast<T*>(a.dst + column.dst + at),
                   *reinterpret_cast<const T*>(a.src + column.src + p.src));
    }
  }
}

template <class F, class T> void run_ordered(void* stream, const IndexArgs& a) {
  int64_t columns = 1;
  for (int d = 0; d < a.free_dims; ++d) columns *= a.size[d];
  const int64_t blocks = (columns * a.owners + 255) / 256;
  FLAM_LAUNCH((ordered_kernel<F, T>), dim3(unsigned(blocks < 65535 ? blocks : 65535)), dim3(256), 0,
              stream, a, columns);
}

template <class F, class T> void index_entry(void* stream, const void* p) {
  const IndexArgs& a = *static_cast<const IndexArgs*>(p);
  if constexpr (!kReads<F>) {
    if (a.owners) return run_ordered<F, T>(stream, a);
  }
  const int64_t blocks = (a.numel + 255) / 256;
  FLAM_LAUNCH((index_kernel<F, T>), dim3(unsigned(blocks < 65535 ? blocks : 65535)), dim3(256), 0,
              stream, a);
}

template <class T> __global__ void true_kernel(TrueArgs a) {
  // A block's threads each take a run, so that positions come out in order.
  __shared__ int64_t found[128];
  for (int64_t b = blockIdx.x; b * kTrueBlock < a.numel; b += gridDim.x) {
    const int64_t run = kTrueBlock / 128, first = b * kTrueBlock + threadIdx.x * run;
    const int64_t stop = first + run < a.numel ? first + run : a.numel;
    const T* x = reinterpret_cast<const T*>(a.mask);
    int64_t mine = 0;
    for (int64_t i = first; i < stop; ++i) mine += load(x + i) != Compute<T>(0);
    __syncthreads();
    found[threadIdx.x] = mine;
    __syncthreads();
    int64_t before = 0;
    for (unsigned t = 0; t < (a.positions ? threadIdx.x : 128u); ++t) before += found[t];
    if (!a.positions) {
      if (threadIdx.x == 0) a.counts[b] = before;
      continue;
    }
    int64_t* out = a.positions + a.counts[b] + before;
    for (int64_t i = first; i < stop; ++i) {
      if (load(x + i) != Compute<T>(0)) *out++ = i;
    }
  }
}

template <class T> void true_entry(void* stream, const void* p) {
  const TrueArgs& a = *static_cast<const TrueArgs*>(p);
  const int64_t blocks = (a.numel + kTrueBlock - 1) / kTrueBlock;
  FLAM_LAUNCH((true_kernel<T>), dim3(unsigned(blocks < 65535 ? blocks : 65535)), dim3(128), 0,
              stream, a);
}

#else

template <class F, class T> void index_run(const IndexArgs& a, WalkPlace p, int64_t n) {
  const int last = a.ndim - 1;
  const int64_t dst_step = a.ndim ? a.dst_stride[last] : 0,
                src_step = a.ndim ? a.src_stride[last] : 0;
  bool fixed = true;  // the whole run is moved alike
  for (int l = 0; l < a.lists; ++l) fixed &= !a.ndim || a.list[l].stride[last] == 0;
  char* dst = a.dst + p.dst;
  const char* src = a.src + p.src;
  if (!fixed) {
    for (int64_t i = 0; i < n; ++i, dst += dst_step, src += src_step) {
      const int64_t moved = listed_offset(a, p.list);
      update_place(Update<F>{}, reinterpret_cast<T*>(dst + (kReads<F> ? 0 : moved)),
                   *reinterpret_cast<const T*>(src + (kReads<F> ? moved : 0)));
      for (int l = 0; l < a.lists; ++l) p.list[l] += a.list[l].stride[last];
    }
    return;
  }
  const int64_t moved = listed_offset(a, p.list);
  dst += kReads<F> ? 0 : moved;
  src += kReads<F> ? moved : 0;
  if (dst_step == int64_t(sizeof(T)) && src_step == int64_t(sizeof(T))) {
    T* to = reinterpret_cast<T*>(dst);
    const T* from = reinterpret_cast<const T*>(src);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) update_place(Update<F>{}, to + i, from[i]);
    return;
  }
  for (int64_t i = 0; i < n; ++i, dst += dst_step, src += src_step) {
    update_place(Update<F>{}, reinterpret_cast<T*>(dst), *reinterpret_cast<const T*>(src));
  }
}

constexpr int64_t kMeetRun = 512;

template <class F, class T> void index_range(const IndexArgs& a, int64_t begin, int64_t end) {
  const int64_t inner = a.ndim ? a.size[a.ndim - 1] : 1;
  while (begin < end) {
    const int64_t left = inner - begin % inner, n = left < end - begin ? left : end - begin;
    index_run<F, T>(a, walk_place(a, begin), n);
    begin += n;
  }
}

inline bool listed(const IndexArgs& a, int d) {
  bool yes = false;
  for (int l = 0; l < a.lists; ++l) yes |= a.list[l].stride[d] != 0;
  return yes;
}

// Every index once, before the first write.
inline void check_lists(IndexArgs a) {
  a.numel = 1;
  for (int d = 0; d < a.ndim; ++d) {
    if (!listed(a, d)) a.size[d] = 1;
    a.numel *= a.size[d];
  }
  for (int64_t i = 0; i < a.numel; ++i) listed_offset(a, walk_place(a, i).list);
}

// All writes to one place, n elements along the last of the free dimensions, rounded once.
template <class F, class T>
void meet_run(const IndexArgs& a, int64_t first, const WalkPlace& p, int64_t n) {
  const int last = a.free_dims - 1;
  const int64_t to = a.free_dims ? a.dst_stride[last] / int64_t(sizeof(T)) : 1,
                from = a.free_dims ? a.src_stride[last] / int64_t(sizeof(T)) : 1;
  T* dst = reinterpret_cast<T*>(a.dst + p.dst + a.meetings[first].dst);
  Compute<T> sum[kMeetRun];
  for (int64_t i = 0; i < n; ++i) sum[i] = load(dst + i * to);
  for (int64_t m = first; m >= 0; m = a.meetings[m].next) {
    const T* src = reinterpret_cast<const T*>(a.src + p.src + a.meetings[m].src);
    if (from == 1) {
      for (int64_t i = 0; i < n; ++i) sum[i] = F{}(sum[i], load(src + i));
    } else {
      for (int64_t i = 0; i < n; ++i) sum[i] = F{}(sum[i], load(src + i * from));
    }
  }
  for (int64_t i = 0; i < n; ++i) dst[i * to] = narrow<T>(sum[i]);
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

template <class F, class T> void index_entry(void*, const void* p) {
  const IndexArgs& a = *static_cast<const IndexArgs*>(p);
  if constexpr (!std::is_same_v<Compute<T>, T> &&
                (std::is_same_v<F, AddPlace> || std::is_same_v<F, MulPlace>)) {
    if (a.places) return meet<F, T>(a);
  }
  if constexpr (kReads<F>) {
    return parallel_for(a.numel, 16384,
                        [&](int64_t begin, int64_t end) { index_range<F, T>(a, begin, end); });
  }
  check_lists(a);
  int split = -1;
  for (int d = 0; d < a.ndim; ++d) {
    if (!listed(a, d) && a.dst_stride[d] && (split < 0 || a.size[d] > a.size[split])) split = d;
  }
  if (split < 0) return index_range<F, T>(a, 0, a.numel);
  // Every part walks all the indices, so there are no more parts than threads.
  const int64_t others = a.numel / a.size[split], threads = get_num_threads();
  const int64_t share = (a.size[split] + threads - 1) / threads, least = 16384 / others + 1;
  parallel_for(a.size[split], share > least ? share : least, [&](int64_t begin, int64_t end) {
    IndexArgs part = a;
    part.size[split] = end - begin;
    part.numel = others * (end - begin);
    part.dst += begin * a.dst_stride[split];
    part.src += begin * a.src_stride[split];
    index_range<F, T>(part, 0, part.numel);
  });
}

template <class T> void true_entry(void*, const void* p) {
  const TrueArgs& a = *static_cast<const TrueArgs*>(p);
  const T* x = reinterpret_cast<const T*>(a.mask);
  parallel_for((a.numel + kTrueBlock - 1) / kTrueBlock, 8, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t first = b * kTrueBlock;
      const int64_t stop = first + kTrueBlock < a.numel ? first + kTrueBlock : a.numel;
      if (!a.positions) {
        int64_t count = 0;
        for (int64_t i = first; i < stop; ++i) count += load(x + i) != Compute<T>(0);
        a.counts[b] = count;
        continue;
      }
      int64_t* out = a.positions + a.counts[b];
      for (int64_t i = first; i < stop; ++i) {
        if (load(x + i) != Compute<T>(0)) *out++ = i;
      }
    }
  });
}

#endif

template <size_t Bytes>
using Word = std::conditional_t<
    Bytes == 1, uint8_t,
    std::conditional_t<Bytes == 2, uint16_t, std::conditional_t<Bytes == 4, uint32_t, uint64_t>>>;

// Moving elements needs their size only.
template <class F, class T> constexpr KernelFn index_cell() {
  if constexpr (std::is_base_of_v<SetPlace, F>) {
    return &index_entry<F, Word<sizeof(T)>>;
  } else {
    return &index_entry<F, T>;
  }
}

template <class F, class... T> bool register_index(Kernel& k, TypeList<T...>) {
  (k.add(kColumn, FLAM_ISA_RANK, dtype_of<T>, index_cell<F, T>()), ...);
  return true;
}

template <class... T> bool register_true(TypeList<T...>) {
  (kTruePositions.add(kColumn, FLAM_ISA_RANK, dtype_of<T>, &true_entry<T>), ...);
  return true;
}

[[maybe_unused]] static const bool registered_index =
    register_index<ReadPlace>(kIndexRead, AllTypes{}) &&
    register_index<SetPlace>(kIndexSet, AllTypes{}) &&
    register_index<AddPlace>(kIndexAdd, AllTypes{}) &&
    register_index<MulPlace>(kIndexMul, AllTypes{}) &&
    register_index<MaxPlace>(kIndexMax, AllTypes{}) &&
    register_index<MinPlace>(kIndexMin, AllTypes{}) && register_true(AllTypes{});

}  // namespace flambeau::FLAM_TARGET
