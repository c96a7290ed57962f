// Laying operands out for a vendor's library and calling it; see library.h. An addend that the
// library takes in no form becomes the output's first value, to which it adds.
#include "kernels/product/library.h"

#include <algorithm>
#include <utility>

#include "device/call.h"
#include "device/matmul_layout.h"
#include "device/probe_launch.h"
#include "device/tuning.h"
#include "kernels/deterministic.h"
#include "kernels/map/map.h"

namespace flambeau {
namespace {

constexpr int kOut = 0, kAddend = 3;

// Products of one batch each that cost less than copies with which one product would do: beyond
// them, the host's time for the launches is what the device waits for.
constexpr int64_t kMostLaunches = 16;

hal::Matmul::Operand as_matrix(const GemmOperand& o, int64_t batch = 0) {
  return {o.data, o.row, o.col, batch};
}

// A dense copy; of a batch that repeats once, unless it is wanted whole.
Tensor dense(const Tensor& t, DimsView batch = {}) {
  Dims sizes(t.sizes()), once(t.sizes());
  for (size_t d = 0; d + 2 < once.size(); ++d)
    if (t.strides()[d] == 0) once[d] = 1;
  if (!batch.empty()) {
    sizes = Dims(batch);
    sizes.push_back(t.size(-2));
    sizes.push_back(t.size(-1));
  }
  const Tensor copy = empty(batch.empty() ? once : sizes, t.dtype(), t.device());
  run_cast(copy, batch.empty() ? alias(t, once, t.strides(), t.offset()) : t);
  return copy;
}

// Whether t's batch within that of the product is one of a single stride.
bool merges(const Tensor& t, DimsView product) {
  int64_t expected = -1;
  for (size_t d = product.size() - 2; d-- > 0;) {
    if (product[d] == 1) continue;
    const int64_t step = batch_stride(t, d, product.size());
    if (expected >= 0 && step != expected) return false;
    expected = step * product[d];
  }
  return true;
}

int64_t launches(GemmArgs g, GemmTensors tensors) {
  if (fold_batch(g, tensors, 0) > 0) return kMostLaunches + 1;
  fold_rows(g);
  if (g.batch_ndim <= 1) return 1;
  return g.batches / *std::max_element(g.batch_size, g.batch_size + g.batch_ndim);
}

[[maybe_unused]] const bool says_what_must_repeat =
    (tuning::must_repeat = [] { return deterministic_algorithms.load(); }) != nullptr;

bool same_place(const Tensor& a, const Tensor& b) {
  return a.data() == b.data() && std::ranges::equal(a.sizes(), b.sizes()) &&
         std::ranges::equal(a.strides(), b.strides());
}

}  // namespace

bool library_multiplies(const Tensor& out) {
  const Dtype t = out.dtype();
  if (out.device().is_cpu() || !hal::table_of(out.device()).matmul) return false;
  return t == Dtype::f32 || t == Dtype::f64 || is_half(t);
}

LibraryOperands::LibraryOperands(GemmTensors given, double beta, bool b_transposed)
    : b_transposed_(b_transposed),
      out_(*given[kOut]),
      all_{given[0], given[1], given[2], given[3]},
      matrices_(gemm_matrices(all_, b_transposed)) {
  lay_matrices();
  const int64_t batches = out_.numel() / (matrices_.m * matrices_.n);
  if (out_.dim() > 3 && batches > kMostLaunches && launches(matrices_, all_) > kMostLaunches)
    merge_batches();
  if (all_[kAddend]) lay_addend(beta);
}

void LibraryOperands::replace(int operand, Tensor by) {
  made_[operand] = std::move(by);
  point(operand, made_[operand]);
}

void LibraryOperands::point(int operand, const Tensor& to) {
  all_[operand] = &to;
  matrices_ = gemm_matrices(all_, b_transposed_);
}

void LibraryOperands::lay_matrices() {
  const GemmArgs& g = matrices_;
  const auto lies = [](const GemmOperand& o, int64_t rows, int64_t cols) {
    return lies_in_rows(as_matrix(o), rows, cols) || lies_in_columns(as_matrix(o), rows, cols);
  };
  if (!lies(g.out, g.m, g.n)) replace(kOut, empty(out_.sizes(), out_.dtype(), out_.device()));
  if (!lies(g.a, g.m, g.k)) replace(1, dense(*all_[1]));
  if (!lies(g.b, g.k, g.n)) replace(2, dense(*all_[2]));
}

void LibraryOperands::merge_batches() {
  const DimsView sizes = out_.sizes(), batch = sizes.first(sizes.size() - 2);
  if (!merges(*all_[kOut], sizes)) replace(kOut, empty(sizes, out_.dtype(), out_.device()));
  for (int operand : {1, 2})
    if (!merges(*all_[operand], sizes)) replace(operand, dense(*all_[operand], batch));
  if (all_[kAddend] && !merges(*all_[kAddend], sizes)) {
    run_cast(*all_[kOut], *all_[kAddend]);
    point(kAddend, *all_[kOut]);
  }
}

void LibraryOperands::lay_addend(double beta) {
  const Tensor &out = *all_[kOut], &c = *all_[kAddend];
  if (same_place(out, c)) return;
  const GemmArgs& g = matrices_;
  const DimsView sizes = out.sizes();
  int64_t step = 0;  // whether any batch dimension has one
  for (size_t d = 0; d + 2 < sizes.size(); ++d)
    if (sizes[d] > 1) step |= batch_stride(c, d, sizes.size());
  hal::Matmul p;
  p.m = g.m;
  p.n = g.n;
  p.batches = 2;  // any number: the strides tell
  p.out = as_matrix(g.out);
  p.c = as_matrix(g.c, step);
  p.beta = beta;
  if (!lies_in_rows(as_matrix(g.out), g.m, g.n)) {
    std::swap(p.m, p.n);
    p.c = transposed(p.c);
  }
  if (is_bias(p) || lies_in_rows(p.c, p.m, p.n)) return;
  run_cast(out, c);
  point(kAddend, *all_[kOut]);
}

void LibraryOperands::finish() const {
  if (all_[kOut] != &out_) run_cast(out_, *all_[kOut]);
}

bool launch_library(const GemmArgs& g, const Tensor& out, void* row_sums) {
  const Device d = out.device();
  if (!library_multiplies(out) || g.batch_ndim > 1) return false;
  const auto operand = [&](const GemmOperand& o) {
    return as_matrix(o, g.batch_ndim ? o.batch[0] : 0);
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
                            .tf32 = g.tf32,
                            .row_sums = row_sums};
  const probe::Launch mark(d, nullptr);
  const hal::Status status = hal::try_call<&hal::Table::matmul>(d, current_stream(d), problem);
  if (status == hal::Status::unsupported) return false;
  if (status != hal::Status::ok) hal::raise(d, "a matrix product", status);
  return true;
}

}  // namespace flambeau
