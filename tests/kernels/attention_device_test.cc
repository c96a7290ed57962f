// Attention on devices, emulated: values, logarithms of sums and gradients against float64, for
// heads of every padded width, edges of tiles, keys in parts, masks of every form with their
// gradients, shared heads, dropped weights, and rows that see no key; and no conflict of banks in
// its shared memory.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/attention/attention.h"
#include "kernels/random/philox.h"
#include "tests/harness/cuda_on_cpu/banks.h"
#include "tests/kernels/emulated.h"

namespace flambeau {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Case {
  int64_t batches, heads, shared, length, keys, width, value_width;
  bool causal, masked;
  double scale;
  int64_t gap;  // elements between rows: where rows are not aligned, chunks are gathered
  double dropped = 0;
  Dims mask{};  // its sizes, or [1, 1, length, keys]
};

constexpr RandomState kDrawn{7, 11};

double element(const Tensor& t, int64_t batch, int64_t head, int64_t row, int64_t column) {
  const int64_t i =
      batch * t.stride(0) + head * t.stride(1) + row * t.stride(2) + column * t.stride(3);
  return with_dtype(t.dtype(),
                    [&](auto tag) { return double(t.data_as<typename decltype(tag)::type>()[i]); });
}

Tensor operand(int64_t batches, int64_t heads, int64_t rows, int64_t columns, int64_t gap,
               Dtype dtype, unsigned seed) {
  const int64_t pitch = columns + gap;
  const Tensor t = empty_strided(Dims{batches, heads, rows, columns},
                                 Dims{heads * rows * pitch, rows * pitch, pitch, 1}, dtype, kCpu);
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  with_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* p = static_cast<T*>(t.storage()->data());
    for (size_t i = 0; i < t.storage()->bytes() / sizeof(T); ++i) p[i] = T(normal(random));
  });
  return t;
}

// A row that is hidden wholly, and others here and there.
Tensor mask_of(const Dims& sizes) {
  const Tensor t = operand(sizes[0], sizes[1], sizes[2], sizes[3], 0, Dtype::f32, 9);
  float* p = t.data_as<float>();
  for (int64_t i = 0; i < t.numel(); ++i)
    if (i / sizes[3] % sizes[2] == 1 || i % 5 == 3) p[i] = -std::numeric_limits<float>::infinity();
  return t;
}

// What float64 makes of the operands.
struct Exact {
  std::vector<double> y, logsumexp, dq, dk, dv, dmask;
};

class Attention {
 public:
  Attention(const Case& c, Dtype dtype)
      : c_(c),
        q_(operand(c.batches, c.heads, c.length, c.width, c.gap, dtype, 1)),
        k_(operand(c.batches, c.heads / c.shared, c.keys, c.width, c.gap, dtype, 2)),
        v_(operand(c.batches, c.heads / c.shared, c.keys, c.value_width, c.gap, dtype, 3)),
        y_(operand(c.batches, c.heads, c.length, c.value_width, 0, dtype, 4)),
        dy_(operand(c.batches, c.heads, c.length, c.value_width, c.gap, dtype, 5)),
        statistics_(operand(c.batches, c.heads, c.length, 2, 0, Dtype::f32, 6)) {
    if (c.masked) mask_ = mask_of(c.mask.empty() ? Dims{1, 1, c.length, c.keys} : c.mask);
    solve();
  }

  void check_forward(double tolerance) {
    run_attention("test", {y_, q_, k_, v_, mask_, statistics_}, how());
    compare("y", y_, exact_.y, tolerance);
    for (size_t i = 0; i < exact_.logsumexp.size(); ++i) {
      const float* const kept = statistics_.data_as<float>() + 2 * i;
      const double want = exact_.logsumexp[i],
                   got = kept[1] == 0 ? kInfinity : kept[0] * std::log(2.0) - std::log(kept[1]);
      ASSERT_TRUE(got == want || std::abs(got - want) < 1e-5) << i << ": " << got << ", " << want;
    }
  }

  void check_backward(double tolerance) {
    const Dtype dtype = q_.dtype();
    const Tensor dq = operand(c_.batches, c_.heads, c_.length, c_.width, 1, dtype, 7),
                 dk = operand(c_.batches, c_.heads / c_.shared, c_.keys, c_.width, 0, dtype, 8),
                 dv = operand(c_.batches, c_.heads / c_.shared, c_.keys, c_.value_width, 0, dtype,
                              9);
    const Tensor dmask = c_.masked ? mask_of(Dims(mask_.sizes())) : Tensor();
    run_attention_backward("test", {y_, q_, k_, v_, mask_, statistics_}, {dy_, dq, dk, dv, dmask},
                           how());
    if (dmask) compare("dmask", dmask, exact_.dmask, tolerance);
    compare("dq", dq, exact_.dq, tolerance);
    compare("dk", dk, exact_.dk, tolerance);
    compare("dv", dv, exact_.dv, tolerance);
  }

 private:
  AttentionHow how() const { return {c_.scale, c_.causal, c_.dropped, {kDrawn}}; }

  // What a weight is multiplied by: pairs of queries and of keys eight apart share four words.
  double kept(int64_t b, int64_t h, int64_t row, int64_t key) const {
    // One query of several heads with a head of keys in common is one head of several queries.
    const bool turned = c_.length == 1 && c_.shared > 1 && !c_.causal;
    const int64_t length = turned ? c_.shared : c_.length, at = turned ? h % c_.shared : row,
                  head = turned ? (b * c_.heads + h) / c_.shared : b * c_.heads + h;
    const auto places = [](int64_t n) { return (n + 15) / 16 * 8; };
    const auto place = [](int64_t n) { return uint64_t(n / 16 * 8 + n % 8); };
    const uint64_t wide = uint64_t(places(c_.keys)), first = uint64_t(head * places(length)) * wide;
    const Words w = philox(kDrawn.seed, kDrawn.offset, first + place(at) * wide + place(key));
    const uint32_t word = w.word[at / 8 % 2 * 2 + key / 8 % 2];
    return double(word) >= std::floor(c_.dropped * 0x1p32) ? 1 / (1 - c_.dropped) : 0;
  }

  static double* row_of(std::vector<double>& x, const Tensor& t, int64_t batch, int64_t head,
                        int64_t row) {
    return x.data() + ((batch * t.size(1) + head) * t.size(2) + row) * t.size(3);
  }

  double added(int64_t b, int64_t h, int64_t row, int64_t key) const {
    if (!c_.masked) return 0;
    return element(mask_, b % mask_.size(0), h % mask_.size(1), row % mask_.size(2),
                   key % mask_.size(3));
  }

  double* mask_slope(int64_t b, int64_t h, int64_t row) {
    return row_of(exact_.dmask, mask_, b % mask_.size(0), h % mask_.size(1), row % mask_.size(2));
  }

  void solve() {
    exact_.y.resize(size_t(y_.numel()));
    exact_.dq.resize(size_t(q_.numel()));
    exact_.dk.resize(size_t(k_.numel()));
    exact_.dv.resize(size_t(v_.numel()));
    if (c_.masked) exact_.dmask.resize(size_t(mask_.numel()));
    for (int64_t b = 0; b < c_.batches; ++b)
      for (int64_t h = 0; h < c_.heads; ++h)
        for (int64_t row = 0; row < c_.length; ++row) solve_row(b, h, row);
  }

  void solve_row(int64_t b, int64_t h, int64_t row) {
    const int64_t kv = h / c_.shared;
    std::vector<double> w(size_t(c_.keys)), slope(size_t(c_.keys));
    double top = -kInfinity, sum = 0, mean = 0;
    for (int64_t j = 0; j < c_.keys; ++j) {
      double score = 0;
      for (int64_t e = 0; e < c_.width; ++e)
        score += element(q_, b, h, row, e) * element(k_, b, kv, j, e);
      score = score * c_.scale + added(b, h, row, j);
      w[size_t(j)] = c_.causal && j > row ? -kInfinity : score;
      top = std::max(top, w[size_t(j)]);
    }
    for (double& x : w) sum += x = top == -kInfinity ? 0 : std::exp(x - top);
    exact_.logsumexp.push_back(sum == 0 ? kInfinity : top + std::log(sum));
    double* const y = row_of(exact_.y, y_, b, h, row);
    for (int64_t j = 0; j < c_.keys; ++j) {
      w[size_t(j)] /= sum == 0 ? 1 : sum;
      const double left = kept(b, h, row, j);
      for (int64_t e = 0; e < c_.value_width; ++e) {
        y[e] += w[size_t(j)] * left * element(v_, b, kv, j, e);
        slope[size_t(j)] += left * element(dy_, b, h, row, e) * element(v_, b, kv, j, e);
      }
      mean += w[size_t(j)] * slope[size_t(j)];
    }
    for (int64_t j = 0; j < c_.keys; ++j) {
      const double s = w[size_t(j)] * (slope[size_t(j)] - mean) * c_.scale;
      if (c_.masked) mask_slope(b, h, row)[j % mask_.size(3)] += s / c_.scale;
      for (int64_t e = 0; e < c_.width; ++e) {
        row_of(exact_.dq, q_, b, h, row)[e] += s * element(k_, b, kv, j, e);
        row_of(exact_.dk, k_, b, kv, j)[e] += s * element(q_, b, h, row, e);
      }
      for (int64_t e = 0; e < c_.value_width; ++e)
        row_of(exact_.dv, v_, b, kv, j)[e] +=
            w[size_t(j)] * kept(b, h, row, j) * element(dy_, b, h, row, e);
    }
  }

  // Relative to the largest element, or to 1.
  static void compare(const char* name, const Tensor& got, const std::vector<double>& want,
                      double tolerance) {
    double largest = 1;
    for (double x : want) largest = std::max(largest, std::abs(x));
    size_t i = 0;
    for (int64_t b = 0; b < got.size(0); ++b) {
      for (int64_t h = 0; h < got.size(1); ++h) {
        for (int64_t r = 0; r < got.size(2); ++r) {
          for (int64_t e = 0; e < got.size(3); ++e, ++i) {
            ASSERT_LE(std::abs(element(got, b, h, r, e) - want[i]), tolerance * largest)
                << name << " at " << b << ", " << h << ", " << r << ", " << e;
          }
        }
      }
    }
  }

  const Case c_;
  const Tensor q_, k_, v_, y_, dy_, statistics_;
  Tensor mask_;
  Exact exact_;
};

const Case kCases[] = {
    {1, 2, 1, 64, 64, 32, 32, false, false, 0.2, 0},
    {2, 2, 2, 70, 130, 64, 64, false, true, 0.1, 0},
    {1, 4, 2, 150, 150, 24, 16, true, false, 0.2, 3},
    {2, 1, 1, 67, 35, 40, 40, false, true, 0.2, 0, 0.3, {2, 1, 1, 35}},
    {1, 2, 2, 35, 34, 136, 72, false, true, 0.1, 0, 0, {1, 2, 35, 1}},
    {1, 1, 1, 8, 70, 8, 8, false, true, 0.2, 0, 0, {1, 1, 1, 1}},
    {1, 2, 2, 33, 67, 100, 32, true, false, 0.1, 0, 0.5},
    {1, 1, 1, 3, 530, 16, 24, false, true, 0.3, 0},
    {1, 6, 3, 1, 530, 24, 16, false, true, 0.3, 0, 0.4, {1, 6, 1, 530}},
    {1, 1, 1, 40, 70, 8, 8, false, true, 0.3, 0, 1},
    {1, 1, 1, 65, 33, 128, 100, true, false, -0.1, 4},
    {1, 1, 1, 33, 200, 7, 3, true, false, 0.3, 0},
    {1, 3, 3, 1, 90, 48, 64, false, false, 0.15, 0},
};

void check_cases(Dtype dtype, double tolerance) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(&c - kCases);
    Attention attention(c, dtype);
    attention.check_forward(tolerance);
    attention.check_backward(2 * tolerance);
  }
}

constexpr std::pair<Dtype, double> kTolerances[] = {
    {Dtype::f16, 1e-3}, {Dtype::bf16, 8e-3}, {Dtype::f32, 2e-6}};

TEST(AttentionOnDevices, AgreesWithFloat64) {
  FLAM_EMULATED(forward, kAttention);
  FLAM_EMULATED(backward, kAttentionBackward);
  for (const auto& [dtype, tolerance] : kTolerances) check_cases(dtype, tolerance);
}

TEST(AttentionOnDevices, WideHeads) {
  FLAM_EMULATED(forward, kAttention);
  FLAM_EMULATED(backward, kAttentionBackward);
  for (const auto& [dtype, tolerance] : kTolerances) {
    for (const Case& c : {Case{1, 1, 1, 20, 50, 256, 250, false, false, 0.06, 0},
                          Case{1, 2, 2, 35, 20, 160, 160, true, true, 0.08, 0}}) {
      Attention attention(c, dtype);
      attention.check_forward(tolerance);
      attention.check_backward(2 * tolerance);
    }
  }
}

TEST(AttentionOnDevices, MeetsNoBankTwice) {
  FLAM_EMULATED(forward, kAttention);
  FLAM_EMULATED(backward, kAttentionBackward);
  for (Dtype dtype : {Dtype::f16, Dtype::f32}) {
    for (int64_t width : {32, 64, 128, 256}) {
      cuda_on_cpu::bank_counts = {};
      cuda_on_cpu::counting_banks = true;
      const int64_t n = width < 128 ? 70 : 35;
      Attention attention({1, 1, 1, n, n, width, width, true, width == 64, 0.1, 0}, dtype);
      attention.check_forward(1e-3);
      attention.check_backward(2e-3);
      cuda_on_cpu::counting_banks = false;
      EXPECT_GT(cuda_on_cpu::bank_counts.phases, 0u);
      EXPECT_EQ(cuda_on_cpu::bank_counts.conflicts, 0u) << name_of(dtype) << ", " << width;
    }
  }
}

}  // namespace
}  // namespace flambeau
