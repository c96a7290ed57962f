// See join.h: the host's loop over rows, and what registers it or the launch for GPUs.
#include "kernels/map/join.h"

#include "kernels/types.h"
#if defined(FLAM_DEVICE_SOURCE)
#include "kernels/map/join_device.h"
#else
#include "base/thread_pool.h"
#include "kernels/copy_run.h"
#endif

namespace flambeau::FLAM_TARGET {

#if !defined(FLAM_DEVICE_SOURCE)
void join_parts(void*, const void* p) {
  constexpr int64_t kGrain = 1 << 16;  // bytes
  const JoinArgs& a = *static_cast<const JoinArgs*>(p);
  parallel_for(a.rows, 1 + kGrain / a.bytes, [&](int64_t row, int64_t end) {
    for (; row < end; ++row) {
      for (int i = 0; i < a.parts; ++i) {
        const JoinArgs::Part& part = a.part[i];
        copy_run(part.to + row * part.to_row, part.from + row * part.from_row, part.bytes);
      }
    }
  });
}
#endif

[[maybe_unused]] static const bool registered_join =
    (kJoin.add(kColumn, FLAM_ISA_RANK, Dtype::u8, &join_parts), true);

}  // namespace flambeau::FLAM_TARGET
