// The sigmoid of doubles on vectors: at most 1.1 ULP (tests/ops/test_precision.py). Its quotient
// is made of e = exp(-|x|) <= 1, so that sums lose nothing that is not known; exp by eighths of a
// power of two, which one permutation picks, and a minimax polynomial of what is left; no division.
#pragma once
#include "kernels/map/several.h"
#include "kernels/math.h"

namespace flambeau::FLAM_TARGET {

#if FLAM_ISA_RANK == 2

struct SigmoidOnWideLanes {
  template <int N> using Doubles = Several<double, N>;

  FLAM_FN uint32_t usual(Vector<double> x) const { return at_least(x, kLeast); }

  template <int N> FLAM_FN Doubles<N> operator()(const Doubles<N>& x) const {
    const auto [e, lost] = power(x);
    const auto sum = e + 1.0, left = (e - (sum - 1.0)) + lost;
    const auto rough = rough_inverse(sum);
    const auto inverse = fused(rough, fused_less(rough, sum, 1.0), rough);  // to 2^-28
    // (numerator + loss) / (sum + left), by its remainder to twice as many digits.
    const auto numerator = where_negative(x, e, 1.0), loss = where_negative(x, lost, 0.0);
    const auto q = numerator * inverse;
    const auto rest = fused_less(q, left, fused_less(q, sum, numerator) + loss);
    return fused(rest, inverse, q);
  }

 private:
  static constexpr double kLeast = -704;  // below, what exp(x) lost has fewer digits

  template <int N> struct Power {
    Doubles<N> value, lost;
  };
  // exp(-|x|).
  template <int N> FLAM_FN static Power<N> power(const Doubles<N>& x) {
    constexpr double round = basic::kRound<double>;
    const auto n = each(
        [](auto a, auto b) __attribute__((always_inline)) {
          return _mm512_range_pd(a, b, 0b1110);  // the lesser size, with the sign
        },
        x, kLeast);
    const auto shifted = fused(n, 0x1.71547652b82fep+3, round), k = shifted - round;
    const auto r = fused(k, -0x1.abc9e3b39803fp-59, fused(k, -0x1.62e42fefa39efp-4, n));
    const auto tail = series(r, 0x1.000000000010bp-1, 0x1.5555555555132p-3, 0x1.555555481020fp-5,
                             0x1.11111125d23fdp-7, 0x1.6c1cbd3035852p-10, 0x1.a0163b6451e86p-13);
    const auto rest = fused(r * r, tail, r), unit = eighths(shifted);
    const auto value = fused(unit, rest, unit);
    return {value, fused(unit, rest, unit - value)};
  }

  // 2^(k / 8) of k + 1.5 2^52: the table less what the lowest three bits of k add to its words.
  template <int N> FLAM_FN static Doubles<N> eighths(const Doubles<N>& shifted) {
    alignas(64) static constexpr uint64_t kTable[8] = {
        0x3ff0000000000000, 0x3fef72b83c7d517b, 0x3fef06fe0a31b715, 0x3feebfdad5362a27,
        0x3feea09e667f3bcd, 0x3feeace5422aa0db, 0x3feee89f995ad3ad, 0x3fef5818dcfba487};
    return each(
        [](auto x) __attribute__((always_inline)) {
          const auto picked =
              _mm512_maskz_permutexvar_epi64(0xff, (__m512i)x, _mm512_load_si512(kTable));
          return (Vector<double>)((Vector<uint64_t>)picked + ((Vector<uint64_t>)x << 49));
        },
        shifted);
  }

  template <int N>
  FLAM_FN static Doubles<N> where_negative(const Doubles<N>& x, const Doubles<N>& yes, double no) {
    return each(
        [](auto a, auto y, auto n) __attribute__((always_inline)) {
          return _mm512_mask_mov_pd(n, _mm512_movepi64_mask((__m512i)a), y);
        },
        x, yes, no);
  }
};

#else

struct SigmoidOnWideLanes;  // named only

#endif

}  // namespace flambeau::FLAM_TARGET
