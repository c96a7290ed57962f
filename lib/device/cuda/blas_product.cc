// Telling cuBLASLt of a kind of product, and running one; see blas_product.h.
#include "device/cuda/blas_product.h"

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

BlasProduct::BlasProduct(const lt::Functions& f, lt::Handle handle, const BlasProblem& p)
    : f_(f), handle_(handle), bias_(p.plan.bias) {
  blas_ok(f_.desc_create(desc_.out(), p.types.compute, p.types.scale), "creating a product");
  set(lt::kTransA, int32_t(p.plan.first.transposed));
  set(lt::kTransB, int32_t(p.plan.second.transposed));
  set(lt::kEpilogue, p.epilogue);
  if (bias_) set(lt::kBiasPointer, bias_);
  lay_out(first_, p.plan.first, p);
  lay_out(second_, p.plan.second, p);
  lay_out(c_, p.plan.c, p);
  lay_out(out_, p.plan.out, p);
  algorithm_ = ask(p);
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

std::optional<lt::Heuristic> BlasProduct::ask(const BlasProblem& p) const {
  Owned<lt::Preference> preference(f_.preference_destroy);
  blas_ok(f_.preference_create(preference.out()), "creating a preference");
  const auto prefer = [&](int attribute, const auto& value) {
    blas_ok(f_.preference_set(preference, attribute, &value, sizeof value), "setting a preference");
  };
  prefer(lt::kMaxWorkspace, kWorkspace);
  prefer(lt::kMinAlignmentA, p.by.first);
  prefer(lt::kMinAlignmentB, p.by.second);
  prefer(lt::kMinAlignmentC, p.by.c);
  prefer(lt::kMinAlignmentD, p.by.out);
  lt::Heuristic best{};
  int found = 0;
  const RelaxedCapture relaxed;
  const int status =
      f_.heuristic(handle_, desc_, first_, second_, c_, out_, preference, 1, &best, &found);
  if (blas_unsupported(status)) return std::nullopt;
  blas_ok(status, "choosing an algorithm");
  if (found == 0 || best.state != lt::kSuccess) return std::nullopt;
  return best;
}

std::optional<lt::Heuristic> BlasProduct::algorithm() const {
  const std::lock_guard lock(mutex_);
  return algorithm_;
}

void BlasProduct::give_up() {
  const std::lock_guard lock(mutex_);
  algorithm_.reset();
}

int BlasProduct::run(const BlasProblem& p, const lt::Heuristic& by, double alpha, double beta,
                     void* workspace, lt::NativeStream stream) {
  const bool wide = p.types.scale == lt::kReal64;
  const Scalar by_alpha(alpha, wide), by_beta(beta, wide);
  const std::lock_guard lock(mutex_);
  if (bias_ != p.plan.bias) {
    set(lt::kBiasPointer, p.plan.bias);
    bias_ = p.plan.bias;
  }
  return f_.matmul(handle_, desc_, &by_alpha, p.plan.first_data, first_, p.plan.second_data,
                   second_, &by_beta, p.plan.c_data, c_, p.plan.out_data, out_, &by.algo, workspace,
                   by.workspace, stream);
}

}  // namespace flambeau::cuda
