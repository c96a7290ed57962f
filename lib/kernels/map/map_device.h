// The elementwise loop around a functor on GPUs. What bounds it is memory, so a thread takes
// neighbours: a chunk of as many elements as make 16 bytes of the widest operand, by one access of
// each operand, which neighbouring threads continue without a gap whatever the others' widths are.
// Operands that do not lie so go element by element. Addresses are 32-bit offsets (map_space.h).
#pragma once
#include <algorithm>
#include <utility>

#include "kernels/cuda_launch.h"
#include "kernels/map/map_chunk.h"
#include "kernels/map/map_functor.h"
#include "kernels/map/map_space.h"

namespace flambeau::FLAM_TARGET {

inline constexpr int kMapThreads = 256, kMapBlocks = 65535;

// Elements of a chunk.
template <class... T>
inline constexpr int kChunkOf = 16 / int(std::max({sizeof(T)...}));

// The offsets of item i.
template <int kOperands>
__device__ __forceinline__ void offsets_of(const MapSpace& s, uint32_t i,
                                           int32_t (&at)[kOperands]) {
#pragma unroll
  for (int o = 0; o < kOperands; ++o) at[o] = 0;
#pragma unroll 1
  for (int d = 0; d < s.last; ++d) {
    const uint32_t outer = quotient(i, s.size[d]), index = i - outer * s.size[d].divisor;
#pragma unroll
    for (int o = 0; o < kOperands; ++o) at[o] += int32_t(index) * s.stride[o][d];
    i = outer;
  }
#pragma unroll
  for (int o = 0; o < kOperands; ++o) at[o] += int32_t(i) * s.stride[o][s.last];
}

// Operand o as a number that the launch brings.
template <class T> __device__ __forceinline__ T value_of(const MapSpace& s, int o) {
  T v;
  memcpy(&v, s.value[o], sizeof v);
  return v;
}

template <class T>
__device__ __forceinline__ Compute<T> element_of(const MapSpace& s, int o, int32_t at) {
  const T v =
      s.data[o] ? load_global(reinterpret_cast<const T*>(s.data[o] + at)) : value_of<T>(s, o);
  return static_cast<Compute<T>>(v);
}

template <class T, int kCount>
__device__ __forceinline__ Chunk<T, kCount> chunk_of(const MapSpace& s, int o, int32_t at,
                                                     bool whole) {
  using C = Chunk<T, kCount>;
  if (!s.data[o]) return C::of(value_of<T>(s, o));
  const char* p = s.data[o] + at;
  if (whole && !s.still[o]) return C::from(p);
  return C::of(load_global(reinterpret_cast<const T*>(p)));
}

// After all operands have come: a conversion that waits for one holds up no other's access.
template <class F, class Out, int kCount, class... In>
__device__ __forceinline__ Chunk<Out, kCount> mapped(const F& f, const Chunk<In, kCount>&... in) {
  return [&](const auto&... x) {
    decltype(f(x.v[0]...)) result[kCount];
#pragma unroll
    for (int i = 0; i < kCount; ++i) result[i] = f(x.v[i]...);
    return Chunk<Out, kCount>::rounded(result);
  }(in.values()...);
}

// Single elements are those before the first chunk, then those behind the last.
template <class F, class Out, class... In>
__global__ void __launch_bounds__(kMapThreads) map_chunks_kernel(const MapSpace s) {
  constexpr int kCount = kChunkOf<Out, In...>, kOperands = 1 + int(sizeof...(In));
  const F f = functor_from<F>(s.params);
  const uint32_t step = gridDim.x * blockDim.x;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < s.items; i += step) {
    const bool whole = i < s.chunks;
    int32_t at[kOperands];
    if (whole) {
      offsets_of(s, i, at);
    } else {
      const uint32_t single = i - s.chunks, skipped = single < s.head ? 0 : s.chunks * kCount;
      const int32_t from_first = int32_t(skipped + single - s.head);
      constexpr int32_t width[] = {sizeof(Out), sizeof(In)...};
#pragma unroll
      for (int o = 0; o < kOperands; ++o) at[o] = s.still[o] ? 0 : from_first * width[o];
    }
    const auto out = [&]<size_t... I>(std::index_sequence<I...>) {
      return mapped<F, Out, kCount>(f, chunk_of<In, kCount>(s, I + 1, at[I + 1], whole)...);
    }(std::index_sequence_for<In...>{});
    char* const to = s.data[0] + at[0];
    whole ? out.to(to) : store_global(reinterpret_cast<Out*>(to), out.element(0));
  }
}

template <class F, class Out, class... In>
__global__ void __launch_bounds__(kMapThreads) map_elements_kernel(const MapSpace s) {
  const F f = functor_from<F>(s.params);
  const uint32_t step = gridDim.x * blockDim.x;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < s.items; i += step) {
    int32_t at[1 + sizeof...(In)];
    offsets_of(s, i, at);
    [&]<size_t... I>(std::index_sequence<I...>) {
      store_global(reinterpret_cast<Out*>(s.data[0] + at[0]),
                   narrow<Out>(f(element_of<In>(s, I + 1, at[I + 1])...)));
    }(std::index_sequence_for<In...>{});
  }
}

template <class F, class Out, class... In> void launch_map(void* stream, const MapSpace& s) {
  const unsigned blocks = (s.items + kMapThreads - 1) / kMapThreads;
  const dim3 grid(std::min(blocks, unsigned(kMapBlocks))), block(kMapThreads);
  if (s.chunks) {
    FLAM_LAUNCH((map_chunks_kernel<F, Out, In...>), grid, block, 0, stream, s);
  } else {
    FLAM_LAUNCH((map_elements_kernel<F, Out, In...>), grid, block, 0, stream, s);
  }
}

// Copies within a type are of words, NaNs as they are, and one kernel serves all of a size.
template <class F, class Out, class... In> void map_entry(void* stream, const void* p) {
  if constexpr (requires { typename F::Copies; } && (std::is_same_v<Out, In> && ...) &&
                !std::is_same_v<Out, WordOf<sizeof(Out)>>) {
    return map_entry<F, WordOf<sizeof(Out)>, WordOf<sizeof(In)>...>(stream, p);
  } else {
    static constexpr MapWidths widths{kChunkOf<Out, In...>, {sizeof(Out), sizeof(In)...}};
    launch_map_parts(*static_cast<const MapArgs*>(p), widths, stream, &launch_map<F, Out, In...>);
  }
}

}  // namespace flambeau::FLAM_TARGET
