// Sums by bands on the host along one line, several elements of the result at once: the elements of
// the input that a register of them begins with lie within two registers mostly, from which a
// permutation takes them, and those of the next tap lie one further. And sums of whole lines.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/gemm/gemm_vector.h"
#include "kernels/resample/resample_value.h"

namespace flambeau::FLAM_TARGET {

// The elements first[o] to first[o] + count[o] that element o sums, with weights [o, most] or 1.
template <class C> struct Taps {
  const int64_t *first, *count;
  const C* weights;
  int64_t most;
  C weight(int64_t o, int64_t k) const { return weights ? weights[o * most + k] : C(1); }
};

// -0 + x is x, also for x = -0.
template <class C> FLAM_FN Vector<C> nothing() { return splat(C(-0.0)); }

// Lines to be summed: count, each times its weight (null: 1); anywhere, or `step` from each other.
template <class C> struct ApartLines {
  const C* const* from;
  const C* weights;
  int64_t count;
  FLAM_FN const C* line(int64_t j) const { return from[j]; }
};
template <class C> struct EvenLines {
  const C* first;
  int64_t step;
  const C* weights;
  int64_t count;
  FLAM_FN const C* line(int64_t j) const { return first + j * step; }
};

template <int N, class C, class Lines>
FLAM_FN void sum_vectors(C* out, const Lines& lines, int64_t at) {
  Vector<C> sum[N];
  for (Vector<C>& s : sum) s = nothing<C>();
  for (int64_t j = 0; j < lines.count; ++j) {
    const C* from = lines.line(j) + at;
    if (lines.weights) {
      const Vector<C> weight = splat(lines.weights[j]);
#pragma GCC unroll 4
      for (int i = 0; i < N; ++i) {
        sum[i] = multiply_add<C>(load_vector(from + i * kLanes<C>), weight, sum[i]);
      }
    } else {
#pragma GCC unroll 4
      for (int i = 0; i < N; ++i) sum[i] += load_vector(from + i * kLanes<C>);
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < N; ++i) store_vector(out + at + i * kLanes<C>, sum[i]);
}

// As multiply_add does for a register: an element's bits do not tell where in a line it stands.
template <class C> FLAM_FN C chained(C a, C b, C c) {
#if FLAM_ISA_RANK > 0
  return std::fma(a, b, c);
#else
  return a * b + c;
#endif
}

template <class C, class Lines> FLAM_FN C sum_one(const Lines& lines, int64_t at) {
  C sum = C(-0.0);
  for (int64_t j = 0; j < lines.count; ++j) {
    const C x = lines.line(j)[at];
    sum = lines.weights ? chained(x, lines.weights[j], sum) : sum + x;
  }
  return sum;
}

// out[i] = the sum of from[j][i] * weights[j].
template <class C, class Lines> FLAM_FN void sum_lines(C* out, const Lines& lines, int64_t n) {
  constexpr int64_t wide = kLanes<C>;
  int64_t i = 0;
  if (lines.count == 0) return std::fill(out, out + n, C(0));
  for (; i + 4 * wide <= n; i += 4 * wide) sum_vectors<4>(out, lines, i);
  for (; i + wide <= n; i += wide) sum_vectors<1>(out, lines, i);
  if (i < n && n >= wide) return sum_vectors<1>(out, lines, n - wide);
  for (; i < n; ++i) out[i] = sum_one<C>(lines, i);
}

// What elements of a line are divided by: row * by[i]; where all divisors of a launch are powers of
// two these are their inverses, by which a product is the same number.
template <class C> struct LineDivisor {
  const C* by;
  C row;
  bool inverse;

  void divide(C* line, int64_t n, int64_t pixel) const {
    if (pixel == 1) return inverse ? apply<true, false>(line, n) : apply<false, false>(line, n);
    for (int64_t w = 0; w < n; ++w) {
      const LineDivisor one{by + w, row, inverse};
      inverse ? one.template apply<true, true>(line + w * pixel, pixel)
              : one.template apply<false, true>(line + w * pixel, pixel);
    }
  }

 private:
  template <bool Inverse, bool Same> void apply(C* line, int64_t n) const {
    const C* __restrict divisor = by, common = row * *by;
    C* __restrict to = line;
    for (int64_t i = 0; i < n; ++i) {
      const C d = Same ? common : row * divisor[i];
      to[i] = Inverse ? to[i] * d : to[i] / d;
    }
  }
};

template <class C> struct Divisors {
  std::vector<C> at[kConvDims];
  bool inverse;
  LineDivisor<C> line(int64_t d, int64_t h) const {
    return {at[2].data(), at[0][size_t(d)] * at[1][size_t(h)], inverse};
  }
};

// n elements, dense and in the type that is computed in.
template <class C, class T> void widen(C* to, const T* from, int64_t step, int64_t n) {
  int64_t i = 0;
  if constexpr (!std::is_integral_v<T>) {
    for (; step == 1 && i + kLanes<C> <= n; i += kLanes<C>) {
      store_vector<C>(to + i, load_as(from + i));
    }
  } else if (step == 1) {
    for (; i < n; ++i) to[i] = C(from[i]);
  }
  for (; i < n; ++i) to[i] = C(load(from + i * step));
}

template <class C, class T> void narrow_line(T* to, const C* from, int64_t step, int64_t n) {
  if (step == 1) {
    for (int64_t i = 0; i < n; ++i) to[i] = resampled<T>(from[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) to[i * step] = resampled<T>(from[i]);
  }
}

// A line of `out` pixels; an element of the input and the next one of its channel are `pixel`
// apart.
template <class C> class BandAlong {
 public:
  BandAlong(const Taps<C>& taps, int64_t out, int64_t pixel)
      : taps_(taps), out_(out), pixel_(pixel), size_(out * pixel), most_(taps.most) {
    if (!by_pixel()) plan();
  }

  // Tables of every tap would not fit where windows are wide.
  bool by_pixel() const { return pixel_ >= kWide || most_ > 64; }

  // Elements behind the input's line that are read, whatever they are.
  int64_t overrun() const { return by_pixel() ? 0 : most_ * pixel_ + 2 * kWide; }

  void run(C* out, const C* from) const {
    if (by_pixel()) return pixels(out, from);
    for (size_t b = 0; b < blocks_.size(); ++b) {
      const int64_t at = int64_t(b) * kWide, n = std::min(kWide, size_ - at);
      const Vector<C> sum = block(blocks_[b], from, at);
      n == kWide ? store_vector(out + at, sum) : store_part(out + at, sum, int(n));
    }
  }

 private:
  static constexpr int64_t kWide = kLanes<C>;
  using Lane = std::conditional_t<sizeof(C) == 8, int64_t, int32_t>;
  using Lanes = Vector<Lane>;
  struct Block {
    int64_t base;
    int8_t registers;  // that hold the first taps; 0: they lie too far apart
    bool whole;        // all elements have all taps
  };

  void plan() {
    const int64_t blocks = (size_ + kWide - 1) / kWide;
    padded_ = blocks * kWide;
    lane_.resize(size_t(padded_));
    live_.resize(size_t(padded_ * most_));
    if (taps_.weights) weight_.resize(live_.size());
    first_.resize(size_t(padded_));
    for (int64_t e = 0; e < padded_; ++e) {
      const int64_t o = std::min(e, size_ - 1) / pixel_, count = taps_.count[o];
      // One without taps has its neighbour's place.
      first_[size_t(e)] = count == 0 ? first_[size_t(std::max<int64_t>(e - 1, 0))]
                                     : taps_.first[o] * pixel_ + std::min(e, size_ - 1) % pixel_;
      for (int64_t k = 0; k < count; ++k) {
        live_[size_t(k * padded_ + e)] = -1;
        if (taps_.weights) weight_[size_t(k * padded_ + e)] = taps_.weight(o, k);
      }
    }
    for (int64_t at = 0; at < padded_; at += kWide)
      blocks_.push_back(block_of(&first_[size_t(at)], at));
  }

  Block block_of(const int64_t* first, int64_t at) {
    const auto [low, high] = std::minmax_element(first, first + kWide);
    const int64_t reach = *high - *low;
    Block b{*low, int8_t(reach < kWide ? 1 : reach < 2 * kWide ? 2 : 0), true};
    if (FLAM_ISA_RANK == 0) b.registers = 0;  // it cannot permute by numbers in a register
    for (int64_t e = 0; e < kWide; ++e) {
      lane_[size_t(at + e)] = Lane(first[e] - b.base);
      b.whole &= live_[size_t((most_ - 1) * padded_ + at + e)] != 0;
    }
    return b;
  }

  Vector<C> block(const Block& b, const C* from, int64_t at) const {
    if (b.registers == 0)
      return taps_.weights ? sum<0, true>(b, from, at) : sum<0, false>(b, from, at);
    if (b.registers == 1)
      return taps_.weights ? sum<1, true>(b, from, at) : sum<1, false>(b, from, at);
    return taps_.weights ? sum<2, true>(b, from, at) : sum<2, false>(b, from, at);
  }

  template <int Registers, bool Weighted>
  Vector<C> sum(const Block& b, const C* from, int64_t at) const {
    const Lanes lane = load_vector(&lane_[size_t(at)]);
    from += b.base;
    const int64_t first = at;
    Vector<C> sum = nothing<C>();
    for (int64_t k = 0; k < most_; ++k, from += pixel_, at += padded_) {
      Vector<C> v;
      if constexpr (Registers == 0) {
#pragma GCC unroll 16
        for (int e = 0; e < kWide; ++e) v[e] = from[lane_[size_t(first + e)]];
      } else if constexpr (Registers == 1) {
        v = __builtin_shuffle(load_vector(from), lane);
      } else {
        v = __builtin_shuffle(load_vector(from), load_vector(from + kWide), lane);
      }
      if (!b.whole) v = (Vector<C>)((Lanes)v & load_vector(&live_[size_t(at)]));
      if constexpr (Weighted) {
        sum = multiply_add<C>(v, load_vector(&weight_[size_t(at)]), sum);
      } else {
        sum += v;
      }
    }
    return sum;
  }

  void pixels(C* out, const C* from) const {
    for (int64_t o = 0; o < out_; ++o) {
      const C* weights = taps_.weights ? taps_.weights + o * most_ : nullptr;
      const EvenLines<C> lines{from + taps_.first[o] * pixel_, pixel_, weights, taps_.count[o]};
      sum_lines(out + o * pixel_, lines, pixel_);
    }
  }

  const Taps<C> taps_;
  const int64_t out_, pixel_, size_, most_;
  int64_t padded_ = 0;
  std::vector<Block> blocks_;
  std::vector<int64_t> first_;
  std::vector<Lane> lane_, live_;  // live: all bits of a tap that exists, else none
  std::vector<C> weight_;
};

}  // namespace flambeau::FLAM_TARGET
