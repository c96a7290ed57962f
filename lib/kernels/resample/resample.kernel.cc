// Resampling for every target: one element of the result, the loops around it, and registration.
#include "kernels/resample/resample_value.h"
#if defined(FLAM_DEVICE_SOURCE)
#include "kernels/conv/image_walk.h"
#include "kernels/cuda_launch.h"
#else
#include "kernels/resample/band_host.h"
#endif

namespace flambeau::FLAM_TARGET {

// The elements of one dimension that count for output o; one where there is no band.
template <class C> struct ResampleTaps {
  int64_t first, count;
  const C* weights;
  FLAM_FN ResampleTaps(const ResampleBand& b, int64_t o)
      : first(b.first ? b.first[o] : 0),
        count(b.first ? b.count[o] : 1),
        weights(b.weights ? reinterpret_cast<const C*>(b.weights) + o * b.taps : nullptr) {}
  FLAM_FN C weight(int64_t i) const { return weights ? weights[i] : C(1); }
};

template <class T, class C>
FLAM_FN void resample_element(const ResampleArgs& g, int64_t n, int64_t c, int64_t d, int64_t h,
                              int64_t w) {
  const ResampleTaps<C> td(g.band[0], d), th(g.band[1], h), tw(g.band[2], w);
  const T* x = reinterpret_cast<const T*>(g.x.data) + n * g.x.outer + c * g.x.inner;
  const bool none = td.count == 0 || th.count == 0 || tw.count == 0;
  C sum = none ? C(0) : C(-0.0);  // -0 + x is x, also for x = -0
  for (int64_t i = 0; i < td.count; ++i) {
    C plane = C(-0.0);
    for (int64_t j = 0; j < th.count; ++j) {
      const T* line = x + (td.first + i) * g.x.space[0] + (th.first + j) * g.x.space[1];
      C along = C(-0.0);
      for (int64_t k = 0; k < tw.count; ++k) {
        along += tw.weight(k) * C(load(line + (tw.first + k) * g.x.space[2]));
      }
      plane += th.weight(j) * along;
    }
    sum += td.weight(i) * plane;
  }
  reinterpret_cast<T*>(g.y.data)[n * g.y.outer + c * g.y.inner + d * g.y.space[0] +
                                 h * g.y.space[1] + w * g.y.space[2]] = resampled<T>(sum);
}

#if defined(FLAM_DEVICE_SOURCE)

template <class T, class C>
__global__ void resample_kernel(const __grid_constant__ ResampleArgs g,
                                const __grid_constant__ ImageWalk walk, int64_t total) {
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < total;
       i += int64_t(gridDim.x) * blockDim.x) {
    const ImagePlace p = walk.at(i);
    resample_element<T, C>(g, p.image, p.channel, p.d, p.h, p.w);
  }
}

template <class T, class C> void resample_images(void* stream, const ResampleArgs& g) {
  const int64_t total = g.images * g.channels * g.out[0] * g.out[1] * g.out[2];
  const int64_t blocks = (total + 255) / 256;
  FLAM_LAUNCH((resample_kernel<T, C>), dim3(unsigned(blocks < (1 << 20) ? blocks : 1 << 20)),
              dim3(256), 0, stream, g, ImageWalk(g.out, g.channels, g.y), total);
}

#else

template <class T, class C> void resample_images(void*, const ResampleArgs& g) {
  static constexpr int64_t kZero = 0, kOne = 1;
  BandImage<T, C> image{g.images, g.channels, {}, {}, g.x, g.y, {}, nullptr, nullptr};
  for (int d = 0; d < kConvDims; ++d) {
    const ResampleBand& b = g.band[d];
    image.in[d] = g.in[d];
    image.out[d] = g.out[d];
    image.taps[d] = {b.first ? b.first : &kZero, b.first ? b.count : &kOne,
                     reinterpret_cast<const C*>(b.weights), b.first ? b.taps : 1};
  }
  image.run();
}

#endif

template <class T> void resample_entry(void* stream, const void* p) {
  const ResampleArgs& g = *static_cast<const ResampleArgs*>(p);
  if constexpr (std::is_integral_v<T>) {
    if (g.wide) return resample_images<T, double>(stream, g);
  }
  resample_images<T, BandValue<T>>(stream, g);
}

template <class... T> bool register_resample(TypeList<T...>) {
  (kResample.add(kColumn, FLAM_ISA_RANK, dtype_of<T>, &resample_entry<T>), ...);
  return true;
}
[[maybe_unused]] static const bool registered =
    register_resample(TypeList<float, double, Half, BFloat16, uint8_t>{});

}  // namespace flambeau::FLAM_TARGET
