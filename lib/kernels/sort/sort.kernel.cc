// Sorts and binary searches, for every dtype.
#include "kernels/sort/sort.h"

#include "kernels/report/report_device.h"
#include "kernels/sort/sort_key.h"
#if defined(FLAM_DEVICE_SOURCE)
#include "kernels/sort/sort_device.h"
#else
#include "kernels/sort/sort_host.h"
#endif

namespace flambeau::FLAM_TARGET {

// Compares as torch does, so that NaN anywhere leads to the same place: what is not greater (or
// not less) is passed by.
template <class T> FLAM_KERNEL_FN void search_one(const SearchArgs& a, int64_t i) {
  const int64_t row = a.values_per_row ? i / a.values_per_row : 0;
  const T* sequence = reinterpret_cast<const T*>(a.sequence) + row * a.n;
  const int64_t* sorter = a.sorter ? a.sorter + row * a.n : nullptr;
  const auto value = load(reinterpret_cast<const T*>(a.values) + i);
  int64_t low = 0, n = a.n;
  while (n > 0) {
    const int64_t half = n / 2, middle = low + half;
    int64_t at = middle;
    if (sorter) at = in_range(a.op, a.report, sorter[middle], sorter[middle], 0, a.n);
    const auto there = load(sequence + at);
    const bool pass = a.right ? !(there > value) : !(there >= value);
    low = pass ? middle + 1 : low;
    n = pass ? n - half - 1 : half;
  }
  if (a.narrow) {
    reinterpret_cast<int32_t*>(a.out)[i] = int32_t(low);
  } else {
    reinterpret_cast<int64_t*>(a.out)[i] = low;
  }
}

#if defined(FLAM_DEVICE_SOURCE)

template <class T> __global__ void search_kernel(SearchArgs a) {
  const int64_t step = int64_t(gridDim.x) * blockDim.x;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < a.numel; i += step) {
    search_one<T>(a, i);
  }
}

template <class T> void search_entry(void* stream, const void* p) {
  const SearchArgs& a = *static_cast<const SearchArgs*>(p);
  FLAM_LAUNCH((search_kernel<T>), sort_grid((a.numel + kSortThreads - 1) / kSortThreads),
              dim3(kSortThreads), 0, stream, a);
}

#else

template <class T> void search_entry(void*, const void* p) {
  const SearchArgs& a = *static_cast<const SearchArgs*>(p);
  parallel_for(a.numel, 4096, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) search_one<T>(a, i);
  });
}

#endif

template <class... T> bool register_sort(TypeList<T...>) {
  (kSort.add(kColumn, FLAM_ISA_RANK, dtype_of<T>, &sort_entry<T>), ...);
  return true;
}
template <class... T> bool register_search(TypeList<T...>) {
  (kSearch.add(kColumn, FLAM_ISA_RANK, dtype_of<T>, &search_entry<T>), ...);
  return true;
}

[[maybe_unused]] static const bool registered_sort =
    register_sort(AllTypes{}) && register_search(NumberTypes{});

}  // namespace flambeau::FLAM_TARGET
