// See loader.h. An epoch's order is drawn by counter-based numbers of the seed and the epoch, which
// no other draw of the program moves.
#include "data/loader.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "kernels/random/philox.h"

namespace flambeau::data {

std::vector<int64_t> shuffled_order(int64_t n, uint64_t seed, int64_t epoch) {
  std::vector<int64_t> order(size_t(n), 0);
  std::iota(order.begin(), order.end(), 0);
  // Fisher and Yates; a 64-bit draw per swap leaves a bias below 2^-40 for any n that fits in
  // memory.
  for (int64_t i = n - 1; i > 0; --i) {
    const Words w = philox(seed, uint64_t(epoch), uint64_t(i));
    const uint64_t draw = uint64_t(w.word[0]) << 32 | w.word[1];
    const auto j = size_t((unsigned __int128)(draw)*uint64_t(i + 1) >> 64);
    std::swap(order[size_t(i)], order[j]);
  }
  return order;
}

// Beyond them lie slips of the pen: no machine runs so many threads, none holds so many batches.
constexpr int64_t kMostWorkers = 4096, kMostAhead = 1'000'000;

static void check_options(const LoaderOptions& o) {
  check(o.batch_size > 0, Code::invalid_argument,
        "batch_size should be a positive integer value, but got batch_size=", o.batch_size);
  check(o.num_workers >= 0, Code::invalid_argument,
        "num_workers option should be non-negative; use num_workers=0 to disable multithreading, "
        "got ",
        o.num_workers);
  check(o.num_workers <= kMostWorkers, Code::invalid_argument, "num_workers must be at most ",
        kMostWorkers, ", got ", o.num_workers);
  check(o.prefetch_factor > 0, Code::invalid_argument,
        "prefetch_factor option should be positive, got ", o.prefetch_factor);
  check(o.timeout >= 0, Code::invalid_argument, "timeout option should be non-negative, got ",
        o.timeout);
  check(o.timeout == 0 || o.num_workers > 0, Code::invalid_argument,
        "timeout option needs num_workers > 0: without workers the caller fetches, got timeout=",
        o.timeout);
  check(o.prefetch_factor <= kMostAhead, Code::invalid_argument, "prefetch_factor must be at most ",
        kMostAhead, ", got ", o.prefetch_factor);
}

}  // namespace flambeau::data

using namespace flambeau;

flam_loader::flam_loader(Ref<flam_dataset> dataset, const data::LoaderOptions& options)
    : dataset_(std::move(dataset)),
      options_((data::check_options(options), options)),
      queue_(std::make_shared<data::FetchQueue>(dataset_, options.pin_memory)) {
  queue_->start(int(options.num_workers));
}

flam_loader::~flam_loader() {
  if (!queue_->lost_workers()) queue_->stop();
}

int64_t flam_loader::size() const {
  const int64_t n = dataset_->size(), b = options_.batch_size;
  if (n < 0) return -1;
  return n / b + (options_.drop_last || n % b == 0 ? 0 : 1);
}

std::vector<int64_t> flam_loader::batch_indices(int64_t batch) const {
  const int64_t first = batch * options_.batch_size;
  const int64_t last = first + std::min(options_.batch_size, dataset_->size() - first);
  std::vector<int64_t> indices(size_t(last - first), 0);
  for (int64_t i = first; i < last; ++i)
    indices[size_t(i - first)] = options_.shuffle ? order_[size_t(i)] : i;
  return indices;
}

void flam_loader::fill() {
  const int64_t depth = std::max<int64_t>(1, options_.num_workers * options_.prefetch_factor);
  const int64_t total = size();
  if (options_.shuffle && order_epoch_ != epoch_) {
    order_ = data::shuffled_order(dataset_->size(), options_.seed, epoch_);
    order_epoch_ = epoch_;
  }
  while (submitted_ < total && submitted_ - delivered_ < depth) {
    queue_->submit(batch_indices(submitted_), batch_seed(submitted_));
    ++submitted_;
  }
}

uint64_t flam_loader::batch_seed(int64_t batch) const {
  const Words w = philox(options_.seed, ~uint64_t(epoch_), uint64_t(batch));
  return uint64_t(w.word[0]) << 32 | w.word[1];
}

std::optional<data::Batch> flam_loader::next() {
  if (!manual_) {
    check(dataset_->size() >= 0, Code::unsupported,
          "a data set of unknown size has no epochs: submit its batches with flam_loader_submit");
    fill();
  }
  if (queue_->empty()) {
    ++epoch_;
    delivered_ = submitted_ = 0;
    return std::nullopt;
  }
  queue_->wait(options_.timeout);
  ++delivered_;  // also where the fetch failed: the next call goes on behind it
  Batch batch = queue_->next();
  if (!manual_) fill();
  return batch;
}

bool flam_loader::wait(double seconds) {
  check(seconds >= 0, Code::invalid_argument, "the time to wait must be non-negative, got ",
        seconds, " s");
  if (!manual_ && dataset_->size() >= 0) fill();
  return queue_->ready_within(seconds);
}

void flam_loader::seek(int64_t epoch, int64_t batch) {
  check(epoch >= 0 && batch >= 0 && (size() < 0 || batch <= size()), Code::index,
        "position (epoch ", epoch, ", batch ", batch, ") is outside an epoch of ", size(),
        " batches");
  queue_->clear();
  epoch_ = epoch;
  delivered_ = submitted_ = batch;
}

void flam_loader::submit(std::vector<int64_t> indices) {
  if (!manual_) queue_->clear();
  manual_ = true;
  queue_->submit(std::move(indices), batch_seed(submitted_));
  ++submitted_;
}
