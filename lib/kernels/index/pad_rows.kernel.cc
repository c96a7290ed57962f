// See pad_rows.h: the host's loop over rows.
#include "kernels/index/pad_rows.h"

#include "kernels/types.h"
#if !defined(FLAM_DEVICE_SOURCE)
#include "base/thread_pool.h"
#include "kernels/copy_run.h"

namespace flambeau::FLAM_TARGET {

template <class T> FLAM_FN void pad_row(const PadRowsArgs& a, T* to, const T* from) {
  for (int64_t i = 0; i < a.before; ++i) to[i] = from[a.column[i]];
  to += a.before;
  copy_run(reinterpret_cast<char*>(to), reinterpret_cast<const char*>(from),
           a.n * int64_t(sizeof(T)));
  to += a.n;
  for (int64_t i = 0; i < a.after; ++i) to[i] = from[a.column[a.before + i]];
}

template <class T> void pad_rows(void*, const void* p) {
  constexpr int64_t kGrain = 1 << 14;  // elements
  const PadRowsArgs a = *static_cast<const PadRowsArgs*>(p);
  const int64_t width = a.before + a.n + a.after;
  parallel_for(a.planes * a.rows, 1 + kGrain / width, [&](int64_t row, int64_t end) {
    const char* plane = a.from + row / a.rows * a.plane_bytes;
    for (int64_t r = row % a.rows; row < end; ++row) {
      pad_row(a, reinterpret_cast<T*>(a.to) + row * width,
              reinterpret_cast<const T*>(plane + a.row[r]));
      if (++r < a.rows) continue;
      r = 0;
      plane += a.plane_bytes;
    }
  });
}

template <class T> constexpr bool add_pad_rows(Dtype key) {
  kPadRows.add(kColumn, FLAM_ISA_RANK, key, &pad_rows<T>);
  return true;
}
[[maybe_unused]] static const bool registered_pad_rows =
    add_pad_rows<uint8_t>(Dtype::u8) && add_pad_rows<uint16_t>(Dtype::i16) &&
    add_pad_rows<uint32_t>(Dtype::i32) && add_pad_rows<uint64_t>(Dtype::i64);

}  // namespace flambeau::FLAM_TARGET
#endif
