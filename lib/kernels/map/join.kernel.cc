// See join.h: the host's loop over rows.
#include "kernels/map/join.h"

#include "kernels/types.h"
#if !defined(FLAM_DEVICE_SOURCE)
#include "base/thread_pool.h"
#include "kernels/copy_run.h"

namespace flambeau::FLAM_TARGET {

void join_rows(void*, const void* p) {
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

[[maybe_unused]] static const bool registered_join =
    (kJoin.add(kColumn, FLAM_ISA_RANK, Dtype::u8, &join_rows), true);

}  // namespace flambeau::FLAM_TARGET
#endif
