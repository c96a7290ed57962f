// Optimizer steps against PyTorch's (three steps in float64 of torch.optim with foreach=False), and
// the cells.
#include "kernels/optimizer/optimizer.h"

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
  p.cell = tensor_of<float>({1}), p.cell2 = tensor_of<float>({1});
  p.fresh = true;
  return p;
}

using Options = std::initializer_list<std::pair<int, double>>;

RuleOptions options_of(Options given) {
  RuleOptions o{};
  for (const auto& [place, value] : given) o[size_t(place)] = value;
  return o;
}

RuleOptions adam_options(Options given) {
  RuleOptions o =
      options_of({{kOptLr, 1e-3}, {kOptBeta1, 0.9}, {kOptBeta2, 0.999}, {kOptEps, 1e-8}});
  for (const auto& [place, value] : given) o[size_t(place)] = value;
  return o;
}

void expect_steps(const Kernel& rule, const RuleOptions& options, int n, Parameter p,
                  std::vector<double> want) {
  for (int k = 0; k < n; ++k) {
    const double scale = 1 - 0.9 * k, base[] = {0.1, -0.2, 0.3};
    for (int i = 0; i < 3; ++i) p.grad.data_as<double>()[i] = base[i] * scale;
    run_rule("step", rule, ParameterList{p}, options);
    p.fresh = false;
  }
  const std::vector<double> got = values_of<double>(p.param);
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-15);
}

Parameter with_third(Parameter p) {
  p.third = zeros(3, Dtype::f64);
  return p;
}

Parameter asgd_state(Parameter p) {
  p.cell = tensor_of<float>({0.1f});
  return p;
}

Parameter rprop_state(Parameter p) {
  p.second = tensor_of<double>({0.1, 0.1, 0.1});
  return p;
}

TEST(Optimizer, SgdIsTorchs) {
  expect_steps(kSgd, options_of({{kOptLr, 0.1}}), 3, three(), {0.497, -1.244, 2.991});
  expect_steps(kSgd,
               options_of({{kOptLr, 0.1},
                           {kOptMomentum, 0.9},
                           {kOptDampening, 0.25},
                           {kOptWeightDecay, 0.01},
                           {kOptMaximize, 1}}),
               3, three(), {0.52005514909375, -1.288889901171875, 3.0528430651875});
  expect_steps(
      kSgd,
      options_of({{kOptLr, 0.1}, {kOptMomentum, 0.9}, {kOptWeightDecay, 0.01}, {kOptNesterov, 1}}),
      3, three(), {0.4741889719805, -1.19636916924625, 2.9105142676530003});
}

TEST(Optimizer, AdamIsTorchs) {
  expect_steps(kAdam, adam_options({{kOptLr, 0.1}, {kOptWeightDecay, 0.01}}), 3, three(),
               {0.31353654423473104, -1.0602901044126547, 2.803428794559908});
  expect_steps(kAdam, adam_options({{kOptLr, 0.1}, {kOptMaximize, 1}}), 3, with_third(three()),
               {0.6790572306752988, -1.4290572412244316, 3.17905724474081});
  expect_steps(kAdam,
               adam_options({{kOptLr, 0.1},
                             {kOptWeightDecay, 0.1},
                             {kOptBeta1, 0.4},
                             {kOptBeta2, 0.99},
                             {kOptDecoupled, 1}}),
               3, three(), {0.3891801734988864, -1.1169044185844808, 2.8149276669463448});
}

TEST(Optimizer, AdaptiveRulesAreTorchs) {
  expect_steps(kRmsProp, options_of({{kOptLr, 0.01}, {kOptAlpha, 0.99}, {kOptEps, 1e-8}}), 3,
               three(), {0.4526608969192104, -1.2026608664591414, 2.952660856305777});
  expect_steps(kRmsProp,
               options_of({{kOptLr, 0.1},
                           {kOptAlpha, 0.9},
                           {kOptEps, 1e-8},
                           {kOptRmsMomentum, 0.5},
                           {kOptWeightDecay, 0.1}}),
               3, with_third(three()),
               {-0.007447063117059621, -0.5884507437359573, 2.1794455958536956});
  expect_steps(
      kAdagrad,
      options_of({{kOptLr, 0.1}, {kOptLrDecay, 0.2}, {kOptWeightDecay, 0.1}, {kOptEps, 1e-10}}), 3,
      three(), {0.39224410488530725, -1.1277246487610648, 2.855955216673264});
  expect_steps(kAdadelta,
               options_of({{kOptLr, 1}, {kOptRho, 0.9}, {kOptWeightDecay, 0.1}, {kOptEps, 1e-6}}),
               3, three(), {0.4960650997420219, -1.2454575303454645, 2.994131483757634});
  expect_steps(kAdamax, adam_options({{kOptLr, 0.1}, {kOptWeightDecay, 0.05}, {kOptMaximize, 1}}),
               3, three(), {0.6105928880664147, -1.353375360722907, 3.0674523036358385});
  expect_steps(kNadam,
               adam_options({{kOptLr, 0.1}, {kOptWeightDecay, 0.1}, {kOptMomentumDecay, 4e-3}}), 3,
               three(), {0.378002942494777, -1.1057104639393878, 2.8231304408779008});
  expect_steps(
      kNadam,
      adam_options(
          {{kOptLr, 0.1}, {kOptWeightDecay, 0.1}, {kOptMomentumDecay, 4e-3}, {kOptDecoupled, 1}}),
      3, three(), {0.42972675789598247, -1.1574510059147456, 2.855474255254333});
  expect_steps(kRadam, adam_options({{kOptLr, 0.1}, {kOptWeightDecay, 0.1}}), 9, three(),
               {0.4855174145578641, -1.1972968998681988, 2.8585063645704567});
  expect_steps(kAsgd,
               options_of({{kOptLr, 0.1},
                           {kOptWeightDecay, 0.1},
                           {kOptLambd, 0.1},
                           {kOptAsgdAlpha, 0.75},
                           {kOptT0, 1}}),
               4, asgd_state(three()),
               {0.4755800652080108, -1.181959771708629, 2.8115380433796777});
  expect_steps(
      kRprop,
      options_of({{kOptEtaMinus, 0.5}, {kOptEtaPlus, 1.2}, {kOptStepMin, 1e-6}, {kOptStepMax, 50}}),
      4, rprop_state(three()), {0.34, -1.0899999999999999, 2.84});
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
    run_rule("Adam", kAdam, list, adam_options({{kOptLr, 0.5}}));
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
  run_rule("Adam", kAdam, {p}, adam_options({}), {.lr = {}, .grad_scale = {}, .found_inf = flag});
  EXPECT_EQ(values_of<double>(p.param)[0], 0.5);
  EXPECT_EQ(*p.step.data_as<float>(), 0);
}

TEST(Optimizer, CellsReplaceOptions) {
  Parameter p = three();
  p.grad.data_as<double>()[1] = 8;
  run_rule("SGD", kSgd, {p}, options_of({{kOptLr, 99}}),
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
  EXPECT_THROW(run_rule("SGD", kSgd, {good, bad}, {}), Error);
  EXPECT_EQ(values_of<double>(good.param)[0], 0.5);
}

}  // namespace
}  // namespace flambeau
