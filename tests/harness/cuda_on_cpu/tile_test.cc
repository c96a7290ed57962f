// The tile shim over the emulated instructions: every element of every fragment where the PTX
// manual has it, the body without matrix units, asynchronous copies that happen when they are
// waited for, and layouts of shared memory without conflicts of banks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/cuda_launch.h"
#include "kernels/tile/copy_async.h"
#include "kernels/tile/load_matrix.h"
#include "kernels/tile/mma.h"
#include "kernels/tile/narrow_pair.h"
#include "kernels/tile/swizzle.h"

namespace flambeau::FLAM_TARGET {
namespace {

struct Place {
  int row, column;
};

// Of element i of a lane, as the manual says it for each shape: group is lane / 4, t is lane % 4.
template <class T> struct Manual;
template <> struct Manual<Half> {  // m16n8k16, f16 and bf16
  static constexpr int kA = 8, kB = 4;
  static Place a(int group, int t, int i) {
    return {i < 2 || (i >= 4 && i < 6) ? group : group + 8,
            i < 4 ? t * 2 + (i & 1) : t * 2 + (i & 1) + 8};
  }
  static Place b(int group, int t, int i) {
    return {i < 2 ? t * 2 + (i & 1) : t * 2 + (i & 1) + 8, group};
  }
};
template <> struct Manual<BFloat16> : Manual<Half> {};
template <> struct Manual<float> {  // m16n8k8, tf32
  static constexpr int kA = 4, kB = 2;
  static Place a(int group, int t, int i) {
    return {i == 0 || i == 2 ? group : group + 8, i < 2 ? t : t + 4};
  }
  static Place b(int group, int t, int i) { return {i == 0 ? t : t + 4, group}; }
};
template <> struct Manual<double> {  // m8n8k4 for rows 0-7, another for 8-15
  static constexpr int kA = 2, kB = 1;
  static Place a(int group, int t, int i) { return {group + 8 * i, t}; }
  static Place b(int group, int t, int) { return {t, group}; }
};
Place sum_place(int group, int t, int i) { return {i < 2 ? group : group + 8, t * 2 + (i & 1)}; }

template <class T, class Fragment> void set(Fragment& f, int i, double v) {
  if constexpr (std::is_same_v<T, double>) {
    f.r[i] = v;
  } else if constexpr (std::is_same_v<T, float>) {
    f.r[i] = to_tf32(float(v));
  } else {
    f.r[i / 2] = (f.r[i / 2] & ~(0xffffu << i % 2 * 16)) | uint32_t(T(float(v)).bits) << i % 2 * 16;
  }
}

template <class T, bool kPlain>
__global__ void multiply_kernel(const double* a, const double* b, double* c) {
  constexpr int kDepth = FragmentA<T>::kDepth;
  using M = Manual<T>;
  const int group = int(threadIdx.x) / 4, t = int(threadIdx.x) % 4;
  FragmentA<T> x{};
  FragmentB<T> y{};
  FragmentSum<T> sum;
  for (int i = 0; i < M::kA; ++i) {
    const Place p = M::a(group, t, i);
    set<T>(x, i, a[p.row * kDepth + p.column]);
  }
  for (int i = 0; i < M::kB; ++i) {
    const Place p = M::b(group, t, i);
    set<T>(y, i, b[p.row * 8 + p.column]);
  }
  for (int i = 0; i < 4; ++i) {
    const Place p = sum_place(group, t, i);
    sum.v[i] = static_cast<typename FragmentTraits<T>::Sum>(c[p.row * 8 + p.column]);
  }
  kPlain ? multiply_plain(sum, x, y) : multiply(sum, x, y);
  for (int i = 0; i < 4; ++i) {
    const Place p = sum_place(group, t, i);
    EXPECT_EQ(p.row, sum_row(int(threadIdx.x), i));
    EXPECT_EQ(p.column, sum_column(int(threadIdx.x), i));
    c[p.row * 8 + p.column] = sum.v[i];
  }
}

// Entry by entry: one element of A is not 0, so that a lane which takes another's is seen.
template <class T, bool kPlain> void check_products() {
  constexpr int kDepth = FragmentA<T>::kDepth;
  std::vector<double> b(kDepth * 8);
  for (size_t i = 0; i < b.size(); ++i) b[i] = double(i + 1);
  for (int at = 0; at < 16 * kDepth; ++at) {
    std::vector<double> a(16 * kDepth), c(16 * 8);
    a[size_t(at)] = 2;
    for (size_t i = 0; i < c.size(); ++i) c[i] = double(i);
    FLAM_LAUNCH((multiply_kernel<T, kPlain>), dim3(1), dim3(32), 0, nullptr, a.data(), b.data(),
                c.data());
    for (int r = 0; r < 16; ++r) {
      for (int q = 0; q < 8; ++q) {
        const double product = r == at / kDepth ? 2 * b[size_t(at % kDepth * 8 + q)] : 0;
        ASSERT_EQ(c[size_t(r * 8 + q)], r * 8 + q + product) << at << " " << r << " " << q;
      }
    }
  }
}

TEST(Tile, F16Product) { check_products<Half, false>(); }
TEST(Tile, BF16Product) { check_products<BFloat16, false>(); }
TEST(Tile, TF32Product) { check_products<float, false>(); }
TEST(Tile, F64Product) { check_products<double, false>(); }
TEST(Tile, F16ProductWithoutUnits) { check_products<Half, true>(); }
TEST(Tile, BF16ProductWithoutUnits) { check_products<BFloat16, true>(); }
TEST(Tile, F32ProductWithoutUnits) { check_products<float, true>(); }
TEST(Tile, F64ProductWithoutUnits) { check_products<double, true>(); }

std::string error_of(void (*run)()) {
  try {
    run();
  } catch (const cuda_on_cpu::KernelError& e) {
    return e.what();
  }
  return "none";
}

__global__ void rough_kernel() {
  FragmentA<float> a{};
  a.r[0] = bits_as<uint32_t>(1.0001f);
  FragmentSum<float> d{};
  multiply(d, a, FragmentB<float>{});
}

TEST(Tile, OperandsOfTF32AreRoundedBefore) {
  const std::string e = error_of([] { FLAM_LAUNCH(rough_kernel, dim3(1), dim3(32), 0, nullptr); });
  EXPECT_NE(e.find("not tf32"), std::string::npos) << e;
  EXPECT_EQ(to_tf32(1.0f), bits_as<uint32_t>(1.0f));
  EXPECT_EQ(to_tf32(1.0f + 0x1p-11f),
            bits_as<uint32_t>(1.0f + 0x1p-10f));  // a tie goes away from 0
  EXPECT_EQ(to_tf32(-1.0f - 0x1p-12f), bits_as<uint32_t>(-1.0f));
  EXPECT_EQ(to_tf32(std::numeric_limits<float>::infinity()), 0x7f800000u);
  EXPECT_TRUE(std::isnan(bits_as<float>(to_tf32(std::nanf("")))));
}

TEST(Tile, PairsAreRoundedOnceAndLowFirst) {
  EXPECT_EQ(narrow_pair<Half>(1.0f, 2.0f), 0x40003c00u);
  EXPECT_EQ(narrow_pair<BFloat16>(1.0f, 2.0f), 0x40003f80u);
}

template <bool kTurned> __global__ void matrix_kernel(uint32_t* out) {
  __shared__ __align__(16) uint16_t s[32 * 8];
  for (int i = int(threadIdx.x); i < 32 * 8; i += 32) s[i] = uint16_t(i);
  __syncwarp();
  uint32_t r[4];
  load_matrices<kTurned>(r, s + threadIdx.x * 8);
  for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = r[i];
}

TEST(Tile, MatricesOfSharedMemory) {
  std::vector<uint32_t> plain(128), turned(128);
  FLAM_LAUNCH(matrix_kernel<false>, dim3(1), dim3(32), 0, nullptr, plain.data());
  FLAM_LAUNCH(matrix_kernel<true>, dim3(1), dim3(32), 0, nullptr, turned.data());
  for (uint32_t lane = 0; lane < 32; ++lane) {
    for (uint32_t i = 0; i < 4; ++i) {
      const uint32_t first = i * 64, group = lane / 4, pair = lane % 4 * 2;
      EXPECT_EQ(plain[lane * 4 + i], (first + group * 8 + pair) | (first + group * 8 + pair + 1)
                                                                      << 16);
      EXPECT_EQ(turned[lane * 4 + i], (first + pair * 8 + group) | (first + (pair + 1) * 8 + group)
                                                                       << 16);
    }
  }
}

__global__ void misaligned_kernel() {
  __shared__ __align__(16) uint16_t s[32 * 8 + 8];
  uint32_t r[4];
  load_matrices<false>(r, s + threadIdx.x * 8 + 1);
}

TEST(Tile, MisalignedRowsAreRefused) {
  const std::string e =
      error_of([] { FLAM_LAUNCH(misaligned_kernel, dim3(1), dim3(32), 0, nullptr); });
  EXPECT_NE(e.find("not aligned to 16 bytes"), std::string::npos) << e;
}

// What each of two copies has left at its destination, before and after it is waited for.
__global__ void copy_kernel(const uint32_t* from, uint32_t* out) {
  __shared__ __align__(16) uint32_t s[2][32 * 4];
  const int mine = int(threadIdx.x) * 4;
  copy_async(s[0] + mine, from + mine, int(threadIdx.x) % 17);
  commit_copies();
  copy_async(s[1] + mine, from + mine, 16);
  commit_copies();
  for (int i = 0; i < 4; ++i) out[mine + i] = s[0][mine + i];
  wait_copies<1>();
  for (int i = 0; i < 4; ++i) out[128 + mine + i] = s[0][mine + i];
  for (int i = 0; i < 4; ++i) out[256 + mine + i] = s[1][mine + i];
  wait_copies<0>();
  for (int i = 0; i < 4; ++i) out[384 + mine + i] = s[1][mine + i];
}

TEST(Tile, CopiesHappenWhenTheyAreWaitedFor) {
  std::vector<uint32_t> from(128 + 4), out(512);
  uint32_t* aligned = from.data();
  while (reinterpret_cast<uintptr_t>(aligned) % 16) ++aligned;
  for (uint32_t i = 0; i < 128; ++i) aligned[i] = 0x01020304u * (i % 50 + 1);
  FLAM_LAUNCH(copy_kernel, dim3(1), dim3(32), 0, nullptr, aligned, out.data());
  for (uint32_t i = 0; i < 128; ++i) {
    const int bytes = std::clamp(int(i / 4 % 17) - int(i % 4 * 4), 0, 4);
    const uint32_t kept = bytes == 4 ? ~0u : (1u << 8 * bytes) - 1;
    EXPECT_EQ(out[i], ~0u);
    EXPECT_EQ(out[128 + i], aligned[i] & kept) << i;
    EXPECT_EQ(out[256 + i], ~0u);
    EXPECT_EQ(out[384 + i], aligned[i]);
  }
}

// Conflicts of a kernel's accesses.
template <class... P> cuda_on_cpu::BankCounts banks_of(void (*kernel)(P...)) {
  cuda_on_cpu::bank_counts = {};
  cuda_on_cpu::counting_banks = true;
  FLAM_LAUNCH(kernel, dim3(1), dim3(32), 0, nullptr);
  cuda_on_cpu::counting_banks = false;
  return cuda_on_cpu::bank_counts;
}

template <int kBytes> struct Straight {  // rows as they come
  static int offset(int row, int chunk) { return row * kBytes + chunk * 16; }
};

// Chunks stored side by side, matrices of both directions, and elements lane by lane.
template <class Layout, int kBytes> __global__ void layout_kernel() {
  __shared__ __align__(128) unsigned char s[32 * kBytes];
  const int lane = int(threadIdx.x), chunks = kBytes / 16;
  for (int i = lane; i < 32 * chunks; i += 32)
    store_shared(reinterpret_cast<uint4*>(s + Layout::offset(i / chunks, i % chunks)), uint4{});
  __syncwarp();
  uint32_t r[4];
  for (int row = 0; row < 32; row += 16) {
    for (int c = 0; c < chunks; c += 2) {
      load_matrices<false>(r, s + Layout::offset(row + lane % 16, c + lane / 16));
      load_matrices<true>(r, s + Layout::offset(row + lane % 8 + lane / 16 * 8, c + lane / 8 % 2));
    }
  }
}

template <class Layout, int kBytes> __global__ void element_kernel() {
  __shared__ __align__(128) unsigned char s[32 * kBytes];
  const int group = int(threadIdx.x) / 4, place = int(threadIdx.x) % 4;
  for (int row = 0; row < 32; row += 4) {
    for (int c = 0; c + 2 <= kBytes / 16; c += 2) {
      const unsigned char* p = s + Layout::offset(row + place, c + group / 4);
      load_shared(reinterpret_cast<const float*>(p) + group % 4);  // a column of f32
      for (int d = c; d < c + 4 && d + 4 <= kBytes / 16; d += 4) {
        const unsigned char* q = s + Layout::offset(row + place, d + group / 2);
        load_shared(reinterpret_cast<const double*>(q) + group % 2);  // a column of f64
      }
    }
  }
  for (int row = 0; row < 32; row += 8) {
    for (int c = 0; c + 2 <= kBytes / 16; c += 2) {
      const unsigned char* p = s + Layout::offset(row + group, c + place / 2);
      load_shared(reinterpret_cast<const double*>(p) + place % 2);  // a row of f64
    }
  }
}

template <int kBytes> void check_layout() {
  const auto chunks = banks_of(layout_kernel<Swizzle<kBytes>, kBytes>);
  EXPECT_GT(chunks.phases, 0u);
  EXPECT_EQ(chunks.conflicts, 0u) << kBytes;
  EXPECT_GT(banks_of(layout_kernel<Straight<kBytes>, kBytes>).conflicts, 0u) << kBytes;
  if (kBytes < 128) return;  // elements lane by lane have longer rows
  const auto elements = banks_of(element_kernel<Swizzle<kBytes>, kBytes>);
  EXPECT_GT(elements.phases, 0u);
  EXPECT_EQ(elements.conflicts, 0u) << kBytes;
  EXPECT_GT(banks_of(element_kernel<Straight<kBytes>, kBytes>).conflicts, 0u) << kBytes;
}

TEST(Tile, SwizzledRowsMeetNoBankTwice) {
  check_layout<32>();
  check_layout<64>();
  check_layout<128>();
  check_layout<256>();
  check_layout<512>();
}

}  // namespace
}  // namespace flambeau::FLAM_TARGET
