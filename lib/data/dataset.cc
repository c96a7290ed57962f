// The data set of tensors.
#include "data/dataset.h"

#include <cstring>

#include "base/error.h"
#include "kernels/index/index.h"
#include "ops/ops.h"

namespace flambeau::data {

namespace {

class TensorDataset final : public Dataset {
 public:
  explicit TensorDataset(std::vector<Tensor> tensors) : tensors_(std::move(tensors)) {}

  int64_t size() const override { return tensors_[0].size(0); }

  Batch fetch(std::span<const int64_t> indices) override {
    Tensor at = empty(Dims{int64_t(indices.size())}, Dtype::i64, kCpu);
    std::memcpy(at.data(), indices.data(), indices.size_bytes());
    Batch batch;
    for (const Tensor& t : tensors_) {
      Dims sizes(t.sizes());
      sizes[0] = at.numel();
      const Tensor rows = empty(sizes, t.dtype(), t.device());
      run_index_read("DataLoader", rows, t, {ops::to_device(at, t.device(), false)});
      batch.tensors.push_back(rows);
    }
    return batch;
  }

 private:
  std::vector<Tensor> tensors_;
};

}  // namespace

Ref<Dataset> from_tensors(TensorsView tensors) {
  check(!tensors.empty(), Code::invalid_argument, "a data set needs at least one tensor");
  for (size_t i = 0; i < tensors.size(); ++i) {
    check(tensors[i].dim() > 0 && tensors[i].size(0) == tensors[0].size(0), Code::shape,
          "Size mismatch between tensors: tensor ", i, " is ", tensors[i], ", tensor 0 is ",
          tensors[0], "; dimension 0 counts the samples and must be equal");
  }
  return make_ref<TensorDataset>(std::vector<Tensor>(tensors.begin(), tensors.end()));
}

}  // namespace flambeau::data
