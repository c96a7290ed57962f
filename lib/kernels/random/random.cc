// Plans of random and positional kernels, and permutations, which are made on the host so that
// every device agrees.
#include "kernels/random/random.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "kernels/map/map.h"
#include "kernels/random/philox.h"

namespace flambeau {

constinit Kernel kUniform{"uniform_"}, kNormal{"normal_"}, kExponential{"exponential_"};
constinit Kernel kBernoulli{"bernoulli"}, kRandint{"randint"}, kDropout{"dropout"};
constinit Kernel kArange{"arange"}, kLinspace{"linspace"}, kEye{"eye"}, kTriangle{"tril"};

namespace {

Tensor dense_of(const Tensor& t) {
  if (!t.defined() || t.is_contiguous()) return t;
  const Tensor dense = empty(t.sizes(), t.dtype(), t.device());
  run_cast(dense, t);
  return dense;
}

// Calls make(dense tensor) and brings the result into `out`.
template <class F> void into(const Tensor& out, const F& make) {
  if (out.numel() == 0) return;
  if (out.is_contiguous()) return make(out);
  const Tensor dense = empty(out.sizes(), out.dtype(), out.device());
  make(dense);
  run_cast(out, dense);
}

void run_range(const char* op, const Kernel& kernel, const Tensor& out, const Tensor& input,
               const RangeArgs& given) {
  const KernelFn fn = kernel.find(op, out.device(), out.dtype());
  const Tensor source = dense_of(input);
  into(out, [&](const Tensor& dense) {
    RangeArgs a = given;
    a.numel = dense.numel();
    a.out = static_cast<char*>(dense.data());
    a.input = source.defined() ? static_cast<const char*>(source.data()) : nullptr;
    launch_kernel(op, fn, dense.device(), a, {writes(dense), reads(source)});
  });
}

}  // namespace

void run_random(const char* op, const Kernel& kernel, const Tensor& out, const Draw& draw,
                std::initializer_list<double> params, const RandomExtra& extra) {
  const KernelFn fn = kernel.find(op, out.device(), out.dtype());
  const Tensor input = dense_of(extra.input);
  into(out, [&](const Tensor& dense) {
    RandomArgs a{};
    a.numel = dense.numel();
    a.out = static_cast<char*>(dense.data());
    a.input = input.defined() ? static_cast<const char*>(input.data()) : nullptr;
    a.state = draw.state;
    a.cell = draw.cell ? static_cast<const RandomState*>(draw.cell.data()) : nullptr;
    a.low = extra.low;
    a.range = uint64_t(extra.high) - uint64_t(extra.low);
    std::copy(params.begin(), params.end(), a.params);
    launch_kernel(op, fn, dense.device(), a, {writes(dense), reads(input), reads(draw.cell)});
  });
}

Tensor random_permutation(int64_t n, RandomState state) {
  const Tensor out = empty(Dims{n}, Dtype::i64, kCpu);
  int64_t* p = out.data_as<int64_t>();
  std::iota(p, p + n, int64_t{0});
  for (int64_t i = n; i-- > 1;) {  // element i changes places with one of 0 .. i, drawn by 64 bits
    const Words w = philox(state.seed, state.offset, uint64_t(i));
    std::swap(p[i], p[(uint64_t(w.word[0]) << 32 | w.word[1]) % uint64_t(i + 1)]);
  }
  return out;
}

void run_arange(const char* op, const Tensor& out, double start, double step, int64_t whole_start,
                int64_t whole_step) {
  run_range(op, kArange, out, {},
            {0, nullptr, nullptr, {whole_start, whole_step, 0}, {start, step}});
}

void run_linspace(const char* op, const Tensor& out, double start, double end) {
  run_range(op, kLinspace, out, {}, {0, nullptr, nullptr, {}, {start, end}});
}

void run_eye(const char* op, const Tensor& out) {
  run_range(op, kEye, out, {}, {0, nullptr, nullptr, {out.size(1), 0, 0}, {}});
}

void run_triangle(const char* op, const Tensor& out, const Tensor& x, int64_t diagonal,
                  bool upper) {
  check(x.dim() >= 2, Code::shape, op, ": needs at least 2 dimensions, got ", ShapeText{x.sizes()});
  run_range(op, kTriangle, out, x,
            {0, nullptr, nullptr, {x.size(-1), x.size(-2), diagonal}, {double(upper), 0}});
}

}  // namespace flambeau
