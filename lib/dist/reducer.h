// Leaves in `.grad` of every rank the mean of all ranks' gradients. Parameters' gradients go to
// buckets; a bucket whose gradients are all there is reduced while backward goes on, and the end of
// the pass waits for all of them. Every rank begins the same reductions in the same order: buckets
// are reduced in theirs, whichever is complete first. As PyTorch's DistributedDataParallel (Li et
// al., 2020, arXiv 2006.15704).
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "dist/buckets.h"
#include "dist/group.h"

namespace flambeau::dist {

class Reducer;

// What is done with a bucket in the place of a sum that is divided by the number of ranks.
class CommHook : public RefCounted {
 public:
  virtual Ref<PendingReduction> begin(Reducer& reducer, size_t bucket) = 0;
};

// Sums in a narrower dtype, f16 or bf16.
Ref<CommHook> compressing_hook(Dtype dtype);

struct ReducerOptions {
  BucketLimits limits;
  bool init_sync = true;                // check and broadcast parameters and buffers at first
  bool broadcast_buffers = true;        // before each forward
  bool find_unused_parameters = false;  // look in the graph of the outputs
  bool static_graph = false;            // the first pass says what all others are like
  bool gradient_as_bucket_view = false;
};

class Reducer final : public RefCounted {
 public:
  struct Named {
    std::vector<std::string> names;
    std::vector<Tensor> tensors;
  };
  // Parameters that do not require grad take part in the first broadcast only.
  Reducer(Ref<Group> group, const Named& parameters, std::vector<Tensor> buffers,
          const ReducerOptions& options);

  void prepare_forward();
  // Buffers, from the rank `root` of the group.
  void broadcast(TensorsView buffers, int root);
  void prepare_backward(TensorsView outputs);
  // Whether gradients of the forwards to come are reduced; else they stay this rank's own.
  void set_synchronizing(bool on) { synchronizing_ = on; }
  bool synchronizing() const { return synchronizing_; }
  void set_static_graph();
  void set_divisor(double d) { divisor_ = d; }
  void set_hook(Ref<CommHook> hook);
  // One step of a rank that has no data left, while others do.
  void shadow();

  Group& group() const { return *group_; }
  double divisor() const { return divisor_; }
  const std::vector<Tensor>& parameters() const { return parameters_; }
  size_t bucket_count() const { return buckets_.size(); }
  Bucket& bucket(size_t i);
  bool rebuilt() const { return rebuilt_; }

 private:
  class Arrived;
  struct Pass;
  struct Whole;
  ~Reducer() override;
  void install_hooks();
  void build(std::span<const size_t> order);
  void agree_on_order();
  void refuse_unfinished() const;
  void forget_pass();
  void arrived(size_t i);
  void mark(size_t i);
  void fill(Bucket& b, size_t slot);
  void launch_complete();
  void launch(size_t b);
  bool may_wait(size_t b) const;
  void finish_first_static();
  void finish();
  void reduce_used();
  void finish_bucket(Bucket& b);
  void give_back(size_t i, const Tensor& view);
  bool tracks_use() const;
  bool may_rebuild() const { return static_graph_ || !options_.find_unused_parameters; }

  const Ref<Group> group_;
  const ReducerOptions options_;
  std::vector<std::string> names_;
  std::vector<Tensor> parameters_, buffers_;
  std::vector<Ref<Arrived>> hooks_;
  std::vector<Bucket> buckets_;
  struct Place {
    size_t bucket, slot;
  };
  std::vector<Place> places_;
  Ref<CommHook> hook_;
  double divisor_;
  bool static_graph_, synchronizing_ = true, sync_buffers_ = true, trained_ = false;

  // Of the pass that is awaited or under way.
  bool expecting_ = false, in_flight_ = false, first_arrived_ = false, first_static_ = false;
  bool failed_ = false;  // it ended by an error
  size_t next_ = 0;      // bucket to launch
  std::vector<uint8_t> ready_, unused_;
  std::vector<int32_t> used_;           // on some rank, once reduced
  std::vector<size_t> awaited_, seen_;  // of a static graph: how often each gradient is added to
  std::vector<uint8_t> never_used_;     // of a static graph: on no rank

  std::vector<size_t> order_;  // in which the first pass finished gradients
  bool rebuilt_ = false, rebuild_due_ = false;
};

}  // namespace flambeau::dist
