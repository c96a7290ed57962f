// The product of fragments without matrix units: each lane makes its own four sums, and gets rows
// of A and columns of B from the lanes that hold them by shuffles. What mma.h takes where a GPU
// lacks an instruction; a test holds it to the emulated instructions.
#pragma once
#include "kernels/tile/fragment.h"

namespace flambeau::FLAM_TARGET {

// Element e of a register, as the sums have it.
template <class T>
FLAM_FN typename FragmentTraits<T>::Sum fragment_element(typename FragmentTraits<T>::Register r,
                                                         int e) {
  if constexpr (std::is_same_v<T, double>) {
    return r;
  } else if constexpr (std::is_same_v<T, float>) {
    return bits_as<float>(r);
  } else {
    T v;
    v.bits = uint16_t(r >> 16 * e);
    return float(v);
  }
}

template <class T>
__device__ void multiply_plain(FragmentSum<T>& d, const FragmentA<T>& a, const FragmentB<T>& b) {
  using S = typename FragmentTraits<T>::Sum;
  const int lane = int(threadIdx.x) % 32, group = lane / 4, place = lane % 4;
  const unsigned all = 0xffffffffu;
#pragma unroll
  for (int h = 0; h < FragmentTraits<T>::kRegisters; ++h) {
#pragma unroll 1  // a product has many of these
    for (int j = 0; j < 4; ++j) {
      const auto top = __shfl_sync(all, a.r[2 * h], group * 4 + j),
                 low = __shfl_sync(all, a.r[2 * h + 1], group * 4 + j),
                 even = __shfl_sync(all, b.r[h], place * 8 + j),
                 odd = __shfl_sync(all, b.r[h], place * 8 + 4 + j);
      for (int e = 0; e < FragmentTraits<T>::kEach; ++e) {
        const S x = fragment_element<T>(top, e), y = fragment_element<T>(low, e),
                p = fragment_element<T>(even, e), q = fragment_element<T>(odd, e);
        d.v[0] += x * p;
        d.v[1] += x * q;
        d.v[2] += y * p;
        d.v[3] += y * q;
      }
    }
  }
}

}  // namespace flambeau::FLAM_TARGET
