// The front door of matrix products: checks shapes, folds batch dimensions and launches.
#include "kernels/gemm/gemm.h"

#include "base/error.h"
#include "device/call.h"
#include "device/probe_launch.h"
#include "kernels/access.h"
#include "kernels/gemm/precision.h"

namespace flambeau {

constinit Kernel kGemm{"gemm"};

namespace {

using Tensors4 = const Tensor* const (&)[4];  // out, a, b, c

[[noreturn]] void bad_shapes(const char* op, const Tensor& out, const Tensor& a, const Tensor& b,
                             const char* why) {
  throw Error(
      Code::shape, cat_text(op, ": ", why),
      cat_text("a: ", describe(a), ", b: ", describe(b), ", out: ", describe(out)),
      "the operands are [..., m, k] and [..., k, n]; transpose one or make the sizes agree");
}

void check_shapes(const char* op, const Tensor& out, const Tensor& a, const Tensor& b) {
  if (a.dim() < 2 || b.dim() < 2 || out.dim() < 2)
    bad_shapes(op, out, a, b, "operands need rows and columns");
  const DimsView o = out.sizes(), x = a.sizes(), y = b.sizes();
  if (x.back() != y[y.size() - 2]) bad_shapes(op, out, a, b, "the inner sizes differ");
  if (o[o.size() - 2] != x[x.size() - 2] || o.back() != y.back()) {
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

// Strides of t's two last dimensions; those of size 1 in t but not in `sizes` repeat.
GemmOperand matrix_of(const Tensor& t, int64_t rows, int64_t cols) {
  GemmOperand o;
  const DimsView sizes = t.sizes(), strides = t.strides();
  const size_t nd = sizes.size();
  o.data = static_cast<char*>(t.data());
  o.row = nd < 2 || (sizes[nd - 2] == 1 && rows != 1) ? 0 : strides[nd - 2];
  o.col = nd < 1 || (sizes[nd - 1] == 1 && cols != 1) ? 0 : strides[nd - 1];
  return o;
}

int64_t batch_stride(const Tensor& t, size_t dim, size_t out_ndim) {
  const size_t shift = out_ndim - t.sizes().size();
  if (dim < shift || t.sizes()[dim - shift] == 1) return 0;
  return t.strides()[dim - shift];
}

bool mergeable(const GemmOperand& outer, int64_t outer_stride, int64_t inner_stride,
               int64_t inner) {
  return !outer.data || outer_stride == inner_stride * inner;
}

// Batch dimensions without those of size 1, neighbours merged where all operands allow it. Those
// that do not fit are left to the caller: the number of leading dimensions not taken.
size_t fold_batch(GemmArgs& g, Tensors4 tensors, size_t first) {
  GemmOperand* const operands[4] = {&g.out, &g.a, &g.b, &g.c};
  const size_t nd = tensors[0]->sizes().size();
  g.batch_ndim = 0;
  g.batches = 1;
  size_t at = nd - 2;
  SmallVector<int64_t, kGemmBatchDims> sizes, strides[4];  // innermost first
  for (; at > first; --at) {
    const int64_t size = tensors[0]->sizes()[at - 1];
    if (size == 1) continue;
    int64_t step[4] = {};
    bool merge = !sizes.empty();
    for (int o = 0; o < 4; ++o) {
      if (!operands[o]->data) continue;
      step[o] = batch_stride(*tensors[o], at - 1, nd);
      merge = merge && mergeable(*operands[o], step[o], strides[o].back(), sizes.back());
    }
    if (merge) {
      sizes.back() *= size;
    } else if (sizes.size() == kGemmBatchDims) {
      break;
    } else {
      sizes.push_back(size);
      for (int o = 0; o < 4; ++o) strides[o].push_back(step[o]);
    }
    g.batches *= size;
  }
  g.batch_ndim = int32_t(sizes.size());
  for (size_t d = 0; d < sizes.size(); ++d) {
    const size_t from = sizes.size() - 1 - d;
    g.batch_size[d] = sizes[from];
    for (int o = 0; o < 4; ++o) operands[o]->batch[d] = strides[o][from];
  }
  return at - first;
}

// One operand shared by a whole batch of row blocks is one tall product: [b, m, k] @ [k, n] as [b
// m, k] @ [k, n].
void fold_rows(GemmArgs& g) {
  while (g.batch_ndim > 0) {
    const int d = g.batch_ndim - 1;
    auto rows_continue = [&](const GemmOperand& o) { return !o.data || o.batch[d] == o.row * g.m; };
    if (g.b.batch[d] != 0 || !rows_continue(g.out) || !rows_continue(g.a) || !rows_continue(g.c))
      return;
    g.m *= g.batch_size[d];
    g.batches /= g.batch_size[d];
    --g.batch_ndim;
  }
}

// By the vendor's library, where there is one that takes the operands as they lie.
bool launch_library(const GemmArgs& g, const Tensor& out) {
  const Device d = out.device();
  if (!hal::table_of(d).matmul || g.batch_ndim > 1) return false;
  auto operand = [&](const GemmOperand& o) {
    return hal::Matmul::Operand{o.data, o.row, o.col, g.batch_ndim ? o.batch[0] : 0};
  };
  const hal::Matmul problem{.dtype = out.dtype(),
                            .m = g.m,
                            .n = g.n,
                            .k = g.k,
                            .batches = g.batches,
                            .out = operand(g.out),
                            .a = operand(g.a),
                            .b = operand(g.b),
                            .c = g.c.data ? operand(g.c) : hal::Matmul::Operand{},
                            .alpha = g.alpha,
                            .beta = g.c.data ? g.beta : 0,
                            .relu = g.activation == Activation::relu,
                            .tf32 = matmul_precision != MatmulPrecision::highest};
  const probe::Launch mark(d, nullptr);
  const hal::Status status = hal::try_call<&hal::Table::matmul>(d, current_stream(d), problem);
  if (status == hal::Status::unsupported) return false;
  if (status != hal::Status::ok) hal::raise(d, "a matrix product", status);
  return true;
}

void launch_gemm(const char* op, KernelFn fn, const GemmArgs& g, Tensors4 t) {
  if (t[0]->device().is_cpu()) return fn(nullptr, &g);
  if (launch_library(g, *t[0])) return;
  launch_kernel(op, fn, t[0]->device(), g,
                {writes(*t[0]), reads(*t[1]), reads(*t[2]), t[3] ? reads(*t[3]) : Access{}});
}

// More batch dimensions than a launch holds: one launch per index of the outermost.
void launch_outer(const char* op, KernelFn fn, GemmArgs& g, Tensors4 tensors, size_t first) {
  const GemmArgs start = g;
  if (fold_batch(g, tensors, first) == 0) {
    fold_rows(g);
    return launch_gemm(op, fn, g, tensors);
  }
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

}  // namespace

void run_gemm(const char* op, const Tensor& out, const Tensor& a, const Tensor& b,
              const GemmOptions& options) {
  const Tensor* c = options.c && options.c->defined() && options.beta != 0 ? options.c : nullptr;
  check_dtypes(op, out, a, b, c);
  check_shapes(op, out, a, b);
  const KernelFn fn = kGemm.find(op, out.device(), out.dtype());
  if (out.numel() == 0) return;
  GemmArgs g;
  const size_t nd = out.sizes().size();
  g.m = out.sizes()[nd - 2];
  g.n = out.sizes()[nd - 1];
  g.k = a.sizes().back();
  g.activation = options.activation;
  g.alpha = options.alpha;
  g.beta = options.beta;
  g.out = matrix_of(out, g.m, g.n);
  g.a = matrix_of(a, g.m, g.k);
  g.b = matrix_of(b, g.k, g.n);
  g.c.data = nullptr;
  if (c) {
    if (!broadcasts_to(c->sizes(), out.sizes())) {
      fail(Code::shape, op, ": ", describe(*c), " does not broadcast to the product's shape ",
           to_string(out.sizes()));
    }
    g.c = matrix_of(*c, g.m, g.n);
  }
  const Tensor* const tensors[4] = {&out, &a, &b, c};
  if (nd == 2) {
    g.batches = 1;
    g.batch_ndim = 0;
    return launch_gemm(op, fn, g, tensors);
  }
  launch_outer(op, fn, g, tensors, 0);
}

}  // namespace flambeau
