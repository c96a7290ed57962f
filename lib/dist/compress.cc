// Reductions in half of the bytes: a bucket is divided, then rounded, and the ranks' parts are
// added in that dtype. Divided first, a mean that f16 can hold does not overflow on its way.
#include "dist/collectives.h"
#include "dist/reducer.h"
#include "ops/ops.h"

namespace flambeau::dist {
namespace {

class Compressed final : public PendingReduction {
 public:
  Compressed(Tensor values, Ref<Work> work) : values_(std::move(values)), work_(std::move(work)) {}
  Tensor wait() override {
    work_->wait();
    return values_;
  }

 private:
  Tensor values_;
  Ref<Work> work_;
};

class Compressing final : public CommHook {
 public:
  explicit Compressing(Dtype dtype) : dtype_(dtype) {}
  Ref<PendingReduction> begin(Reducer& reducer, size_t bucket) override {
    const Tensor part =
        ops::mul(reducer.bucket(bucket).flat, wrapped_number(1 / double(reducer.group().size())));
    const Tensor mean = ops::to_dtype(part, dtype_);
    return make_ref<Compressed>(mean, all_reduce(reducer.group(), {&mean, 1}, {}, true));
  }

 private:
  const Dtype dtype_;
};

}  // namespace

Ref<CommHook> compressing_hook(Dtype dtype) {
  check(dtype == Dtype::f16 || dtype == Dtype::bf16, Code::dtype,
        "gradients can be compressed to float16 or bfloat16, not to ", name_of(dtype));
  return make_ref<Compressing>(dtype);
}

}  // namespace flambeau::dist
