// The optimizers' kernels of GPUs, executed: tensors at any address get the same numbers, which are
// the host's, each is counted once, and a step moves what its tensors hold, by 16 bytes.
#include <gtest/gtest.h>

#include <cmath>

#include "emulated.h"
#include "kernels/optimizer/optimizer.h"
#include "tensors.h"
#include "tests/harness/cuda_on_cpu/traffic.h"

namespace flambeau {
namespace {

// Numbers that begin `skipped` elements after an address of 64 bytes.
template <class T> Tensor at(int64_t skipped, int64_t n, double low, unsigned seed) {
  const Tensor all = empty(Dims{skipped + n}, dtype_of<T>, kCpu);
  const std::vector<T> values = randoms<T>(size_t(n), low, 1, seed);
  std::copy(values.begin(), values.end(), all.data_as<T>() + skipped);
  return alias(all, Dims{n}, Dims{1}, skipped);
}

template <class T> Parameter parameter(int64_t skipped, int64_t n, bool third) {
  Parameter p;
  p.param = at<T>(skipped, n, -1, 1);
  p.grad = at<T>(skipped, n, -1, 2);
  p.first = at<T>(skipped, n, 0.5, 3);
  p.second = at<T>(skipped, n, 0.5, 4);
  if (third) p.third = at<T>(skipped, n, 0, 5);
  p.step = tensor_of<float>({3});
  p.cell = tensor_of<float>({0.5f}), p.cell2 = tensor_of<float>({0.5f});
  return p;
}

RuleOptions usual() {
  RuleOptions o{};
  o[kOptLr] = 1e-2, o[kOptWeightDecay] = 1e-2, o[kOptEps] = 1e-8;
  o[kOptOwn] = 0.9, o[kOptOwn + 1] = 0.25;
  return o;
}

// Two steps, of which the second sees what the first has counted.
template <class T>
std::vector<T> stepped(const Kernel& rule, int64_t skipped, bool third, std::vector<float>& cells) {
  const ParameterList list{parameter<T>(skipped, 3 * kListChunk + 3, third),
                           parameter<T>(skipped, 9, third)};
  for (int k = 0; k < 2; ++k) run_rule("step", rule, list, usual());
  std::vector<T> all;
  for (const Parameter& p : list) {
    for (const Tensor& t : {p.step, p.cell, p.cell2}) cells.push_back(t.data_as<float>()[0]);
    for (const Tensor& t : {p.param, p.first, p.second, p.third}) {
      if (!t.defined()) continue;
      const std::vector<T> values = values_of<T>(t);
      all.insert(all.end(), values.begin(), values.end());
    }
  }
  return all;
}

template <class T> void check_rule(Kernel& kernel, bool third) {
  std::vector<float> counted, wide_counted, single_counted;
  const std::vector<T> host = stepped<T>(kernel, 0, third, counted);
  FLAM_EMULATED(emulated, kernel);
  const std::vector<T> wide = stepped<T>(kernel, 0, third, wide_counted),
                       single = stepped<T>(kernel, 1, third, single_counted);
  EXPECT_EQ(wide_counted, counted) << kernel.name;
  EXPECT_EQ(single_counted, counted) << kernel.name;
  const double tolerance = sizeof(T) == 2 ? 0x1p-6 : 1e-5;
  ASSERT_EQ(wide.size(), host.size());
  for (size_t i = 0; i < wide.size(); ++i) {
    const double want = double(host[i]);
    if (std::isnan(want)) {  // of RMSprop's variance, where it is centered
      ASSERT_TRUE(std::isnan(double(wide[i]))) << kernel.name << i;
    } else {
      ASSERT_NEAR(double(wide[i]), want, tolerance * (1 + std::abs(want))) << kernel.name << i;
    }
    ASSERT_EQ(std::memcmp(&wide[i], &single[i], sizeof(T)), 0) << kernel.name << i;
  }
}

template <class T> void check_rules() {
  for (const bool third : {false, true}) {
    check_rule<T>(kAdam, third);
    check_rule<T>(kRmsProp, third);
  }
  for (Kernel* kernel :
       {&kSgd, &kAdagrad, &kAdadelta, &kAdamax, &kNadam, &kRadam, &kAsgd, &kRprop}) {
    check_rule<T>(*kernel, false);
  }
}

TEST(OptimizerDevice, StepsTensorsAtAnyAddress) {
  check_rules<float>();
  check_rules<double>();
  check_rules<Half>();
  check_rules<BFloat16>();
}

template <class T> void check_moved(Kernel& kernel, uint64_t tensors) {
  const ParameterList list{parameter<T>(0, 1 << 14, false)};
  FLAM_EMULATED(emulated, kernel);
  cuda_on_cpu::traffic = {};
  cuda_on_cpu::counting_traffic = true;
  run_rule("step", kernel, list, usual());
  cuda_on_cpu::counting_traffic = false;
  const uint64_t held = tensors * uint64_t(list[0].param.nbytes());
  EXPECT_EQ(cuda_on_cpu::traffic.moved(), held);
  EXPECT_EQ(cuda_on_cpu::traffic.asked, held);
  EXPECT_EQ(cuda_on_cpu::traffic.accesses, held / 16);
}

TEST(OptimizerDevice, MovesWhatItsTensorsHold) {
  check_moved<float>(kAdam, 7);  // four are read and three written
  check_moved<BFloat16>(kAdam, 7);
  check_moved<double>(kAdam, 7);
}

}  // namespace
}  // namespace flambeau
