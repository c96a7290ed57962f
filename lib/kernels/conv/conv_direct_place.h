// Which outputs of a direct convolution a thread has, where their terms are, and what it loads.
// Threads of a block that follow each other have neighbours in memory: channels, or positions
// along w.
#pragma once
#include "kernels/conv/conv_direct.h"
#include "kernels/cuda_launch.h"
#include "kernels/map/map_chunk.h"

namespace flambeau::FLAM_TARGET {

struct DirectThread {
  int lane, place, places;  // of the block's channels; among the threads that share them

  __device__ __forceinline__ explicit DirectThread(const ConvDirect& g)
      : places(kDirectThreads / g.lanes) {
    const int thread = int(threadIdx.x);
    lane = g.lanes_inside ? thread & (g.lanes - 1) : thread / places;
    place = g.lanes_inside ? thread / g.lanes : thread & (places - 1);
  }
  __device__ __forceinline__ int first() const { return int(blockIdx.x) * places + place; }
  __device__ __forceinline__ int step() const { return int(gridDim.x) * places; }
};

struct DirectPlace {
  int image, d, h, w;  // h: the first of the run

  __device__ __forceinline__ DirectPlace(const ConvDirect& g, int item) {
    uint32_t left = uint32_t(item), next = divide(left, g.size[2]);
    w = int(left);
    left = next;
    next = divide(left, g.size[1]);
    h = int(left) * g.run;
    left = next;
    image = int(divide(left, g.size[0]));
    d = int(left);
  }
};

__device__ __forceinline__ int64_t at_offset(const ConvDirect& g, const DirectPlace& p,
                                             int channel) {
  return int64_t(p.image) * g.at.outer + int64_t(channel) * g.at.inner + p.d * int(g.at.space[0]) +
         p.h * int(g.at.space[1]) + p.w * int(g.at.space[2]);
}

// What a tap meets, or -1.
__device__ __forceinline__ int met_place(const ConvDirect& g, int d, int at, int tap) {
  const int reach = at * g.scale[d] + g.shift[d] + tap * g.step[d];
  if (g.by[d].divisor == 1 || reach < 0) return reach;
  uint32_t rest = uint32_t(reach);
  const uint32_t place = divide(rest, g.by[d]);
  return rest ? -1 : int(place);
}

// Terms of kWide neighbouring channels.
template <class T, int kWide> struct DirectTerms {
  Compute<T> v[kWide];

  static __device__ __forceinline__ DirectTerms from(const T* p) {
    DirectTerms x;
    if constexpr (kWide == 1) {
      x.v[0] = static_cast<Compute<T>>(load_global(p));
    } else {
      const auto values = Chunk<T, kWide>::from(p).values();
#pragma unroll
      for (int e = 0; e < kWide; ++e) x.v[e] = values.v[e];
    }
    return x;
  }
};

}  // namespace flambeau::FLAM_TARGET
