// The loader: epochs of batches over a data set. The order of an epoch is a function of the seed
// and the epoch's number alone, so any position can be come back to without replaying what was
// before it.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "data/fetch_queue.h"

namespace flambeau::data {

struct LoaderOptions {
  int64_t batch_size = 1;
  bool shuffle = false, drop_last = false;
  int64_t num_workers = 0, prefetch_factor = 2;
  bool pin_memory = false;
  uint64_t seed = 0;
  double timeout = 0;  // seconds to wait for a batch; 0: forever
};

// A permutation of 0..n-1 that only `seed` and `epoch` decide.
std::vector<int64_t> shuffled_order(int64_t n, uint64_t seed, int64_t epoch);

}  // namespace flambeau::data

struct flam_loader final : flambeau::RefCounted {
  using Batch = flambeau::data::Batch;

  flam_loader(flambeau::Ref<flam_dataset> dataset, const flambeau::data::LoaderOptions& options);

  ~flam_loader() override;

  std::optional<Batch> next();  // nothing at the end of an epoch, once
  bool wait(double seconds);    // whether next() need not wait for a worker, by then
  int64_t size() const;         // batches per epoch; negative where not known
  int64_t epoch() const { return epoch_; }
  int64_t delivered() const { return delivered_; }
  void seek(int64_t epoch, int64_t batch);
  void submit(std::vector<int64_t> indices);

 private:
  void fill();  // submits batches of this epoch up to the prefetch depth
  std::vector<int64_t> batch_indices(int64_t batch) const;
  uint64_t batch_seed(int64_t batch) const;

  flambeau::Ref<flam_dataset> dataset_;
  flambeau::data::LoaderOptions options_;
  std::shared_ptr<flambeau::data::FetchQueue> queue_;
  std::vector<int64_t> order_;  // of the running epoch where it is shuffled
  int64_t order_epoch_ = -1;
  int64_t epoch_ = 0, delivered_ = 0, submitted_ = 0;
  bool manual_ = false;  // batches come from submit
};

namespace flambeau::data {
using Loader = ::flam_loader;
}
