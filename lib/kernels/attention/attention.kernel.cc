// Attention for every instruction set of the host, and of half types and f32 for devices, where f64
// has products and softmax apart.
#include "kernels/types.h"
#if defined(FLAM_DEVICE_SOURCE)
#include "kernels/attention/attention_backward_entry.h"
#include "kernels/attention/attention_forward.h"
#else
#include "kernels/attention/attention_host.h"
#endif

namespace flambeau::FLAM_TARGET {

#if defined(FLAM_DEVICE_SOURCE)

template <class... T> bool register_attention(TypeList<T...>) {
  (kAttention.add(kColumn, FLAM_ISA_RANK, dtype_of<T>, &attention_entry<T>), ...);
  (kAttentionBackward.add(kColumn, FLAM_ISA_RANK, dtype_of<T>, &attention_backward_entry<T>), ...);
  return true;
}

[[maybe_unused]] static const bool registered_attention =
    register_attention(TypeList<Half, BFloat16, float>{});

#else

template <class... T> bool register_attention(TypeList<T...>) {
  (kAttention.add(kColumn, FLAM_ISA_RANK, dtype_of<T>, &attention_entry<T>), ...);
  return true;
}

[[maybe_unused]] static const bool registered_attention = register_attention(FloatTypes{});

#endif

}  // namespace flambeau::FLAM_TARGET
