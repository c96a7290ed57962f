// The elementwise loop of float around a form of a functor on eight numbers, `OnEights`, for
// processors with AVX2: a function by pieces, whose row's place is found apart (piece_rows.h). The
// form says by `usual` in which lanes it holds; the others are the functor's own, or those of a
// functor that it names by `using Others`, so that no result depends on a number's neighbours.
#pragma once
#include <array>
#include <cstring>

#include "kernels/map/map_loop.h"
#if FLAM_ISA_RANK == 1
#include <immintrin.h>
#endif

namespace flambeau::FLAM_TARGET {

#if FLAM_ISA_RANK == 1

// What the form's unusual lanes are: the functor's, or what the form names for them alone.
template <class F, class OnEights> struct OthersOf {
  using type = F;
};
template <class F, class OnEights>
  requires requires { typename OnEights::Others; }
struct OthersOf<F, OnEights> {
  using type = typename OnEights::Others;
};

// Some eights: first all their places, which the loads of rows then need not wait for.
inline constexpr int64_t kEightsAtOnce = 128;

// Of a byte's bits that are set the numbers, in order, a byte each, as one number of eight bytes.
inline constexpr auto kSetBits = [] {
  std::array<uint64_t, 256> bits{};
  for (size_t byte = 0; byte < bits.size(); ++byte) {
    for (int bit = 0, at = 0; bit < 8; ++bit) {
      if (byte >> bit & 1) bits[byte] |= uint64_t(bit) << 8 * at++;
    }
  }
  return bits;
}();

// Where among some numbers those are that the form does not hold for, rounded up to eights by the
// last one again: loops over so many end as often in the same way, which a processor foresees.
class UnusualPlaces {
 public:
  template <class OnEights>
  FLAM_FN UnusualPlaces(const OnEights& form, int64_t n, const float* in) {
    int64_t count = 0;  // a member would be read again after every place
    for (int64_t i = 0; i < n; i += 8) {
      const __m256 usual = form.usual(_mm256_loadu_ps(in + i));
      const unsigned byte = unsigned(_mm256_movemask_ps(usual)) ^ 0xff;
      const uint64_t places = kSetBits[byte] + uint64_t(i) * 0x0101010101010101u;
      memcpy(place_ + count, &places, sizeof places);
      count += __builtin_popcount(byte);
    }
    memset(place_ + count, count ? place_[count - 1] : 0, 8);
    count_ = (count + 7) / 8 * 8;
  }
  int64_t count() const { return count_; }
  int operator[](int64_t i) const { return place_[i]; }

 private:
  int64_t count_;
  uint8_t place_[kEightsAtOnce + 8];
};
static_assert(kEightsAtOnce <= 256);

// The form's own are its lanes in `usual`. The others, mostly few, are put together and computed as
// vectors: one by one each would take as long as eight, and so would eights where they are.
template <class Others, class OnEights>
__attribute__((noinline)) void unusual_eights(const Others& others, const OnEights& form, int64_t n,
                                              float* out, const float* in, const uint32_t* place) {
  const UnusualPlaces at(form, n, in);
  alignas(32) float other[kEightsAtOnce];
  for (int64_t i = 0; i < at.count(); i += 8) {
    for (int k = 0; k < 8; ++k) other[i + k] = in[at[i + k]];
  }
  // Meanwhile the numbers that were stored one by one become readable as vectors.
  for (int64_t i = 0; i < n; i += 8)
    _mm256_storeu_ps(out + i, form(_mm256_loadu_ps(in + i), place + i));
  for (int64_t i = 0; i < at.count(); i += 8) {
    for (int k = 0; k < 8; ++k) other[i + k] = others(other[i + k]);
    for (int k = 0; k < 8; ++k) out[at[i + k]] = other[i + k];
  }
}

template <class Others, class OnEights>
FLAM_FN void map_some(const Others& others, const OnEights& form, int64_t n, float* out,
                      const float* in) {
  alignas(32) uint32_t place[kEightsAtOnce];
  __m256 usual = _mm256_castsi256_ps(_mm256_set1_epi32(-1));
  for (int64_t i = 0; i < n; i += 8) {
    const __m256 x = _mm256_loadu_ps(in + i);
    usual = _mm256_and_ps(usual, form.usual(x));
    _mm256_store_si256(reinterpret_cast<__m256i*>(place + i), form.place(x));
  }
  if (_mm256_movemask_ps(usual) == 0xff) [[likely]] {
    for (int64_t i = 0; i < n; i += 8)
      _mm256_storeu_ps(out + i, form(_mm256_loadu_ps(in + i), place + i));
  } else {
    unusual_eights(others, form, n, out, in, place);
  }
}

template <class F, class OnEights>
__attribute__((noinline)) void map_eights(const double* params, int64_t n, float* out,
                                          const float* in) {
  using Others = typename OthersOf<F, OnEights>::type;
  const Others others = functor_from<Others>(params);
  const OnEights form{};
  int64_t i = 0;
  for (; i + kEightsAtOnce <= n; i += kEightsAtOnce)
    map_some(others, form, kEightsAtOnce, out + i, in + i);
  const int64_t whole = (n - i) / 8 * 8;
  map_some(others, form, whole, out + i, in + i);
  i += whole;
  if (i == n) return;
  float last[8] = {};
  memcpy(last, in + i, size_t(n - i) * sizeof(float));
  map_some(others, form, 8, last, last);
  memcpy(out + i, last, size_t(n - i) * sizeof(float));
}

template <class F, class OnEights> void eights_entry(void*, const void* p) {
  static constexpr Dtype types[] = {Dtype::f32, Dtype::f32};
  map_blocks(*static_cast<const MapArgs*>(p), types, 2,
             &map_rows<&map_eights<F, OnEights>, float, float>, false);
}

// In the place of FLAM_MAP's loop of float, after it.
template <class F, class OnEights> bool register_eights(Kernel& k) {
  k.add(kColumn, FLAM_ISA_RANK, Dtype::f32, &eights_entry<F, OnEights>);
  return true;
}

#endif

}  // namespace flambeau::FLAM_TARGET

#if FLAM_ISA_RANK == 1 && !defined(FLAM_DEVICE_SOURCE)
#define FLAM_MAP_EIGHTS(kernel, F, OnEights)                      \
  [[maybe_unused]] static const bool registered_eights_##kernel = \
      register_eights<F, OnEights>(kernel)
#else
#define FLAM_MAP_EIGHTS(kernel, F, OnEights) static_assert(true)
#endif
