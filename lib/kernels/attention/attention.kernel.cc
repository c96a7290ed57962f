// Attention for every instruction set of the host; devices have products and softmax apart.
#include "kernels/types.h"
#if !defined(FLAM_DEVICE_SOURCE)
#include "kernels/attention/attention_host.h"

namespace flambeau::FLAM_TARGET {

template <class... T> bool register_attention(TypeList<T...>) {
  (kAttention.add(kColumn, FLAM_ISA_RANK, dtype_of<T>, &attention_entry<T>), ...);
  return true;
}

[[maybe_unused]] static const bool registered_attention = register_attention(FloatTypes{});

}  // namespace flambeau::FLAM_TARGET
#endif
