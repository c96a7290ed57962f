// Pooling for every target: the loops around an element's functor, and registration.
#include "kernels/pool/pool_element.h"
#if defined(FLAM_DEVICE_SOURCE)
#include "kernels/conv/image_walk.h"
#include "kernels/cuda_launch.h"
#else
#include "base/thread_pool.h"
#include "kernels/pool/pool_average_host.h"
#include "kernels/pool/pool_max_host.h"
#endif

namespace flambeau::FLAM_TARGET {

#if defined(FLAM_DEVICE_SOURCE)

template <class Element>
__global__ void pool_kernel(const __grid_constant__ PoolArgs g,
                            const __grid_constant__ ImageWalk walk, int64_t total) {
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < total;
       i += int64_t(gridDim.x) * blockDim.x) {
    const ImagePlace p = walk.at(i);
    Element::run(g, p.image, p.channel, p.d, p.h, p.w);
  }
}

template <class Element> void pool_entry(void* stream, const void* p) {
  const PoolArgs& g = *static_cast<const PoolArgs*>(p);
  const int64_t* n = Element::extent(g);
  const int64_t total = g.images * g.channels * n[0] * n[1] * n[2], blocks = (total + 255) / 256;
  FLAM_LAUNCH((pool_kernel<Element>), dim3(unsigned(blocks < (1 << 20) ? blocks : 1 << 20)),
              dim3(256), 0, stream, g, ImageWalk(n, g.channels, n == g.out ? g.y : g.x), total);
}

#else

template <class Element> void pool_entry(void*, const void* p) {
  const PoolArgs& g = *static_cast<const PoolArgs*>(p);
  if (PoolImages<Element>::run(g)) return;
  const int64_t* n = Element::extent(g);
  parallel_for(g.images * g.channels, 1 + 4096 / (n[0] * n[1] * n[2]),
               [&](int64_t plane, int64_t end) {
                 for (; plane < end; ++plane) {
                   const int64_t image = plane / g.channels, channel = plane % g.channels;
                   for (int64_t d = 0; d < n[0]; ++d) {
                     for (int64_t h = 0; h < n[1]; ++h) {
                       for (int64_t w = 0; w < n[2]; ++w) Element::run(g, image, channel, d, h, w);
                     }
                   }
                 }
               });
}

#endif

template <class... T> bool register_max_pool(TypeList<T...>) {
  (kMaxPool.add(kColumn, FLAM_ISA_RANK, dtype_of<T>, &pool_entry<MaxPoolElement<T>>), ...);
  return true;
}

template <class... T> bool register_avg_pool(TypeList<T...>) {
  (kAvgPool.add(kColumn, FLAM_ISA_RANK, dtype_of<T>, &pool_entry<AvgPoolElement<T>>), ...);
  return true;
}

template <class... T> bool register_pool_gradients(TypeList<T...>) {
  (kMaxPoolBackward.add(kColumn, FLAM_ISA_RANK, dtype_of<T>,
                        &pool_entry<MaxPoolBackwardElement<T>>),
   ...);
  (kAvgPoolBackward.add(kColumn, FLAM_ISA_RANK, dtype_of<T>,
                        &pool_entry<AvgPoolBackwardElement<T>>),
   ...);
  return true;
}

[[maybe_unused]] static const bool registered_max_pool = register_max_pool(NumberTypes{});
[[maybe_unused]] static const bool registered_avg_pool = register_avg_pool(FloatTypes{});
// Whole numbers truncate, as in torch, which averages those of this type only.
[[maybe_unused]] static const bool registered_whole = register_avg_pool(TypeList<int64_t>{});
[[maybe_unused]] static const bool registered_gradients = register_pool_gradients(FloatTypes{});

}  // namespace flambeau::FLAM_TARGET
