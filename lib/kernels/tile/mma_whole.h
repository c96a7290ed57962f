// Products that are nearly as exact as their operands. f32 ones are taken as a tf32 number and a
// second one of what the first leaves out: three products, of which the least come first, leave an
// error of 2^-22. Half types have one product, as GPUs before 8.0 have for f32 (mma.h). And sums as
// an operand of the next product, from the registers where they are.
#pragma once
#include "kernels/tile/mma.h"
#include "kernels/tile/narrow_pair.h"

namespace flambeau::FLAM_TARGET {

template <class Fragment> struct SplitFragment {
  Fragment high, low;
};

// Infinities and NaNs are in the first alone: their rest is not finite.
template <class Fragment>
__device__ __forceinline__ SplitFragment<Fragment> split_fragment(const Fragment& f) {
  SplitFragment<Fragment> s;
#pragma unroll
  for (int i = 0; i < int(sizeof(f.r) / sizeof(f.r[0])); ++i) {
    const float whole = bits_as<float>(f.r[i]);
    s.high.r[i] = to_tf32(whole);
    const float rest = whole - bits_as<float>(s.high.r[i]);
    s.low.r[i] = rest - rest == 0 ? to_tf32(rest) : 0u;
  }
  return s;
}

// What multiply_whole takes.
template <class T>
__device__ __forceinline__ FragmentA<T> whole_operand(const FragmentA<T>& f) {
  return f;
}
template <class T>
__device__ __forceinline__ FragmentB<T> whole_operand(const FragmentB<T>& f) {
  return f;
}
#if defined(FLAM_EMU) || !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
__device__ __forceinline__ SplitFragment<FragmentA<float>> whole_operand(
    const FragmentA<float>& f) {
  return split_fragment(f);
}
__device__ __forceinline__ SplitFragment<FragmentB<float>> whole_operand(
    const FragmentB<float>& f) {
  return split_fragment(f);
}
#endif

template <class T>
__device__ __forceinline__ void multiply_whole(FragmentSum<T>& d, const FragmentA<T>& a,
                                               const FragmentB<T>& b) {
  multiply(d, a, b);
}
__device__ __forceinline__ void multiply_whole(FragmentSum<float>& d,
                                               const SplitFragment<FragmentA<float>>& a,
                                               const SplitFragment<FragmentB<float>>& b) {
  multiply(d, a.low, b.high);
  multiply(d, a.high, b.low);
  multiply(d, a.high, b.high);
}

// Which of eight columns of B is the i-th in the fragment: of f32 those that make a lane's two sums
// of a row lie four apart, where A has its elements of one row.
template <class T> FLAM_FN constexpr int whole_column(int i) {
  return sizeof(T) == 4 ? i / 2 + i % 2 * 4 : i;
}
// So, the column of element i of a lane's sums.
template <class T> FLAM_FN constexpr int whole_sum_column(int lane, int i) {
  return whole_column<T>(sum_column(lane, i));
}

// Sums of such columns, as many as A is deep from the step-th on, as A.
template <class T, int kTiles>
__device__ __forceinline__ FragmentA<T> sums_as_operand(const FragmentSum<T> (&sums)[kTiles],
                                                        int step) {
  if constexpr (sizeof(T) == 4) {
    const auto& v = sums[step].v;
    return {{bits_as<uint32_t>(v[0]), bits_as<uint32_t>(v[2]), bits_as<uint32_t>(v[1]),
             bits_as<uint32_t>(v[3])}};
  } else {
    const auto &left = sums[2 * step].v, &right = sums[2 * step + 1].v;
    return {{narrow_pair<T>(left[0], left[1]), narrow_pair<T>(left[2], left[3]),
             narrow_pair<T>(right[0], right[1]), narrow_pair<T>(right[2], right[3])}};
  }
}

}  // namespace flambeau::FLAM_TARGET
