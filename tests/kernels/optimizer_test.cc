// Optimizer steps against PyTorch's (three steps in float64 of torch.optim with foreach=False), and
// the cells.
#include "kernels/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/thread_pool.h"
#include "tensors.h"

namespace flambeau {
namespace {

Tensor zeros(int64_t n, Dtype dtype) {
  const Tensor t = empty(Dims{n}, dtype, kCpu);
  if (n) std::memset(t.data(), 0, t.nbytes());
  return t;
}

Parameter three() {
  Parameter p;
  p.param = tensor_of<double>({0.5, -1.25, 3.0});
  p.grad = zeros(3, Dtype::f64);
  p.first = zeros(3, Dtype::f64);
  p.second = zeros(3, Dtype::f64);
  p.step = zeros(1, Dtype::f32);
  p.fresh = true;
  return p;
}

template <class Step> void expect_after_three(Parameter p, std::vector<double> want, Step step) {
  for (int k = 0; k < 3; ++k) {
    const double scale = 1 - 0.9 * k, base[] = {0.1, -0.2, 0.3};
    for (int i = 0; i < 3; ++i) p.grad.data_as<double>()[i] = base[i] * scale;
    step(ParameterList{p});
    p.fresh = false;
  }
  const std::vector<double> got = values_of<double>(p.param);
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-15);
}

TEST(Optimizer, SgdIsTorchs) {
  expect_after_three(three(), {0.497, -1.244, 2.991},
                     [](const ParameterList& l) { run_sgd("SGD", l, {.lr = 0.1}); });
  expect_after_three(three(), {0.52005514909375, -1.288889901171875, 3.0528430651875},
                     [](const ParameterList& l) {
                       run_sgd("SGD", l,
                               {.lr = 0.1,
                                .momentum = 0.9,
                                .dampening = 0.25,
                                .weight_decay = 0.01,
                                .nesterov = false,
                                .maximize = true});
                     });
  expect_after_three(
      three(), {0.4741889719805, -1.19636916924625, 2.9105142676530003},
      [](const ParameterList& l) {
        run_sgd(
            "SGD", l,
            {.lr = 0.1, .momentum = 0.9, .dampening = 0, .weight_decay = 0.01, .nesterov = true});
      });
}

TEST(Optimizer, AdamIsTorchs) {
  expect_after_three(three(), {0.31353654423473104, -1.0602901044126547, 2.803428794559908},
                     [](const ParameterList& l) {
                       AdamOptions o;
                       o.lr = 0.1, o.weight_decay = 0.01;
                       run_adam("Adam", l, o);
                     });
  Parameter p = three();
  p.greatest = zeros(3, Dtype::f64);
  expect_after_three(p, {0.6790572306752988, -1.4290572412244316, 3.17905724474081},
                     [](const ParameterList& l) {
                       AdamOptions o;
                       o.lr = 0.1, o.maximize = true;
                       run_adam("Adam", l, o);
                     });
  expect_after_three(three(), {0.3891801734988864, -1.1169044185844808, 2.8149276669463448},
                     [](const ParameterList& l) {
                       AdamOptions o;
                       o.lr = 0.1, o.weight_decay = 0.1, o.beta1 = 0.4, o.beta2 = 0.99,
                       o.decoupled = true;
                       run_adam("AdamW", l, o);
                     });
}

TEST(Optimizer, ManyTensorsOfManySizesAndThreads) {
  const int before = get_num_threads();
  std::vector<std::vector<float>> got;
  for (int threads : {1, 2, 5}) {
    set_num_threads(threads);
    ParameterList list;
    for (unsigned i = 0; i < 130; ++i) {
      const size_t n = i * i % 97 * (i % 10 ? 1 : 300);
      Parameter p;
      p.param = tensor_of(randoms<float>(n, -1, 1, i)),
      p.grad = tensor_of(randoms<float>(n, -1, 1, i + 1));
      p.first = zeros(int64_t(n), Dtype::f32), p.second = zeros(int64_t(n), Dtype::f32);
      p.step = zeros(1, Dtype::f32);
      list.push_back(p);
    }
    AdamOptions o;
    o.lr = 0.5;
    run_adam("Adam", list, o);
    got.emplace_back();
    for (unsigned i = 0; i < list.size(); ++i) {
      const std::vector<float> now = values_of<float>(list[i].param),
                               was = randoms<float>(now.size(), -1, 1, i);
      const float* g = list[i].grad.data_as<float>();
      for (size_t j = 0; j < now.size(); ++j) {  // a first step is lr * sign(gradient), but for eps
        ASSERT_NEAR(now[j], was[j] - 0.5f * g[j] / (std::abs(g[j]) + 1e-8f), 1e-6) << i;
        got.back().push_back(now[j]);
      }
    }
  }
  set_num_threads(before);
  EXPECT_EQ(got[0], got[1]);
  EXPECT_EQ(got[0], got[2]);
}

TEST(Optimizer, FoundInfLeavesEverything) {
  Parameter p = three();
  p.grad.data_as<double>()[0] = 1;
  const Tensor flag = tensor_of<float>({1});
  run_adam("Adam", {p}, {}, {.lr = {}, .grad_scale = {}, .found_inf = flag});
  EXPECT_EQ(values_of<double>(p.param)[0], 0.5);
  EXPECT_EQ(*p.step.data_as<float>(), 0);
}

TEST(Optimizer, CellsReplaceOptions) {
  Parameter p = three();
  p.grad.data_as<double>()[1] = 8;
  run_sgd("SGD", {p}, {.lr = 99},
          {.lr = tensor_of<float>({0.5}),
           .grad_scale = tensor_of<float>({4}),
           .found_inf = tensor_of<float>({0})});
  EXPECT_EQ(values_of<double>(p.param)[1], -1.25 - 0.5 * 2);
}

TEST(Optimizer, ScalingFindsWhatIsNotFinite) {
  const Tensor a = tensor_of(randoms<float>(9000, -1, 1)), b = tensor_of<float>({2, 4}),
               flag = tensor_of<float>({0});
  const Tensor marks[] = {tensor_of<float>({0}), tensor_of<float>({0})},
               two = tensor_of<float>({2});
  run_unscale("unscale_", Tensors{a, b}, two, flag, marks);
  EXPECT_EQ(values_of<float>(b), (std::vector<float>{1, 2}));
  EXPECT_EQ(*flag.data_as<float>(), 0);
  a.data_as<float>()[8999] = std::numeric_limits<float>::quiet_NaN();
  run_unscale("unscale_", Tensors{b, a}, two, flag, marks);
  EXPECT_EQ(*flag.data_as<float>(), 1);
  EXPECT_EQ(*marks[0].data_as<float>(), 0);
  EXPECT_EQ(*marks[1].data_as<float>(), 1);
}

TEST(Optimizer, MismatchesAreNamedBeforeAnythingChanges) {
  Parameter good = three(), bad = three();
  good.grad.data_as<double>()[0] = 1;
  bad.grad = zeros(2, Dtype::f64);
  EXPECT_THROW(run_sgd("SGD", {good, bad}, {}), Error);
  EXPECT_EQ(values_of<double>(good.param)[0], 0.5);
}

}  // namespace
}  // namespace flambeau
