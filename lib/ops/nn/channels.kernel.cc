// Which kernels of batch norm a launch takes on GPUs; see channels.h. Nothing here for the host.
#include "ops/nn/channels.h"

#include "kernels/types.h"

#if defined(FLAM_DEVICE_SOURCE)

#include "kernels/cuda_launch.h"
#include "ops/nn/channels_device.h"
#include "ops/nn/channels_slopes.h"

namespace flambeau::FLAM_TARGET {

template <class T, bool kPlanes, int kVec> struct ChannelLaunch {
  void* stream;
  const ChannelArgs& a;

  dim3 blocks(bool all_parts) const {
    return dim3(unsigned(a.walk.tiles), all_parts ? a.walk.parts : 1);
  }

  void norm() const {
    const ChannelRates<Compute<T>> rates{Compute<T>(a.eps), Compute<T>(a.momentum)};
    const dim3 threads(unsigned(a.walk.threads));
    if (a.walk.held) {
      FLAM_LAUNCH((channel_norm_held_kernel<T, kPlanes, kVec>), blocks(true), threads, 0, stream, a,
                  rates);
      return;
    }
    if (a.summed) {
      FLAM_LAUNCH((channel_moments_kernel<T, kPlanes, kVec>), blocks(true), threads, 0, stream, a);
    }
    FLAM_LAUNCH((channel_norm_kernel<T, kPlanes, kVec>), blocks(true), threads, 0, stream, a,
                rates);
  }

  void slopes() const {
    const dim3 threads(unsigned(a.walk.threads));
    if (a.walk.held) {
      FLAM_LAUNCH((channel_slopes_held_kernel<T, kPlanes, kVec>), blocks(true), threads, 0, stream,
                  a);
      return;
    }
    if (a.summed) {
      FLAM_LAUNCH((channel_slope_sums_kernel<T, kPlanes, kVec>), blocks(true), threads, 0, stream,
                  a);
    }
    FLAM_LAUNCH((channel_slopes_kernel<T, kPlanes, kVec>), blocks(a.out), threads, 0, stream, a);
  }
};

template <class T, class F> void with_channel_launch(void* stream, const void* p, const F& run) {
  const ChannelArgs& a = *static_cast<const ChannelArgs*>(p);
  const bool planes = a.inner, pieces = a.walk.vec > 1;
  if (planes && pieces) return run(ChannelLaunch<T, true, kPieceOf<T>>{stream, a});
  if (planes) return run(ChannelLaunch<T, true, 1>{stream, a});
  if (pieces) return run(ChannelLaunch<T, false, kPieceOf<T>>{stream, a});
  run(ChannelLaunch<T, false, 1>{stream, a});
}

template <class T> void channel_norm_entry(void* stream, const void* p) {
  with_channel_launch<T>(stream, p, [](const auto& launch) { launch.norm(); });
}
template <class T> void channel_slopes_entry(void* stream, const void* p) {
  with_channel_launch<T>(stream, p, [](const auto& launch) { launch.slopes(); });
}

template <class... T> bool register_channels(TypeList<T...>) {
  (kChannelNorm.add(kColumn, FLAM_ISA_RANK, dtype_of<T>, &channel_norm_entry<T>), ...);
  (kChannelNormBackward.add(kColumn, FLAM_ISA_RANK, dtype_of<T>, &channel_slopes_entry<T>), ...);
  return true;
}

[[maybe_unused]] static const bool registered_channels = register_channels(FloatTypes{});

}  // namespace flambeau::FLAM_TARGET

#endif
