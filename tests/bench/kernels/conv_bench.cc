// Speed of convolutions on one thread (or argv[1]): "conv KIND N C H O KERNEL STRIDE GROUPS
// MICROSECONDS GFLOPS" lines for the forward pass and both gradients. conv_bench.py runs it beside
// PyTorch.
#include <cstdio>
#include <cstdlib>

#include "base/thread_pool.h"
#include "kernels/conv/conv.h"
#include "tests/bench/kernels/best_time.h"

using namespace flambeau;

static Tensor filled(const Dims& sizes) {
  Tensor t = empty(sizes, Dtype::f32, kCpu);
  for (int64_t i = 0; i < t.numel(); ++i) t.data_as<float>()[i] = float(i % 17) - 8;
  return t;
}

int main(int argc, char** argv) {
  set_num_threads(argc > 1 ? std::atoi(argv[1]) : 1);
  const int64_t sizes[][7] = {
      // n, c, h = w, o, kernel, stride, groups
      {16, 64, 28, 64, 3, 1, 1}, {16, 256, 14, 256, 3, 1, 1},  {16, 256, 28, 64, 1, 1, 1},
      {16, 3, 32, 32, 3, 1, 1},  {16, 64, 56, 128, 3, 2, 1},   {4, 512, 7, 512, 3, 1, 1},
      {64, 1, 28, 32, 3, 1, 1},  {64, 1, 8, 16, 3, 1, 1},      {64, 16, 8, 32, 3, 1, 1},
      {1, 3, 224, 64, 7, 2, 1},  {16, 128, 28, 128, 3, 1, 128}};
  for (const auto& [n, c, h, o, kernel, stride, groups] : sizes) {
    const ConvParams params{{stride, stride}, {kernel / 2, kernel / 2}, {1, 1}, groups};
    const Tensor x = filled(Dims{n, c, h, h}), w = filled(Dims{o, c / groups, kernel, kernel});
    const Tensor y = filled(conv_sizes("bench", x, w, params)), bias = filled(Dims{o});
    const Tensor dx = filled(Dims(x.sizes())), dw = filled(Dims(w.sizes()));
    const double flops = 2.0 * double(y.numel()) * double(w.numel()) / double(o);
    auto report = [&](const char* kind, double t) {
      std::printf("conv %s %ld %ld %ld %ld %ld %ld %ld %.1f %.1f\n", kind, long(n), long(c),
                  long(h), long(o), long(kernel), long(stride), long(groups), t * 1e6,
                  flops * 1e-9 / t);
    };
    report("forward", best_time([&] { run_conv("bench", y, x, w, bias, params); }, 0.1));
    report("data", best_time([&] { run_conv_backward_data("bench", dx, y, w, {}, params); }, 0.1));
    report("weight", best_time([&] { run_conv_backward_weight("bench", dw, y, x, params); }, 0.1));
  }
}
