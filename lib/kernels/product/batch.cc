// Folding a product's batch; see batch.h. Dimensions are walked from the innermost outwards,
// so that what lies together is merged first.
#include "kernels/product/batch.h"

#include <utility>

namespace flambeau {
namespace {

bool mergeable(const GemmOperand& outer, int64_t outer_stride, int64_t inner_stride,
               int64_t inner) {
  return !outer.data || outer_stride == inner_stride * inner;
}

GemmOperand matrix_of(const Tensor& t, int64_t rows, int64_t cols) {
  GemmOperand o;
  const DimsView sizes = t.sizes(), strides = t.strides();
  const size_t nd = sizes.size();
  o.data = static_cast<char*>(t.data());
  o.row = nd < 2 || (sizes[nd - 2] == 1 && rows != 1) ? 0 : strides[nd - 2];
  o.col = nd < 1 || (sizes[nd - 1] == 1 && cols != 1) ? 0 : strides[nd - 1];
  return o;
}

}  // namespace

GemmArgs gemm_matrices(GemmTensors tensors, bool b_transposed) {
  const Tensor &out = *tensors[0], &a = *tensors[1], &b = *tensors[2];
  const DimsView sizes = out.sizes();
  GemmArgs g;
  g.m = sizes[sizes.size() - 2];
  g.n = sizes.back();
  g.k = a.sizes().back();
  g.batches = 1;
  g.batch_ndim = 0;
  g.out = matrix_of(out, g.m, g.n);
  g.a = matrix_of(a, g.m, g.k);
  g.b = b_transposed ? matrix_of(b, g.n, g.k) : matrix_of(b, g.k, g.n);
  if (b_transposed) std::swap(g.b.row, g.b.col);
  g.c.data = nullptr;
  if (tensors[3]) g.c = matrix_of(*tensors[3], g.m, g.n);
  return g;
}

int64_t batch_stride(const Tensor& t, size_t dim, size_t out_ndim) {
  const size_t shift = out_ndim - t.sizes().size();
  if (dim < shift || t.sizes()[dim - shift] == 1) return 0;
  return t.strides()[dim - shift];
}

size_t fold_batch(GemmArgs& g, GemmTensors tensors, size_t first) {
  GemmOperand* const operands[4] = {&g.out, &g.a, &g.b, &g.c};
  const DimsView of_out = tensors[0]->sizes();
  const size_t nd = of_out.size();
  size_t at = nd - 2;
  int64_t sizes[kGemmBatchDims], strides[4][kGemmBatchDims];  // innermost first
  int n = 0;
  g.batches = 1;
  for (; at > first; --at) {
    const int64_t size = of_out[at - 1];
    if (size == 1) continue;
    int64_t step[4] = {};
    bool merge = n > 0;
    for (int o = 0; o < 4; ++o) {
      if (!operands[o]->data) continue;
      step[o] = batch_stride(*tensors[o], at - 1, nd);
      merge = merge && mergeable(*operands[o], step[o], strides[o][n - 1], sizes[n - 1]);
    }
    if (merge) {
      sizes[n - 1] *= size;
    } else if (n == kGemmBatchDims) {
      break;
    } else {
      sizes[n] = size;
      for (int o = 0; o < 4; ++o) strides[o][n] = step[o];
      ++n;
    }
    g.batches *= size;
  }
  g.batch_ndim = n;
  for (int d = 0; d < n; ++d) {
    g.batch_size[d] = sizes[n - 1 - d];
    for (int o = 0; o < 4; ++o) operands[o]->batch[d] = strides[o][n - 1 - d];
  }
  return at - first;
}

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

}  // namespace flambeau
