// The CUDA bodies of the kernels, executed on a simulated device by the emulation of threads,
// blocks and shuffles, against the host's. Skipped with its reason where this program was built
// without the emulation.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <set>

#include "base/error.h"
#include "kernels/deterministic.h"
#include "kernels/fold/fold.h"
#include "kernels/index/index.h"
#include "kernels/map/map.h"
#include "kernels/optimizer/optimizer.h"
#include "kernels/random/random.h"
#include "kernels/report/report.h"
#include "ops/nn/rows.h"
#include "simulated.h"
#include "tests/harness/cuda_on_cpu/grid.h"

namespace flambeau {
namespace {

using Emulated = Simulated;

void expect_near(const Tensor& got, const Tensor& want, double tolerance) {
  const std::vector<float> g = values_of<float>(got), w = values_of<float>(want);
  ASSERT_EQ(g.size(), w.size());
  for (size_t i = 0; i < g.size(); ++i)
    ASSERT_NEAR(g[i], w[i], tolerance * (1 + std::abs(w[i]))) << i;
}

TEST_F(Emulated, FoldsLikeTheHost) {
  const Tensor x = tensor_of(randoms<float>(3 * 70 * 300, -1, 1), Dims{3, 70, 300}), far = there(x);
  const Tensor line = tensor_of(randoms<float>(20000, -1, 1), Dims{1, 1, 20000}),
               far_line = there(line);
  const Dims all[] = {Dims{0}, Dims{1}, Dims{2}, Dims{0, 1, 2}, Dims{0, 2}};
  for (const auto& [near, on] : {std::pair{x, far}, std::pair{line, far_line}}) {
    for (const Dims& dims : all) {
      Dims kept(near.sizes());
      for (int64_t d : dims) kept[size_t(d)] = 1;
      const Tensor want = empty(kept, Dtype::f32, kCpu), got = empty(kept, Dtype::f32, kSim);
      run_fold("sum", kSum, Dtype::f32, want, near, dims);
      run_fold("sum", kSum, Dtype::f32, got, on, dims);
      expect_near(back(got), want, 1e-6);
      const Tensor at = empty(kept, Dtype::i64, kCpu), far_at = empty(kept, Dtype::i64, kSim);
      run_fold("max", kMaxIndex, Dtype::f32, want, near, dims, {}, {.index = at, .centre = {}});
      run_fold("max", kMaxIndex, Dtype::f32, got, on, dims, {}, {.index = far_at, .centre = {}});
      EXPECT_EQ(values_of<float>(back(got)), values_of<float>(want));
      EXPECT_EQ(values_of<int64_t>(back(far_at)), values_of<int64_t>(at));
      run_var("var", want, near, dims, 1, false);
      run_var("var", got, on, dims, 1, false);
      if (near.numel() / want.numel() > 1) expect_near(back(got), want, 1e-5);
    }
  }
}

// Sums of floats depend on their order, so equal bits under every thread order mean a fixed one.
struct DeterministicScope {
  DeterministicScope() { deterministic_algorithms = true; }
  ~DeterministicScope() {
    deterministic_algorithms = false;
    cuda_on_cpu::set_seed(1);
  }
};

// Bits of the results of `write` on the device, per thread order.
std::set<std::vector<float>> results_of(const Tensor& start,
                                        const std::function<void(const Tensor&)>& write) {
  std::set<std::vector<float>> found;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    cuda_on_cpu::set_seed(seed);
    const Tensor self = there(start);
    write(self);
    found.insert(values_of<float>(back(self)));
  }
  return found;
}

TEST_F(Emulated, DeterministicWritesHappenInTheHostsOrder) {
  std::mt19937_64 random(3);
  for (const auto& [rows, columns, writes] :
       {std::array<int64_t, 3>{3, 1, 200}, {4, 5, 60}, {2, 300, 20}}) {
    const Tensor start =
        tensor_of(randoms<float>(size_t(rows * columns), -1, 1), Dims{rows, columns});
    const Tensor values =
        tensor_of(randoms<float>(size_t(writes * columns), -1, 1), Dims{writes, columns});
    std::vector<int64_t> where(size_t(writes * columns), 0);
    for (int64_t& i : where) i = int64_t(random() % size_t(rows));
    const Tensor index = tensor_of(where, Dims{writes, columns});
    where.resize(size_t(writes));
    const Tensor list = tensor_of(where, Dims{writes});
    const Tensor far_index = there(index), far_list = there(list), far_values = there(values);
    const auto add = [&](const Tensor& self) {
      run_index_write("index_add", kIndexAdd, self, {far_list}, far_values);
    };
    const auto scatter = [&](const Tensor& self) {
      run_scatter("scatter_add", kIndexAdd, self, 0, far_index, far_values);
    };
    const auto set = [&](const Tensor& self) {
      run_index_write("index_put", kIndexSet, self, {far_list}, far_values);
    };
    if (columns == 1) {  // within one block, whose threads are shuffled
      EXPECT_GT(results_of(start, add).size(), 1u) << "the orders that are tried do not differ";
    }
    const DeterministicScope on;
    Tensor want[3];
    for (Tensor& t : want) {
      t = empty(start.sizes(), Dtype::f32, kCpu);
      run_cast(t, start);
    }
    run_index_write("index_add", kIndexAdd, want[0], {list}, values);
    run_scatter("scatter_add", kIndexAdd, want[1], 0, index, values);
    run_index_write("index_put", kIndexSet, want[2], {list}, values);
    using Found = std::set<std::vector<float>>;
    EXPECT_EQ(results_of(start, add), Found{values_of<float>(want[0])});
    EXPECT_EQ(results_of(start, scatter), Found{values_of<float>(want[1])});
    EXPECT_EQ(results_of(start, set), Found{values_of<float>(want[2])});
  }
}

TEST_F(Emulated, RowsLikeTheHost) {
  for (int64_t n : {7, 100, 600}) {
    const Tensor x = tensor_of(randoms<float>(size_t(5 * n), -3, 3), Dims{5, n}), far = there(x);
    const Tensor want = empty(x.sizes(), Dtype::f32, kCpu),
                 got = empty(x.sizes(), Dtype::f32, kSim);
    for (const Kernel* k : {&kSoftmax, &kLogSoftmax}) {
      run_row("softmax", *k, Dtype::f32, 1, {out_row(want), row(x)});
      run_row("softmax", *k, Dtype::f32, 1, {out_row(got), row(far)});
      expect_near(back(got), want, 2e-6);
    }
    const Tensor none;
    run_row("layer_norm", kLayerNorm, Dtype::f32, 1,
            {out_row(want), out_each(none), out_each(none), row(x), shared(none), shared(none)},
            {1e-5});
    run_row("layer_norm", kLayerNorm, Dtype::f32, 1,
            {out_row(got), out_each(none), out_each(none), row(far), shared(none), shared(none)},
            {1e-5});
    expect_near(back(got), want, 5e-6);
    const Tensor ones = tensor_of(std::vector<float>(size_t(n), 1)), far_ones = there(ones),
                 each_one = tensor_of(std::vector<float>(5, 1)), far_one = there(each_one),
                 dw = empty(Dims{n}, Dtype::f32, kCpu), far_dw = empty(Dims{n}, Dtype::f32, kSim),
                 db = empty(Dims{n}, Dtype::f32, kCpu), far_db = empty(Dims{n}, Dtype::f32, kSim);
    run_row("layer_norm", kLayerNormBackward, Dtype::f32, 1,
            {out_row(want), out_total(dw), out_total(db, x), row(x), row(x), each(each_one),
             shared(ones), each(each_one)});
    run_row("layer_norm", kLayerNormBackward, Dtype::f32, 1,
            {out_row(got), out_total(far_dw), out_total(far_db, far), row(far), row(far),
             each(far_one), shared(far_ones), each(far_one)});
    expect_near(back(got), want, 5e-6);
    expect_near(back(far_dw), dw, 5e-5);
    expect_near(back(far_db), db, 5e-6);
  }
}

TEST_F(Emulated, IndexesAndReportsLikeTheHost) {
  const Tensor x = tensor_of(randoms<float>(40, -1, 1), Dims{8, 5}), far = there(x);
  const Tensor index = tensor_of<int64_t>({3, -1, 3}), far_index = there(index);
  const Tensor want = empty(Dims{3, 5}, Dtype::f32, kCpu),
               got = empty(Dims{3, 5}, Dtype::f32, kSim);
  run_index_read("index", want, x, {index});
  run_index_read("index", got, far, {far_index});
  EXPECT_EQ(values_of<float>(back(got)), values_of<float>(want));
  run_index_write("index_add", kIndexAdd, x, {index}, want);
  run_index_write("index_add", kIndexAdd, far, {far_index}, got);
  expect_near(back(far), x, 1e-6);
  EXPECT_EQ(values_of<int64_t>(back(true_positions("nonzero", far))),
            values_of<int64_t>(true_positions("nonzero", x)));
  run_index_read("index", got, far, {there(tensor_of<int64_t>({0, 8, 1}))});
  try {
    synchronize(kSim);
    FAIL() << "a wait says nothing of the bad index";
  } catch (const Error& e) {
    EXPECT_EQ(e.problem, "index: index 8 is out of bounds for dimension 0 with size 8");
  }
  EXPECT_NO_THROW(synchronize(kSim));
}

TEST_F(Emulated, DrawsTheSameNumbers) {
  const Tensor want = empty(Dims{1000}, Dtype::f32, kCpu),
               got = empty(Dims{1000}, Dtype::f32, kSim);
  run_random("rand", kUniform, want, {5, 6}, {0, 1});
  run_random("rand", kUniform, got, {5, 6}, {0, 1});
  EXPECT_EQ(values_of<float>(back(got)), values_of<float>(want));
}

TEST_F(Emulated, StepsLikeTheHost) {
  ParameterList here, far;
  for (unsigned i = 0; i < 3; ++i) {
    Parameter p;
    p.param = tensor_of(randoms<float>(5000 * i, -1, 1, i)),
    p.grad = tensor_of(randoms<float>(5000 * i, -1, 1, i + 9));
    p.first = tensor_of(std::vector<float>(5000 * i, 0.f)),
    p.second = tensor_of(std::vector<float>(5000 * i, 0.f));
    p.step = tensor_of<float>({0});
    Parameter q;
    q.param = there(p.param), q.grad = there(p.grad), q.first = there(p.first),
    q.second = there(p.second);
    q.step = there(p.step);
    here.push_back(p), far.push_back(q);
  }
  RuleOptions o{};
  o[kOptLr] = 1e-3, o[kOptBeta1] = 0.9, o[kOptBeta2] = 0.999, o[kOptEps] = 1e-8;
  for (int k = 0; k < 2; ++k) {
    for (const Kernel* rule : {&kAdam, &kAdamax, &kRadam}) {
      run_rule("step", *rule, here, o), run_rule("step", *rule, far, o);
    }
  }
  for (size_t i = 1; i < 3; ++i) expect_near(back(far[i].param), here[i].param, 1e-6);
}

}  // namespace
}  // namespace flambeau
