// The launches of attention's gradients, for heads of each padded width.
#pragma once
#include "kernels/attention/attention_backward.h"
#include "kernels/attention/attention_mask_slopes.h"

namespace flambeau::FLAM_TARGET {

template <class T, int kWidth>
void launch_attention_backward(void* stream, const AttentionBackwardArgs& b) {
  const auto grid = [](int64_t blocks) {
    return dim3(unsigned(blocks < (1 << 30) ? blocks : 1 << 30));
  };
  constexpr int kRows = BackwardTile<T, kWidth>::Part::kRows;
  const auto blocks = [](int64_t rows) { return (rows + kRows - 1) / kRows; };
  const AttentionArgs& g = b.of;
  const int64_t heads = g.batches * g.heads;
  constexpr int bytes = BackwardTile<T, kWidth>::kBytes;
  static_assert(bytes <= kMostShared);
  FLAM_LAUNCH((attention_query_slopes_kernel<T, kWidth>), grid(heads * blocks(g.length)),
              dim3(kAttentionThreads), bytes, stream, b);
  FLAM_LAUNCH((attention_key_slopes_kernel<T, kWidth>), grid(heads / g.shared * blocks(g.keys)),
              dim3(kAttentionThreads), bytes, stream, b);
  if (b.dmask.data) launch_attention_mask_slopes<T>(stream, b);
}

template <class T> void attention_backward_entry(void* stream, const void* p) {
  const auto& b = *static_cast<const AttentionBackwardArgs*>(p);
  const int64_t width = b.of.width > b.of.value_width ? b.of.width : b.of.value_width;
  if (width <= 32) return launch_attention_backward<T, 32>(stream, b);
  if (width <= 64) return launch_attention_backward<T, 64>(stream, b);
  if (width <= 128) return launch_attention_backward<T, 128>(stream, b);
  launch_attention_backward<T, 256>(stream, b);
}

}  // namespace flambeau::FLAM_TARGET
