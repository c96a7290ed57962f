// Indexed reads and writes, and the positions of true elements: the devices' loops, where no two
// threads write to one place but by an atomic update, and which loop is whose.
#include "kernels/index/index.h"

#include "kernels/index/index_update.h"
#include "kernels/index/index_walk.h"
#if !defined(FLAM_DEVICE_SOURCE)
#include "kernels/index/index_host.h"
#include "kernels/index/true_host.h"
#endif

namespace flambeau::FLAM_TARGET {

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
