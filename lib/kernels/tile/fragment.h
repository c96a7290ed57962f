// Parts of small matrices in the registers of a warp, as mma.sync has them: 16 rows of A, 8 columns
// of B, and 16 x 8 sums, a depth of kDepth at a time. A lane is the `group`-th of eight and the
// `place`-th of four. Every type has one rule: register 2 h + u of A holds rows group + 8 u,
// register h of B column group, both at the depths (4 h + place) kEach + e; the sums are in rows
// group + 8 u and columns 2 place + e. (PTX ISA, "Matrix Fragments for mma"; f64 is two of m8n8k4.)
#pragma once
#include "kernels/types.h"

namespace flambeau::FLAM_TARGET {

// The operands of f32 products are tf32 (to_tf32), those of half types two to a register.
template <class T> struct FragmentTraits {
  using Register = uint32_t;
  using Sum = float;
  static constexpr int kRegisters = 2;  // of B; A has twice as many
  static constexpr int kEach = 4 / int(sizeof(T));
};
template <> struct FragmentTraits<double> {
  using Register = double;
  using Sum = double;
  static constexpr int kRegisters = 1;
  static constexpr int kEach = 1;
};

template <class T> struct FragmentA {
  static constexpr int kRows = 16,
                       kDepth = 4 * FragmentTraits<T>::kRegisters * FragmentTraits<T>::kEach;
  typename FragmentTraits<T>::Register r[2 * FragmentTraits<T>::kRegisters];
};

template <class T> struct FragmentB {
  static constexpr int kColumns = 8, kDepth = FragmentA<T>::kDepth;
  typename FragmentTraits<T>::Register r[FragmentTraits<T>::kRegisters];
};

template <class T> struct FragmentSum {
  typename FragmentTraits<T>::Sum v[4];
};

// Where element i of a lane's sums is.
FLAM_FN constexpr int sum_row(int lane, int i) { return lane / 4 + i / 2 * 8; }
FLAM_FN constexpr int sum_column(int lane, int i) { return lane % 4 * 2 + i % 2; }

}  // namespace flambeau::FLAM_TARGET
