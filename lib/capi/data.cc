// Data sets and loaders at the ABI.
#include "flambeau/data.h"
#include "base/error.h"
#include "capi/callback.h"
#include "capi/gen/targets.h"

namespace flambeau::capi {

namespace {

constexpr const char* kFetch = "data set fetch";

class CallbackDataset final : public flam_dataset {
 public:
  explicit CallbackDataset(const flam_dataset_vtable& v) : callback_(v.user, v.drop), v_(v) {}

  int64_t size() const override {
    if (!v_.size) return -1;
    const HostCall call;
    const int64_t n = v_.size(v_.user);
    call.check("a data set's size", FLAM_OK);
    return n;
  }

  data::Batch fetch(std::span<const int64_t> indices) override {
    flam_tensor_list* list = nullptr;
    void* item = nullptr;
    HostCall call;
    flam_status status = v_.fetch(v_.user, indices.data(), indices.size(), &list, &item);
    if (checking_handles && wrong_handle(kFetch, {{"the batch", list, "flam_tensor_list", true}})) {
      list = nullptr;
      if (status == FLAM_OK) status = FLAM_ERROR_INVALID_ARGUMENT;
    }
    const auto owned = Ref<flam_tensor_list>::adopt(take_over(list));
    if (item) call.let_go();  // an item's tensors are its own, wherever it holds them
    data::Batch batch;
    const auto drop = v_.drop_item;
    if (item) batch.item = {item, [drop](void* p) { call_drop(drop, p); }};
    call.check(kFetch, status);
    check(owned || item, Code::callback,
          "the data set's fetch returned neither a batch nor an item");
    if (owned) batch.tensors = owned->tensors;
    return batch;
  }

 private:
  Callback callback_;
  flam_dataset_vtable v_;
};

}  // namespace

Ref<flam_dataset> dataset_from_tensors(TensorsView tensors) { return data::from_tensors(tensors); }

Ref<flam_dataset> dataset_new(const flam_dataset_vtable* vtable) {
  const auto v = sized_copy(vtable, "flam_dataset_vtable");
  auto dataset = make_ref<CallbackDataset>(v);
  check(v.fetch != nullptr, Code::invalid_argument, "flam_dataset_new: the vtable has no fetch");
  return dataset;
}

int64_t dataset_size(const flam_dataset* dataset) { return dataset->size(); }

Ref<flam_loader> loader_new(flam_dataset* dataset, int64_t batch_size, bool shuffle, bool drop_last,
                            int64_t num_workers, int64_t prefetch_factor, bool pin_memory,
                            uint64_t seed, double timeout) {
  data::LoaderOptions own;
  own.batch_size = batch_size;
  own.shuffle = shuffle;
  own.drop_last = drop_last;
  own.num_workers = num_workers;
  own.prefetch_factor = prefetch_factor;
  own.pin_memory = pin_memory;
  own.seed = seed;
  own.timeout = timeout;
  return make_ref<flam_loader>(Ref<flam_dataset>::share(dataset), own);
}

std::tuple<Ref<flam_tensor_list>, OwnedPointer> loader_next(flam_loader* loader) {
  const probe::Span span(probe::Kind::range, "DataLoader.next");
  std::optional<data::Batch> batch = loader->next();
  if (!batch) return {};
  if (batch->item) return {nullptr, std::move(batch->item)};
  return {make_list(std::move(batch->tensors)), OwnedPointer()};
}

bool loader_wait(flam_loader* loader, double seconds) { return loader->wait(seconds); }

int64_t loader_size(const flam_loader* loader) { return loader->size(); }

std::tuple<int64_t, int64_t> loader_position(const flam_loader* loader) {
  return {loader->epoch(), loader->delivered()};
}

void loader_seek(flam_loader* loader, int64_t epoch, int64_t batch) { loader->seek(epoch, batch); }

void loader_submit(flam_loader* loader, DimsView indices) {
  loader->submit(std::vector<int64_t>(indices.begin(), indices.end()));
}

}  // namespace flambeau::capi
