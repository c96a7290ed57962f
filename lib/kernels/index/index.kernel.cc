// Indexed reads and writes, and the positions of true elements, for every dtype.
#include "kernels/index/index.h"

#include "kernels/index/index_update.h"
#include "kernels/index/index_walk.h"
#if defined(FLAM_DEVICE_SOURCE)
#include "kernels/index/index_device.h"
#include "kernels/index/true_device.h"
#else
#include "kernels/index/index_host.h"
#include "kernels/index/true_host.h"
#endif

namespace flambeau::FLAM_TARGET {

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
