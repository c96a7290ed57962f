// Distributions over Philox words, and elements that follow from their position. Elements come in
// tiles of 64: counter 16 * tile + k makes elements k, 16 + k, 32 + k and 48 + k of it, so that
// vectors of counters fill vectors of elements. double takes a second counter, marked by the
// position's highest bit, for its lower bits.
#include "kernels/random/random.h"

#include <algorithm>

#include "kernels/math.h"
#include "kernels/random/on_circle.h"
#include "kernels/random/philox.h"
#include "kernels/report/report_device.h"
#if defined(FLAM_DEVICE_SOURCE)
#include "kernels/map/map_chunk.h"
#else
#include "base/thread_pool.h"
#include "kernels/random/philox_across.h"
#endif

namespace flambeau::FLAM_TARGET {

inline constexpr int kTile = 64, kAcross = 16;

template <class T> inline constexpr bool kIsDouble = std::is_same_v<T, double>;

// [0, 1) with as many bits as the type holds, so that rounding never reaches 1.
template <class T> FLAM_FN Compute<T> unit(uint32_t high, uint32_t low) {
  if constexpr (kIsDouble<T>) {
    return double(int64_t((uint64_t(high) << 21) ^ (low >> 11))) * 0x1p-53;
  } else {
    constexpr int bits = std::is_same_v<T, Half> ? 11 : std::is_same_v<T, BFloat16> ? 8 : 24;
    return float(int32_t(high >> (32 - bits))) * (1.0f / float(1 << bits));
  }
}

struct Draw {
  Words high, low;  // low: only for double and wide ranges
};

// A loop over counters is a vector loop only without one inside.
template <class F> FLAM_FN void each_of_four(const F& f) {
  f(0);
  f(1);
  f(2);
  f(3);
}

template <class T> struct Uniform {
  FLAM_FN void operator()(const RandomArgs& a, const Draw& d, const T*, T* out) const {
    using V = Compute<T>;
    const V from = V(a.params[0]), width = V(a.params[1]) - from;
    each_of_four(
        [&](int j) { out[j] = narrow<T>(from + width * unit<T>(d.high.word[j], d.low.word[j])); });
  }
};

// Box and Muller: a radius and an angle make two independent normals.
template <class T> struct Normal {
  using V = std::conditional_t<kIsDouble<T>, double, float>;
  FLAM_FN void operator()(const RandomArgs& a, const Draw& d, const T*, T* out) const {
    make_two(a, d, 0, out);
    make_two(a, d, 2, out);
  }

 private:
  FLAM_FN static void make_two(const RandomArgs& a, const Draw& d, int j, T* out) {
    const V u = V(1) - unit<V>(d.high.word[j], d.low.word[j]);
    const V radius = sqrt(V(-2) * log(u)) * V(a.params[1]);
    const OnCircle<V> at = on_circle(unit<V>(d.high.word[j + 1], d.low.word[j + 1]));
    out[j] = narrow<T>(radius * at.cosine + V(a.params[0]));
    out[j + 1] = narrow<T>(radius * at.sine + V(a.params[0]));
  }
};

// Never 0, of which programs take logarithms: a draw of 1 counts as the next number below it.
template <class T> struct Exponential {
  using V = std::conditional_t<kIsDouble<T>, double, float>;
  FLAM_FN void operator()(const RandomArgs& a, const Draw& d, const T*, T* out) const {
    constexpr V least = kIsDouble<T> ? V(0x1p-53) : V(0x1p-24);
    each_of_four([&](int j) {
      const V drawn = -log(V(1) - unit<V>(d.high.word[j], d.low.word[j]));
      out[j] = narrow<T>((drawn > least ? drawn : least) / V(a.params[0]));
    });
  }
};

// Whether word / 2^32 is below p. GPUs have few units for doubles: they compare integers.
FLAM_FN bool happens(uint32_t word, double p) {
#if defined(FLAM_DEVICE_SOURCE)
  const double first = ceil(p * 0x1p32);
  return word < (first > 0 ? uint64_t(first) : 0);
#else
  return double(word) * 0x1p-32 < p;
#endif
}

template <class T> struct Bernoulli {
  FLAM_FN void operator()(const RandomArgs& a, const Draw& d, const T* in, T* out) const {
    each_of_four([&](int j) {
      const double p = a.input ? double(load(in + j)) : a.params[0];
      out[j] = narrow<T>(Compute<T>(happens(d.high.word[j], p)));
    });
  }
};

template <class T> struct Randint {
  FLAM_FN void operator()(const RandomArgs& a, const Draw& d, const T*, T* out) const {
    each_of_four([&](int j) {
      const uint64_t wide = uint64_t(d.high.word[j]) << 32 | d.low.word[j];
      const uint64_t drawn =
          a.range >> 32 ? wide % a.range : (uint64_t(d.high.word[j]) * a.range) >> 32;
      out[j] = narrow<T>(Compute<T>(int64_t(uint64_t(a.low) + drawn)));
    });
  }
};

template <class T> struct Dropout {
  static constexpr bool rounds_last = true;  // also of numbers in the type that it computes in
  FLAM_FN void operator()(const RandomArgs& a, const Draw& d, const T* in, T* out) const {
    using V = Compute<T>;
    const V scale = V(a.params[0] < 1 ? 1 / (1 - a.params[0]) : 0);
    each_of_four([&](int j) {
      const V kept = happens(d.high.word[j], a.params[0]) ? V(0) : scale;
      out[j] = narrow<T>(load(in + j) * kept);
    });
  }
};

template <template <class> class F, class T>
inline constexpr bool kTakesLow = kIsDouble<T> || std::is_same_v<F<T>, Randint<T>>;

FLAM_FN RandomState state_of(const RandomArgs& a) {
  return a.cell ? RandomState{a.cell->seed, a.cell->offset + a.state.offset} : a.state;
}

#if defined(FLAM_DEVICE_SOURCE)

// The four elements of counter `c`, from the four of the input.
template <template <class> class F, class T>
FLAM_FN void draw_four(const RandomArgs& a, RandomState s, int64_t c, const T* in, T* made) {
  Draw d{philox(s.seed, s.offset, uint64_t(c)), {}};
  if constexpr (kTakesLow<F, T>) d.low = philox(s.seed, s.offset, uint64_t(c) | uint64_t(1) << 63);
  F<T>{}(a, d, in, made);
}

// A thread has neighbouring counters, hence neighbours of each of their four elements: 16 bytes of
// what is mostly drawn, and fewer of small integers, whose code would be long.
template <class T>
inline constexpr int kNeighbours = std::min(is_floating(dtype_of<T>) ? 8 : 4, 16 / int(sizeof(T)));

template <template <class> class F, class T>
using Drawn = std::conditional_t<requires { F<T>::rounds_last; }, Compute<T>, T>;

template <class N, class T> struct FourRows {
  static constexpr int kEach = kNeighbours<T>;
  N v[4][kEach];

  __device__ __forceinline__ void load_from(const T* p, int64_t left, bool wide) {
#pragma unroll
    for (int j = 0; j < 4; ++j, p += kAcross, left -= kAcross) {
      if (wide) {
        const auto chunk = Chunk<T, kEach>::from(p);
        if constexpr (std::is_same_v<N, T>) {
#pragma unroll
          for (int k = 0; k < kEach; ++k) v[j][k] = chunk.element(k);
        } else {
          const auto values = chunk.values();
#pragma unroll
          for (int k = 0; k < kEach; ++k) v[j][k] = values.v[k];
        }
      } else {
#pragma unroll
        for (int k = 0; k < kEach; ++k)
          v[j][k] = k < left ? static_cast<N>(load_global(p + k)) : N();
      }
    }
  }
  __device__ __forceinline__ void store_to(T* p, int64_t left, bool wide) const {
#pragma unroll
    for (int j = 0; j < 4; ++j, p += kAcross, left -= kAcross) {
      Chunk<T, kEach> chunk{};
      if constexpr (std::is_same_v<N, T>) {
#pragma unroll
        for (int k = 0; k < kEach; ++k) chunk.put(k, v[j][k]);
      } else {
        chunk = Chunk<T, kEach>::rounded(v[j]);
      }
      if (wide) {
        chunk.to(p);
      } else {
#pragma unroll
        for (int k = 0; k < kEach; ++k)
          if (k < left) store_global(p + k, chunk.element(k));
      }
    }
  }
};

template <template <class> class F, class T>
__global__ void __launch_bounds__(256) random_kernel(const RandomArgs a) {
  using N = Drawn<F, T>;
  constexpr int kEach = kNeighbours<T>;
  const RandomState s = state_of(a);
  const bool aligned = (uintptr_t(a.out) | uintptr_t(a.input)) % 16 == 0;
  const int64_t threads = (a.numel + kTile - 1) / kTile * (kAcross / kEach),
                step = int64_t(gridDim.x) * blockDim.x;
  for (int64_t t = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; t < threads; t += step) {
    const int64_t c = t * kEach, first = c / kAcross * kTile + c % kAcross, left = a.numel - first;
    const bool wide = aligned && left >= 3 * kAcross + kEach;
    FourRows<N, T> in{}, made;
    if (a.input) in.load_from(reinterpret_cast<const T*>(a.input) + first, left, wide);
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
      const N given[4] = {in.v[0][k], in.v[1][k], in.v[2][k], in.v[3][k]};
      N four[4];
      draw_four<F, N>(a, s, c + k, given, four);
#pragma unroll
      for (int j = 0; j < 4; ++j) made.v[j][k] = four[j];
    }
    made.store_to(reinterpret_cast<T*>(a.out) + first, left, wide);
  }
}

template <template <class> class F, class T> void random_entry(void* stream, const void* p) {
  const RandomArgs& a = *static_cast<const RandomArgs*>(p);
  const int64_t threads = (a.numel + kTile - 1) / kTile * (kAcross / kNeighbours<T>),
                blocks = (threads + 255) / 256;
  FLAM_LAUNCH((random_kernel<F, T>), dim3(unsigned(blocks < 65535 ? blocks : 65535)), dim3(256), 0,
              stream, a);
}

template <class F, class T> __global__ void range_kernel(RangeArgs a) {
  const int64_t step = int64_t(gridDim.x) * blockDim.x;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < a.numel; i += step) {
    reinterpret_cast<T*>(a.out)[i] = F{}.template operator()<T>(a, i);
  }
}

template <class F, class T> void range_entry(void* stream, const void* p) {
  const RangeArgs& a = *static_cast<const RangeArgs*>(p);
  const int64_t blocks = (a.numel + 255) / 256;
  FLAM_LAUNCH((range_kernel<F, T>), dim3(unsigned(blocks < 65535 ? blocks : 65535)), dim3(256), 0,
              stream, a);
}

#else

// Tiles [begin, end): whole ones in buffers, of which as much is moved as exists.
template <template <class> class F, class T>
void random_tiles(const RandomArgs& a, RandomState s, int64_t begin, int64_t end) {
  T in[4][kAcross] = {}, made[4][kAcross];
  WordsAcross<kAcross> high, low{};
  for (int64_t tile = begin; tile < end; ++tile) {
    const int64_t left = a.numel - tile * kTile;
    const size_t bytes = sizeof(T) * size_t(left < kTile ? left : kTile);
    if (a.input) {
      memcpy(static_cast<void*>(in), reinterpret_cast<const T*>(a.input) + tile * kTile, bytes);
    }
    const uint64_t position = uint64_t(tile) * kAcross;
    high = philox_across<kAcross>(s.seed, s.offset, position);
    if constexpr (kTakesLow<F, T>)
      low = philox_across<kAcross>(s.seed, s.offset, position | uint64_t(1) << 63);
#pragma GCC ivdep
    for (int k = 0; k < kAcross; ++k) {
      T given[4], four[4];
      Draw d;
      for (int j = 0; j < 4; ++j) given[j] = in[j][k];
      for (int j = 0; j < 4; ++j) d.high.word[j] = high.word[j][k], d.low.word[j] = low.word[j][k];
      F<T>{}(a, d, given, four);
      for (int j = 0; j < 4; ++j) made[j][k] = four[j];
    }
    memcpy(static_cast<void*>(reinterpret_cast<T*>(a.out) + tile * kTile), made, bytes);
  }
}

template <template <class> class F, class T> void random_entry(void*, const void* p) {
  const RandomArgs a = *static_cast<const RandomArgs*>(p);
  const RandomState s = state_of(a);
  parallel_for((a.numel + kTile - 1) / kTile, 64,
               [&](int64_t begin, int64_t end) { random_tiles<F, T>(a, s, begin, end); });
}

template <class F, class T> void range_entry(void*, const void* p) {
  const RangeArgs& a = *static_cast<const RangeArgs*>(p);
  T* out = reinterpret_cast<T*>(a.out);
  parallel_for(a.numel, 16384, [&](int64_t begin, int64_t end) {
    if constexpr (requires { F{}.fill(a, out, begin, end); }) {
      F{}.fill(a, out, begin, end);
    } else {
      for (int64_t i = begin; i < end; ++i) out[i] = F{}.template operator()<T>(a, i);
    }
  });
}

#endif

// ---- elements that follow from their position ---------------------------------------------------

struct Arange {
  template <class T> FLAM_FN T operator()(const RangeArgs& a, int64_t i) const {
    if constexpr (std::is_integral_v<T>) {
      return T(a.whole[0] + i * a.whole[1]);
    } else {
      return narrow<T>(Compute<T>(a.params[0] + double(i) * a.params[1]));
    }
  }
};

struct Linspace {  // from both ends, so that both are exact
  template <class T> FLAM_FN T operator()(const RangeArgs& a, int64_t i) const {
    const double step = a.numel > 1 ? (a.params[1] - a.params[0]) / double(a.numel - 1) : 0;
    const double v = i < a.numel / 2 || a.numel == 1 ? a.params[0] + step * double(i)
                                                     : a.params[1] - step * double(a.numel - 1 - i);
    return narrow<T>(Compute<T>(v));
  }
};

struct Eye {
  template <class T> FLAM_FN T operator()(const RangeArgs& a, int64_t i) const {
    return narrow<T>(Compute<T>(i / a.whole[0] == i % a.whole[0]));
  }

#if !defined(FLAM_DEVICE_SOURCE)
  template <class T> void fill(const RangeArgs& a, T* out, int64_t begin, int64_t end) const {
    std::fill(out + begin, out + end, narrow<T>(Compute<T>(0)));
    const int64_t columns = a.whole[0], step = columns + 1;
    int64_t row = (begin + columns) / step;
    for (int64_t i = row * step; i < end && row < columns; i += step, ++row)
      out[i] = narrow<T>(Compute<T>(1));
  }
#endif
};

struct Triangle {
  template <class T> FLAM_FN T operator()(const RangeArgs& a, int64_t i) const {
    const int64_t column = i % a.whole[0], row = i / a.whole[0] % a.whole[1], above = column - row;
    const bool kept = a.params[0] != 0 ? above >= a.whole[2] : above <= a.whole[2];
    return kept ? reinterpret_cast<const T*>(a.input)[i] : narrow<T>(Compute<T>(0));
  }

#if !defined(FLAM_DEVICE_SOURCE)
  // Row by row: what is kept is a run at its beginning or at its end.
  template <class T> void fill(const RangeArgs& a, T* out, int64_t begin, int64_t end) const {
    const int64_t columns = a.whole[0], rows = a.whole[1];
    const bool upper = a.params[0] != 0;
    const int64_t shift = std::clamp(a.whole[2], -rows, columns) + !upper;
    int64_t row = begin / columns % rows;
    for (int64_t first = begin - begin % columns; first < end; first += columns) {
      const int64_t from = std::max(first, begin), to = std::min(first + columns, end);
      const int64_t turn = std::clamp(first + row + shift, from, to);
      const T* in = reinterpret_cast<const T*>(a.input);
      const int64_t kept = upper ? turn : from, left = upper ? to - turn : turn - from;
      std::copy_n(in + kept, left, out + kept);
      std::fill_n(out + (upper ? from : turn), to - from - left, narrow<T>(Compute<T>(0)));
      row = row + 1 == rows ? 0 : row + 1;
    }
  }
#endif
};

template <template <class> class F, class... T> bool register_random(Kernel& k, TypeList<T...>) {
  (k.add(kColumn, FLAM_ISA_RANK, dtype_of<T>, &random_entry<F, T>), ...);
  return true;
}
template <class F, class... T> bool register_range(Kernel& k, TypeList<T...>) {
  (k.add(kColumn, FLAM_ISA_RANK, dtype_of<T>, &range_entry<F, T>), ...);
  return true;
}

[[maybe_unused]] static const bool registered_random =
    register_random<Uniform>(kUniform, FloatTypes{}) &&
    register_random<Normal>(kNormal, FloatTypes{}) &&
    register_random<Exponential>(kExponential, FloatTypes{}) &&
    register_random<Bernoulli>(kBernoulli, AllTypes{}) &&
    register_random<Randint>(kRandint, AllTypes{}) &&
    register_random<Dropout>(kDropout, FloatTypes{}) &&
    register_range<Arange>(kArange, AllTypes{}) &&
    register_range<Linspace>(kLinspace, NumberTypes{}) && register_range<Eye>(kEye, AllTypes{}) &&
    register_range<Triangle>(kTriangle, AllTypes{});

}  // namespace flambeau::FLAM_TARGET
