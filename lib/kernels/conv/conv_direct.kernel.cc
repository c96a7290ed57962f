// Direct convolutions: their launches on CUDA devices. The host's tiles serve depthwise ones too.
#include "kernels/types.h"
#if defined(FLAM_DEVICE_SOURCE)
#include "kernels/conv/conv_direct_device.h"
#include "kernels/conv/conv_direct_weight.h"

namespace flambeau::FLAM_TARGET {

// So many blocks fill every GPU; each brings weights for all the outputs that it makes in turn.
inline constexpr int kDirectBlocks = 4096;

inline int blocks_of(const ConvDirect& g, int rows) {
  const int places = kDirectThreads / g.lanes, all = (g.items + places - 1) / places,
            most = kDirectBlocks / rows > 1 ? kDirectBlocks / rows : 1;
  return all < most ? all : most;
}

template <class T, int kWide> void conv_direct_entry(void* stream, const void* p) {
  const ConvDirect& g = *static_cast<const ConvDirect*>(p);
  const int width = g.lanes * kWide, taps = g.taps[0] * g.taps[1] * g.taps[2],
            shared = g.met_channels * taps * width * int(sizeof(GemmCompute<T>));
  const int rows = (g.channels + width - 1) / width;
  const dim3 grid(unsigned(blocks_of(g, rows)), unsigned(rows));
  if (g.run > 1) {
    FLAM_LAUNCH((conv_direct_kernel<T, kWide, kDirectRun>), grid, dim3(kDirectThreads), shared,
                stream, g);
  } else {
    FLAM_LAUNCH((conv_direct_kernel<T, kWide, 1>), grid, dim3(kDirectThreads), shared, stream, g);
  }
}

template <class T, int kWide> void conv_direct_weight_entry(void* stream, const void* p) {
  const ConvDirect& g = *static_cast<const ConvDirect*>(p);
  const int width = g.lanes * kWide;
  const dim3 grid(unsigned(g.splits), unsigned((g.channels + width - 1) / width),
                  unsigned(g.met_channels * g.taps[0] * g.taps[1] * g.tap_runs));
  FLAM_LAUNCH((conv_direct_weight_kernel<T, kWide>), grid, dim3(kDirectThreads), 0, stream, g);
  const uint32_t n =
      uint32_t(g.channels) * uint32_t(g.met_channels) * uint32_t(g.taps[0] * g.taps[1] * g.taps[2]);
  const uint32_t blocks = (n + kDirectThreads - 1) / kDirectThreads;
  FLAM_LAUNCH((conv_direct_parts_kernel<T>), dim3(blocks < 4096 ? blocks : 4096),
              dim3(kDirectThreads), 0, stream, g, n);
}

template <class... T> bool register_direct(TypeList<T...>) {
  (kConvDirect.add(kColumn, 0, dtype_of<T>, &conv_direct_entry<T, 1>), ...);
  (kConvDirectWeight.add(kColumn, 0, dtype_of<T>, &conv_direct_weight_entry<T, 1>), ...);
  return true;
}
template <class... T> bool register_direct_wide(TypeList<T...>) {
  (kConvDirectWide.add(kColumn, 0, dtype_of<T>, &conv_direct_entry<T, 16 / sizeof(T)>), ...);
  (kConvDirectWeightWide.add(kColumn, 0, dtype_of<T>, &conv_direct_weight_entry<T, 16 / sizeof(T)>),
   ...);
  return true;
}

[[maybe_unused]] static const bool registered_direct =
    register_direct(FloatTypes{}) && register_direct_wide(TypeList<float, Half, BFloat16>{});

}  // namespace flambeau::FLAM_TARGET
#endif
