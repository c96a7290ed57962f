// Telling cuBLASLt of a kind of product, and running one; see blas_product.h.
#include "device/cuda/blas_product.h"

#include <algorithm>

#include "device/cuda/status.h"

namespace flambeau::cuda {
namespace {

constexpr size_t kWorkspace = size_t(32) << 20;  // what cuBLAS advises for Hopper

// alpha and beta in the type that the product is scaled in.
union Scalar {
  float f32;
  double f64;
  Scalar(double v, bool wide) { wide ? void(f64 = v) : void(f32 = float(v)); }
};

}  // namespace

void blas_ok(int status, const char* what) {
  if (status != lt::kSuccess) throw BlasFailure{status, what};
}

bool blas_unsupported(int status) {
  return status == lt::kArchMismatch || status == lt::kNotSupported;
}

BlasProduct::BlasProduct(const lt::Functions& f, lt::Handle handle, const BlasProblem& p,
                         const hal::SlopedMatmul& m)
    : f_(f),
      handle_(handle),
      swapped_(p.plan.swapped),
      has_c_(p.plan.has_c),
      has_bias_(p.plan.bias),
      wide_(p.types.scale == lt::kReal64),
      by_(p.by),
      vector_(vector_of(m)),
      aux_(m.gelu_input.data) {
  blas_ok(f_.desc_create(desc_.out(), p.types.compute, p.types.scale), "creating a product");
  set(lt::kTransA, int32_t(p.plan.first.transposed));
  set(lt::kTransB, int32_t(p.plan.second.transposed));
  set(lt::kEpilogue, p.epilogue);
  if (vector_) set(lt::kBiasPointer, vector_);
  if (aux_) set(lt::kAuxPointer, aux_);
  if (aux_) set(lt::kAuxLd, m.gelu_input.row);
  lay_out(first_, p.plan.first, p);
  lay_out(second_, p.plan.second, p);
  lay_out(c_, p.plan.c, p);
  lay_out(out_, p.plan.out, p);
  if (const std::vector<lt::Heuristic> best = ask(1); !best.empty()) algorithm_ = best[0];
}

template <class V>
void BlasProduct::set(int attribute, const V& value) {
  blas_ok(f_.desc_set(desc_, attribute, &value, sizeof value), "setting an attribute");
}

void BlasProduct::lay_out(Owned<lt::Layout>& l, const ColumnMatrix& m, const BlasProblem& p) {
  blas_ok(f_.layout_create(l.out(), p.types.data, uint64_t(m.rows), uint64_t(m.cols), m.ld),
          "creating a layout");
  if (p.batches == 1) return;
  const int32_t count = int32_t(p.batches);
  blas_ok(f_.layout_set(l, lt::kBatchCount, &count, sizeof count), "setting a batch");
  blas_ok(f_.layout_set(l, lt::kBatchOffset, &m.batch, sizeof m.batch), "setting a batch stride");
}

std::vector<lt::Heuristic> BlasProduct::ask(int most) const {
  Owned<lt::Preference> preference(f_.preference_destroy);
  blas_ok(f_.preference_create(preference.out()), "creating a preference");
  const auto prefer = [&](int attribute, const auto& value) {
    blas_ok(f_.preference_set(preference, attribute, &value, sizeof value), "setting a preference");
  };
  prefer(lt::kMaxWorkspace, kWorkspace);
  prefer(lt::kMinAlignmentA, by_.first);
  prefer(lt::kMinAlignmentB, by_.second);
  prefer(lt::kMinAlignmentC, by_.c);
  prefer(lt::kMinAlignmentD, by_.out);
  std::vector<lt::Heuristic> best(size_t(most), lt::Heuristic{});
  int found = 0;
  const RelaxedCapture relaxed;
  const int status = f_.heuristic(handle_, desc_, first_, second_, c_, out_, preference, most,
                                  best.data(), &found);
  if (blas_unsupported(status)) return {};
  blas_ok(status, "choosing an algorithm");
  best.resize(size_t(std::max(found, 0)));
  std::erase_if(best, [](const lt::Heuristic& h) { return h.state != lt::kSuccess; });
  return best;
}

const lt::Heuristic* BlasProduct::tune(const lt::Heuristic& fastest) {
  const std::lock_guard lock(mutex_);
  if (!fastest_) {
    fastest_ = fastest;
    tuned_.store(&*fastest_, std::memory_order_release);
  }
  return &*fastest_;
}

int BlasProduct::run(const hal::SlopedMatmul& p, const lt::Heuristic& by, void* workspace,
                     lt::NativeStream stream) {
  const void* const vector = vector_of(p);
  if (!vector && !p.gelu_input.data) return enqueue(p, by, workspace, stream);
  const std::lock_guard lock(mutex_);
  point(lt::kBiasPointer, vector_, vector);
  point(lt::kAuxPointer, aux_, p.gelu_input.data);
  return enqueue(p, by, workspace, stream);
}

void BlasProduct::point(int attribute, const void*& at, const void* to) {
  if (at == to) return;
  at = nullptr;  // where telling fails, the next call tells again
  set(attribute, to);
  at = to;
}

int BlasProduct::enqueue(const hal::Matmul& p, const lt::Heuristic& by, void* workspace,
                         lt::NativeStream stream) const {
  const Scalar alpha(p.alpha, wide_), beta(has_c_ ? p.beta : 0, wide_);
  const void* const first = swapped_ ? p.a.data : p.b.data;
  const void* const second = swapped_ ? p.b.data : p.a.data;
  return f_.matmul(handle_, desc_, &alpha, first, first_, second, second_, &beta,
                   has_c_ ? p.c.data : p.out.data, c_, p.out.data, out_, &by.algo, workspace,
                   by.workspace, stream);
}

}  // namespace flambeau::cuda
