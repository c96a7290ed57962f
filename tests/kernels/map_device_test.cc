// The elementwise kernels of GPUs, executed: what they make of every alignment, width, broadcast
// and stride is what the host's make, bit for bit; they move what their operands hold and no more;
// and a launch beyond 32 bits is cut so that each element is in one part.
#include <gtest/gtest.h>

#include "emulated.h"
#include "kernels/map/map_space.h"
#include "ops/elementwise/binary.h"
#include "ops/elementwise/ternary.h"
#include "tensors.h"
#include "tests/harness/cuda_on_cpu/banks.h"
#include "tests/harness/cuda_on_cpu/traffic.h"

namespace flambeau {
namespace {

using cuda_on_cpu::Traffic;

struct Counted {
  Counted() {
    cuda_on_cpu::traffic = {};
    cuda_on_cpu::counting_traffic = true;
  }
  ~Counted() { cuda_on_cpu::counting_traffic = false; }
  const Traffic& operator*() const { return cuda_on_cpu::traffic; }
};

// Numbers that every type has, but for signs and fractions.
Tensor patterns(Dtype dtype, const Dims& sizes, int64_t first = 0) {
  const Tensor t = empty(sizes, dtype, kCpu);
  with_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < t.numel(); ++i) {
      const int64_t v = (first + i) * 40503;
      t.data_as<T>()[i] = std::is_same_v<T, bool> ? T(v % 3 == 0) : T(float(v % 101));
    }
  });
  return t;
}

std::string bytes_of(const Tensor& t) {
  return {static_cast<const char*>(t.data()), size_t(t.nbytes())};
}

Tensor from_element(const Tensor& t, int64_t first, int64_t n) {
  return alias(t, Dims{n}, Dims{1}, first);
}

constexpr Dtype kAll[] = {Dtype::f32, Dtype::f64, Dtype::f16, Dtype::bf16, Dtype::i64,
                          Dtype::i32, Dtype::i16, Dtype::i8,  Dtype::u8,   Dtype::boolean};

// out and in begin `skipped` elements after an address of 64 bytes.
void expect_cast(Dtype to, Dtype from, int64_t skipped_out, int64_t skipped_in, int64_t n) {
  const Dims around{skipped_out + n + 3};
  const Tensor in = from_element(patterns(from, Dims{skipped_in + n}), skipped_in, n),
               all = patterns(to, around, 5), want = patterns(to, around, 5);
  run_cast(from_element(want, skipped_out, n), in);
  {
    FLAM_EMULATED(emulated, kCast);
    run_cast(from_element(all, skipped_out, n), in);
  }
  ASSERT_TRUE(bytes_of(all) == bytes_of(want))
      << name_of(from) << " to " << name_of(to) << " of " << n << " from " << skipped_in << " and "
      << skipped_out;
}

TEST(MapDevice, CastsEveryWidthAtEveryAlignment) {
  for (const Dtype to : kAll) {
    for (const Dtype from : kAll) {
      for (const int64_t n : {1, 7, 16, 1003}) {
        expect_cast(to, from, 0, 0, n);
        expect_cast(to, from, 3, 3, n);
        expect_cast(to, from, 1, 0, n);
      }
    }
  }
}

// Every half there is, NaNs as half.h has them, in chunks with and without one.
template <class T> void converts_every_half() {
  constexpr int64_t kPatterns = 1 << 16;
  const Tensor halves = empty(Dims{kPatterns}, dtype_of<T>, kCpu),
               floats = empty(Dims{kPatterns}, Dtype::f32, kCpu),
               back = empty(Dims{kPatterns}, dtype_of<T>, kCpu);
  for (int64_t i = 0; i < kPatterns; ++i) halves.data_as<uint16_t>()[i] = uint16_t(i);
  FLAM_EMULATED(emulated, kCast);
  run_cast(floats, halves);
  run_cast(back, floats);
  for (int64_t i = 0; i < kPatterns; ++i) {
    const float want = float(halves.data_as<T>()[i]), got = floats.data_as<float>()[i];
    ASSERT_EQ(bits_as<uint32_t>(got), bits_as<uint32_t>(want)) << i;
    ASSERT_EQ(back.data_as<T>()[i].bits, T(want).bits) << i;
  }
  run_cast(back, halves);
  ASSERT_TRUE(bytes_of(back) == bytes_of(halves));
}
TEST(MapDevice, ConvertsEveryHalf) {
  converts_every_half<Half>();
  converts_every_half<BFloat16>();
}

struct Case {
  const char* what;
  Dims sizes, strides;
};

// Along rows of `columns`: dense, a row or a column or a number for all, every second, mirrored.
std::vector<Case> cases(int64_t rows, int64_t columns) {
  const Dims sizes{3, rows, columns};
  const int64_t all = rows * columns;
  return {{"dense", sizes, {all, columns, 1}},
          {"a row for all", sizes, {0, 0, 1}},
          {"a number a row", sizes, {rows, 1, 0}},
          {"a plane for all", sizes, {0, columns, 1}},
          {"one number", sizes, {0, 0, 0}},
          {"turned", sizes, {all, 1, rows}},
          {"every second", sizes, {2 * all, 2 * columns, 2}},
          {"wider rows", sizes, {2 * all, 2 * columns, 1}},
          {"mirrored", sizes, {all, columns, -1}}};
}

Tensor view(const Tensor& t, const Case& c) {
  const int64_t last = c.strides[2] < 0 ? c.sizes[2] - 1 : 0;
  return alias(t, c.sizes, c.strides, last);
}

TEST(MapDevice, AddsOperandsOfEveryStride) {
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16, Dtype::f16, Dtype::f64, Dtype::u8}) {
    for (const auto& [rows, columns] : {std::pair{5, 7}, {4, 16}, {9, 32}}) {
      const Tensor x = patterns(dtype, Dims{6, rows, columns}),
                   y = patterns(dtype, Dims{6, rows, columns}, 99);
      for (const Case& a : cases(rows, columns)) {
        for (const Case& b : cases(rows, columns)) {
          const Tensor left = view(x, a), right = view(y, b);
          const Tensor* in[] = {&left, &right};
          const Tensor want = empty(a.sizes, dtype, kCpu), got = empty(a.sizes, dtype, kCpu);
          run_map("mul", kMul, dtype, want, in, {});
          {
            FLAM_EMULATED(emulated, kMul);
            run_map("mul", kMul, dtype, got, in, {});
          }
          ASSERT_TRUE(bytes_of(got) == bytes_of(want))
              << name_of(dtype) << " " << columns << ": " << a.what << " by " << b.what;
        }
      }
    }
  }
}

TEST(MapDevice, ChoosesByAMaskThatRowsShare) {
  for (const Dtype dtype : kAll) {
    const Dims sizes{6, 32};
    const Tensor mask = patterns(Dtype::boolean, Dims{32}), a = patterns(dtype, sizes),
                 b = patterns(dtype, Dims{6, 1}, 7);
    const Tensor* in[] = {&mask, &a, &b};
    const Tensor want = empty(sizes, dtype, kCpu), got = empty(sizes, dtype, kCpu);
    run_map("where", kWhere, dtype, want, in, {});
    FLAM_EMULATED(emulated, kWhere);
    run_map("where", kWhere, dtype, got, in, {});
    ASSERT_TRUE(bytes_of(got) == bytes_of(want)) << name_of(dtype);
  }
}

// ---- what moves ----

// Of an addition: all that both operands and the result hold, and not a twentieth more; each access
// of 16 bytes.
TEST(MapDevice, MovesWhatOperandsHold) {
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16, Dtype::f16, Dtype::f64, Dtype::u8}) {
    const Dims sizes{64, 256};
    const Tensor x = patterns(dtype, sizes), y = patterns(dtype, sizes),
                 row = patterns(dtype, Dims{256}), number = patterns(dtype, Dims{}),
                 out = empty(sizes, dtype, kCpu);
    FLAM_EMULATED(emulated, kAdd);
    for (const Tensor* other : {&y, &row, &number}) {
      const Counted count;
      const Tensor* in[] = {&x, other};
      run_map("add", kAdd, dtype, out, in, {});
      const auto held = double(x.nbytes() + other->nbytes() + out.nbytes());
      EXPECT_LE(double((*count).moved()), 1.05 * held + 64) << name_of(dtype);
      EXPECT_LE(double((*count).asked), 1.05 * 3 * double(out.nbytes())) << name_of(dtype);
      EXPECT_EQ((*count).launches, 1u);
      EXPECT_EQ((*count).accesses, uint64_t(3 * out.nbytes() / 16)) << name_of(dtype);
    }
  }
}

// Where widths differ the widest has 16 bytes, and neighbouring threads leave no gap.
TEST(MapDevice, CastsMoveWhatOperandsHold) {
  for (const auto& [to, from] : {std::pair{Dtype::bf16, Dtype::f32},
                                 {Dtype::f32, Dtype::bf16},
                                 {Dtype::f64, Dtype::u8},
                                 {Dtype::boolean, Dtype::i64}}) {
    const Dims sizes{1 << 14};
    const Tensor in = patterns(from, sizes), out = empty(sizes, to, kCpu);
    const auto held = uint64_t(in.nbytes() + out.nbytes());
    FLAM_EMULATED(emulated, kCast);
    const Counted count;
    run_cast(out, in);
    EXPECT_EQ((*count).moved(), held);
    EXPECT_EQ((*count).asked, held);
  }
}

// ---- transposed copies ----

struct Turned {
  Dims sizes;  // of the output, which is dense
  Dims order;  // of the input's dimensions, from the outermost in memory
};

Tensor turned_input(Dtype dtype, const Turned& t) {
  const Tensor all = patterns(dtype, t.sizes);
  Dims strides(t.sizes);
  int64_t step = 1;
  for (size_t i = t.order.size(); i-- > 0;) {
    strides[size_t(t.order[i])] = step;
    step *= t.sizes[size_t(t.order[i])];
  }
  return alias(all, t.sizes, strides, 0);
}

TEST(MapDevice, TurnsTilesOfEveryWidth) {
  const Turned all[] = {{Dims{128, 256}, Dims{1, 0}},     {Dims{130, 67}, Dims{1, 0}},
                        {Dims{16, 16}, Dims{1, 0}},       {Dims{3, 17, 5, 40}, Dims{2, 3, 0, 1}},
                        {Dims{2, 48, 32}, Dims{0, 2, 1}}, {Dims{64, 2, 64}, Dims{2, 1, 0}},
                        {Dims{300, 20}, Dims{1, 0}},      {Dims{20, 300}, Dims{1, 0}}};
  for (const Dtype dtype : {Dtype::u8, Dtype::bf16, Dtype::f32, Dtype::f64}) {
    for (const Turned& t : all) {
      const Tensor in = turned_input(dtype, t), want = empty(t.sizes, dtype, kCpu),
                   got = empty(t.sizes, dtype, kCpu);
      run_cast(want, in);
      FLAM_EMULATED(emulated, kCast);
      run_cast(got, in);
      ASSERT_TRUE(bytes_of(got) == bytes_of(want)) << name_of(dtype) << " " << t.sizes[0];
    }
  }
}

// Each line once on either side, by 16 bytes, and no bank of shared memory twice.
TEST(MapDevice, TurnsWithoutAGapOrAConflict) {
  for (const Dtype dtype : {Dtype::u8, Dtype::bf16, Dtype::f32, Dtype::f64}) {
    const Turned t{Dims{2, 256, 256}, Dims{0, 2, 1}};
    const Tensor in = turned_input(dtype, t), out = empty(t.sizes, dtype, kCpu);
    FLAM_EMULATED(emulated, kCast);
    cuda_on_cpu::bank_counts = {};
    cuda_on_cpu::counting_banks = true;
    {
      const Counted count;
      run_cast(out, in);
      EXPECT_EQ((*count).asked, uint64_t(2 * out.nbytes())) << name_of(dtype);
      EXPECT_EQ((*count).accesses, uint64_t(2 * out.nbytes() / 16)) << name_of(dtype);
    }
    cuda_on_cpu::counting_banks = false;
    EXPECT_GT(cuda_on_cpu::bank_counts.phases, 0u);
    EXPECT_EQ(cuda_on_cpu::bank_counts.conflicts, 0u) << name_of(dtype);
  }
}

// ---- launches that 32 bits do not hold ----

std::vector<MapSpace> g_parts;
void keep(void*, const MapSpace& part) { g_parts.push_back(part); }

MapArgs huge(std::initializer_list<int64_t> sizes, std::initializer_list<int64_t> strides) {
  MapArgs a{};
  a.ndim = int32_t(sizes.size());
  a.operands = 2;
  a.numel = 1;
  for (int64_t n : sizes) a.numel *= n;
  std::copy(sizes.begin(), sizes.end(), a.size);
  std::copy(strides.begin(), strides.end(), a.stride[0]);
  std::copy(strides.begin(), strides.end(), a.stride[1]);
  a.data[0] = reinterpret_cast<char*>(uintptr_t{1} << 40);
  a.data[1] = reinterpret_cast<char*>(uintptr_t{1} << 42);
  return a;
}

TEST(MapDevice, CutsWhatGoesBeyond32Bits) {
  const MapWidths widths{4, {4, 4}};
  g_parts.clear();
  launch_map_parts(huge({(int64_t{1} << 32) + 6}, {4}), widths, nullptr, keep);
  int64_t elements = 0;
  char* next = reinterpret_cast<char*>(uintptr_t{1} << 42);
  for (const MapSpace& part : g_parts) {
    EXPECT_EQ(part.data[1], next);
    const int64_t n = int64_t(part.chunks) * 4 + (part.items - part.chunks);
    EXPECT_GT(part.chunks, 0u);
    EXPECT_LE(n * 4, int64_t{1} << 31);
    next += n * 4;
    elements += n;
  }
  EXPECT_EQ(elements, (int64_t{1} << 32) + 6);

  g_parts.clear();  // two rows, far from each other
  launch_map_parts(huge({2, 64}, {int64_t{1} << 33, 4}), widths, nullptr, keep);
  ASSERT_EQ(g_parts.size(), 2u);
  EXPECT_EQ(g_parts[1].data[0] - g_parts[0].data[0], int64_t{1} << 33);
  EXPECT_EQ(g_parts[0].chunks, 16u);

  g_parts.clear();
  launch_map_parts(huge({100, 64}, {256, 4}), widths, nullptr, keep);
  EXPECT_EQ(g_parts.size(), 1u);
}

}  // namespace
}  // namespace flambeau
