// The front door of matrix products: checks shapes, folds batch dimensions and launches, by a
// vendor's library where the device has one.
#include "kernels/gemm/gemm.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "kernels/access.h"
#include "kernels/gemm/precision.h"
#include "kernels/product/batch.h"
#include "kernels/product/library.h"
#include "kernels/product/weight.h"

namespace flambeau {

constinit Kernel kGemm{"gemm"};

namespace {

[[noreturn]] void bad_shapes(const char* op, const Tensor& out, const Tensor& a, const Tensor& b,
                             const char* why) {
  throw Error(
      Code::shape, cat_text(op, ": ", why),
      cat_text("a: ", describe(a), ", b: ", describe(b), ", out: ", describe(out)),
      "the operands are [..., m, k] and [..., k, n]; transpose one or make the sizes agree");
}

void check_shapes(const char* op, const Tensor& out, const Tensor& a, const Tensor& b,
                  bool b_transposed) {
  if (a.dim() < 2 || b.dim() < 2 || out.dim() < 2)
    bad_shapes(op, out, a, b, "operands need rows and columns");
  const DimsView o = out.sizes(), x = a.sizes(), y = b.sizes();
  const int64_t rows = y[y.size() - 2], cols = y.back();
  if (x.back() != (b_transposed ? cols : rows)) bad_shapes(op, out, a, b, "the inner sizes differ");
  if (o[o.size() - 2] != x[x.size() - 2] || o.back() != (b_transposed ? rows : cols)) {
    bad_shapes(op, out, a, b, "the output has another shape than the product");
  }
  const DimsView batch = o.first(o.size() - 2);
  if (!broadcasts_to(x.first(x.size() - 2), batch) ||
      !broadcasts_to(y.first(y.size() - 2), batch)) {
    bad_shapes(op, out, a, b, "the batch dimensions do not broadcast to the output's");
  }
}

void check_dtypes(const char* op, const Tensor& out, const Tensor& a, const Tensor& b,
                  const Tensor* c) {
  if (a.dtype() == out.dtype() && b.dtype() == out.dtype() && (!c || c->dtype() == out.dtype()))
    return;
  throw Error(Code::dtype, cat_text(op, ": the operands of a matrix product must share one dtype"),
              cat_text(describe(a), " @ ", describe(b), c ? " with " + describe(*c) : "", " into ",
                       describe(out)),
              "convert the odd one: x.to(dtype)");
}

void launch_gemm(const char* op, KernelFn fn, const GemmArgs& g, GemmTensors t) {
  if (t[0]->device().is_cpu()) return fn(nullptr, &g);
  if (launch_library(g, *t[0])) return;
  launch_kernel(op, fn, t[0]->device(), g,
                {writes(*t[0]), reads(*t[1]), reads(*t[2]), t[3] ? reads(*t[3]) : Access{}});
}

// One launch per index of the outermost batch dimensions until there is one.
void launch_one_batch(const char* op, KernelFn fn, const GemmArgs& g, GemmTensors t) {
  if (g.batch_ndim <= 1) return launch_gemm(op, fn, g, t);
  GemmArgs rest = g;
  std::copy(g.batch_size + 1, g.batch_size + g.batch_ndim, rest.batch_size);
  --rest.batch_ndim;
  rest.batches /= g.batch_size[0];
  const auto element = int64_t(t[0]->element_size());
  for (GemmOperand* o : {&rest.out, &rest.a, &rest.b, &rest.c})
    std::copy(o->batch + 1, o->batch + g.batch_ndim, o->batch);
  for (int64_t i = 0; i < g.batch_size[0]; ++i) {
    launch_one_batch(op, fn, rest, t);
    rest.out.data += g.out.batch[0] * element;
    rest.a.data += g.a.batch[0] * element;
    rest.b.data += g.b.batch[0] * element;
    if (rest.c.data) rest.c.data += g.c.batch[0] * element;
  }
}

// A library's batch has one stride: it takes that of the widest dimension.
void launch_folded(const char* op, KernelFn fn, GemmArgs& g, GemmTensors t) {
  fold_rows(g);
  if (g.batch_ndim <= 1 || !library_multiplies(*t[0])) return launch_gemm(op, fn, g, t);
  const int last = g.batch_ndim - 1;
  const auto widest = std::max_element(g.batch_size, g.batch_size + g.batch_ndim) - g.batch_size;
  std::swap(g.batch_size[widest], g.batch_size[last]);
  for (GemmOperand* o : {&g.out, &g.a, &g.b, &g.c}) std::swap(o->batch[widest], o->batch[last]);
  launch_one_batch(op, fn, g, t);
}

// More batch dimensions than a launch holds: one launch per index of the outermost.
void launch_outer(const char* op, KernelFn fn, GemmArgs& g, GemmTensors tensors, size_t first) {
  if (fold_batch(g, tensors, first) == 0) return launch_folded(op, fn, g, tensors);
  const GemmArgs start = g;  // its batch is folded anew for each index
  const size_t nd = tensors[0]->sizes().size();
  for (int64_t i = 0; i < tensors[0]->sizes()[first]; ++i) {
    g = start;
    GemmOperand* const operands[4] = {&g.out, &g.a, &g.b, &g.c};
    for (int o = 0; o < 4; ++o) {
      if (!operands[o]->data) continue;
      operands[o]->data +=
          i * batch_stride(*tensors[o], first, nd) * int64_t(tensors[0]->element_size());
    }
    launch_outer(op, fn, g, tensors, first + 1);
  }
}

// `g`: of the tensors, without their batch.
void multiply(const char* op, KernelFn fn, GemmTensors tensors, GemmArgs g,
              const GemmOptions& options) {
  g.activation = options.activation;
  g.tf32 = matmul_precision != MatmulPrecision::highest;
  g.alpha = options.alpha;
  g.beta = options.beta;
  if (tensors[0]->dim() == 2) return launch_gemm(op, fn, g, tensors);
  launch_outer(op, fn, g, tensors, 0);
}

void run(const char* op, const Tensor& out, const Tensor& a, const Tensor& b, bool b_transposed,
         const GemmOptions& options) {
  const Tensor* c = options.c && options.c->defined() && options.beta != 0 ? options.c : nullptr;
  check_dtypes(op, out, a, b, c);
  check_shapes(op, out, a, b, b_transposed);
  if (c && !broadcasts_to(c->sizes(), out.sizes())) {
    fail(Code::shape, op, ": ", describe(*c), " does not broadcast to the product's shape ",
         to_string(out.sizes()));
  }
  const KernelFn fn = kGemm.find(op, out.device(), out.dtype());
  if (out.numel() == 0) return;
  const Tensor* const tensors[4] = {&out, &a, &b, c};
  if (!library_multiplies(out))
    return multiply(op, fn, tensors, gemm_matrices(tensors, b_transposed), options);
  const LibraryOperands operands(tensors, options.beta, b_transposed);
  multiply(op, fn, operands.tensors(), operands.matrices(), options);
  operands.finish();
}

}  // namespace

void run_gemm(const char* op, const Tensor& out, const Tensor& a, const Tensor& b,
              const GemmOptions& options) {
  run(op, out, a, b, false, options);
}

void run_gemm_by_weight(const char* op, const Tensor& out, const Tensor& a, const Tensor& weight,
                        const GemmOptions& options) {
  run(op, out, a, weight, true, options);
}

}  // namespace flambeau
