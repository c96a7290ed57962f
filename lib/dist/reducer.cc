// What happens between a forward and the end of its backward. See reducer.h.
#include "dist/reducer.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "base/interrupt.h"
#include "dist/agreement.h"
#include "dist/collectives.h"
#include "dist/reachable.h"
#include "engine/backward.h"
#include "graph/mode.h"
#include "ops/ops.h"

namespace flambeau::dist {
namespace {

class Summing final : public PendingReduction {
 public:
  explicit Summing(Ref<Work> work) : work_(std::move(work)) {}
  Tensor wait() override {
    work_->wait();
    return {};
  }

 private:
  Ref<Work> work_;
};

Ref<PendingReduction> sum(Group& g, const Tensor& t, bool async) {
  return make_ref<Summing>(all_reduce(g, {&t, 1}, {}, async));
}

bool same_memory(const Tensor& a, const Tensor& b) {
  return a.storage() == b.storage() && a.offset() == b.offset();
}

}  // namespace

// On a parameter, whenever its gradient was added to. The reducer takes it away before it ends.
class Reducer::Arrived final : public NodeHook {
 public:
  Arrived(Reducer* owner, size_t parameter) : owner_(owner), parameter_(parameter) {}
  void call(Tensors&, TensorsView) override {
    if (!removed) owner_->arrived(parameter_);
  }

 private:
  Reducer* const owner_;
  const size_t parameter_;
};

// Held by a backward pass; its end comes without a call where the pass fails.
struct Reducer::Pass {
  const Ref<Reducer> owner;
  bool ended = false;
  explicit Pass(Reducer* reducer) : owner(Ref<Reducer>::share(reducer)) {}
  Pass(const Pass&) = delete;
  ~Pass() {
    if (!ended) owner->failed_ = true;
  }
};

// Of calls that all ranks make: where Ctrl-C has ended the wait for one, the rest is missing here.
struct Reducer::Whole {
  Reducer* const reducer;
  const uint64_t interrupts = t_interrupts;
  ~Whole() {
    if (interrupts != t_interrupts) reducer->in_flight_ = reducer->failed_ = true;
  }
};

Reducer::Reducer(Ref<Group> group, const Named& given, std::vector<Tensor> buffers,
                 const ReducerOptions& options)
    : group_(std::move(group)),
      options_(options),
      buffers_(std::move(buffers)),
      divisor_(group_->size()),
      static_graph_(options.static_graph) {
  std::vector<Tensor> all;
  std::vector<std::string> all_names;
  for (size_t i = 0; i < given.tensors.size(); ++i) {
    const Tensor& t = given.tensors[i];
    if (std::ranges::any_of(all, [&](const Tensor& other) { return other.is_same(t); })) continue;
    all.push_back(t);
    all_names.push_back(given.names[i]);
    if (!requires_grad(t)) continue;
    check(is_leaf(t), Code::autograd, "DistributedDataParallel: parameter \"", given.names[i],
          "\" is no leaf of the graph: ", t);
    parameters_.push_back(t);
    names_.push_back(given.names[i]);
  }
  check(!parameters_.empty(), Code::invalid_argument,
        "DistributedDataParallel is not needed when a module doesn't have any parameter that "
        "requires a gradient.");
  if (options_.init_sync) {
    check_same_parameters(*group_, all, all_names);
    if (group_->size() > 1) {
      all.insert(all.end(), buffers_.begin(), buffers_.end());
      broadcast_all(*group_, all, 0);
    }
  }
  used_.resize(parameters_.size());
  never_used_.resize(parameters_.size());
  std::vector<size_t> order(parameters_.size());
  std::iota(order.rbegin(), order.rend(), size_t{0});
  build(order);
  install_hooks();
}

void Reducer::install_hooks() {
  try {
    for (size_t i = 0; i < parameters_.size(); ++i) {
      auto& slot = autograd_data(parameters_[i]).node_hooks;
      if (!slot) slot = std::make_unique<NodeHooks>();
      hooks_.push_back(make_ref<Arrived>(this, i));
      add_hook(slot->after, Ref<NodeHook>(hooks_.back()));
    }
  } catch (...) {  // no destructor runs
    for (const auto& hook : hooks_) hook->removed = true;
    throw;
  }
}

Reducer::~Reducer() {
  for (const auto& hook : hooks_) hook->removed = true;
}

Bucket& Reducer::bucket(size_t i) {
  check(i < buckets_.size(), Code::index, "bucket ", i, " is out of range for ", buckets_.size(),
        " buckets");
  return buckets_[i];
}

void Reducer::set_hook(Ref<CommHook> hook) {
  check(!hook_, Code::invalid_argument,
        "register_comm_hook or register_builtin_comm_hook can only be called once.");
  hook_ = std::move(hook);
}

void Reducer::set_static_graph() {
  check(!trained_, Code::invalid_argument,
        "set_static_graph() should be called before training loop starts and after "
        "DistributedDataParallel is constructed.");
  static_graph_ = true;
}

void Reducer::build(std::span<const size_t> order) {
  std::vector<Bucket> made;
  for (auto& members : assign_buckets(parameters_, order, options_.limits))
    made.emplace_back(parameters_, std::move(members));
  buckets_ = std::move(made);
  places_.resize(parameters_.size());
  for (size_t b = 0; b < buckets_.size(); ++b)
    for (size_t s = 0; s < buckets_[b].members.size(); ++s)
      places_[buckets_[b].members[s]] = {b, s};
  forget_pass();
}

bool Reducer::tracks_use() const { return options_.find_unused_parameters || first_static_; }

void Reducer::forget_pass() {
  next_ = 0;
  in_flight_ = first_arrived_ = failed_ = false;
  ready_.assign(parameters_.size(), 0);
  unused_.assign(parameters_.size(), 0);
  std::ranges::fill(used_, 0);
  seen_.assign(parameters_.size(), 0);
  for (Bucket& b : buckets_) {
    b.missing = b.members.size();
    b.pending = nullptr;
  }
}

void Reducer::refuse_unfinished() const {
  if (!in_flight_) return;
  group_->check_goes_on();
  if (failed_)
    throw Error(Code::autograd, "the last pass ended by an error",
                "gradients that it did not get to were not reduced; the other ranks may wait",
                "start all ranks again, from the last checkpoint");
  std::string indices, names;
  for (size_t i = 0; i < ready_.size(); ++i) {
    if (ready_[i]) continue;
    indices += cat_text(' ', i);
    names += (names.empty() ? "" : ", ") + names_[i];
  }
  throw Error(
      Code::autograd,
      "Expected to have finished reduction in the prior iteration before starting a new one. This "
      "error indicates that your module has parameters that were not used in producing loss.",
      cat_text("Parameters which did not receive grad for rank ", group_->rank(), ": ", names,
               "\nParameter indices which did not receive grad for rank ", group_->rank(), ":",
               indices),
      "find_unused_parameters=True, with all outputs of forward in the loss; or leave out what is "
      "not used");
}

void Reducer::agree_on_order() {
  std::vector<uint8_t> named(parameters_.size(), 0);
  std::erase_if(order_, [&](size_t i) { return std::exchange(named[i], 1) != 0; });
  for (size_t i = 0; i < parameters_.size(); ++i)
    if (!named[i]) order_.push_back(i);
  const std::vector<int64_t> mine(order_.begin(), order_.end());
  const auto agreed =
      group_->size() > 1 ? broadcast_numbers(*group_, parameters_[0].device(), mine, 0) : mine;
  build(std::vector<size_t>(agreed.begin(), agreed.end()));
  rebuilt_ = true;
  rebuild_due_ = false;
}

void Reducer::prepare_forward() {
  if (modes.grad && synchronizing_) refuse_unfinished();
  const Whole whole{this};
  if (modes.grad && synchronizing_ && rebuild_due_) agree_on_order();
  if (options_.broadcast_buffers && sync_buffers_ && group_->size() > 1 && !buffers_.empty())
    broadcast_all(*group_, buffers_, 0);
}

void Reducer::broadcast(TensorsView buffers, int root) {
  const Whole whole{this};
  broadcast_all(*group_, buffers, root);
}

void Reducer::prepare_backward(TensorsView outputs) {
  sync_buffers_ = expecting_ = modes.grad && synchronizing_;
  if (!expecting_) return;
  trained_ = true;
  forget_pass();
  first_static_ = static_graph_ && awaited_.empty();
  if (!options_.find_unused_parameters || static_graph_) return;
  const auto leaves = reachable_leaves(outputs);
  for (size_t i = 0; i < parameters_.size(); ++i)
    unused_[i] = !leaves.contains(parameters_[i].impl());
}

void Reducer::arrived(size_t i) {
  if (!expecting_) return;
  const GradMode off(false);
  if (!std::exchange(first_arrived_, true)) {
    after_pass([pass = std::make_shared<Pass>(this)] { pass->ended = true; });
    if (first_static_)
      after_pass([self = Ref<Reducer>::share(this)] { self->finish_first_static(); });
    for (size_t u = 0; u < unused_.size(); ++u)
      if (unused_[u] || (static_graph_ && !first_static_ && !awaited_[u])) mark(u);
  }
  ++seen_[i];
  if (first_static_) {
    in_flight_ = true;
    const auto before = std::ranges::find(order_, i);
    if (before != order_.end()) order_.erase(before);
    order_.push_back(i);
    return;
  }
  if (static_graph_ && seen_[i] < awaited_[i]) return;
  if (!rebuilt_ && !rebuild_due_ && may_rebuild()) order_.push_back(i);
  mark(i);
}

// The pass is over: what no gradient came for is not used.
void Reducer::finish_first_static() {
  const GradMode off(false);
  for (size_t i = 0; i < parameters_.size(); ++i) mark(i);
  awaited_ = seen_;
}

void Reducer::mark(size_t i) {
  const auto [b, slot] = places_[i];
  Bucket& bucket = buckets_[b];
  if (ready_[i])
    throw Error(Code::autograd, "Expected to mark a variable ready only once.",
                cat_text("parameter ", i, " (", names_[i], ") got a second gradient in one pass"),
                "static_graph=True where a parameter is used in several reentrant backward passes "
                "(checkpoint with use_reentrant=True); keep parameters out of what runs outside of "
                "forward()");
  ready_[i] = 1;
  in_flight_ = true;
  fill(bucket, slot);
  if (--bucket.missing == 0) launch_complete();
}

// A hook sees plain gradients; else they are divided first: no sum of a half type then overflows.
void Reducer::fill(Bucket& b, size_t slot) {
  const size_t i = b.members[slot];
  const Tensor& view = b.views[slot];
  Tensor& grad = autograd_data(parameters_[i]).grad;
  if (!grad) {
    ops::zero_(view);
    return;
  }
  used_[i] = 1;
  const bool there = same_memory(grad, view);
  if (hook_ || divisor_ == 1) {
    if (!there) ops::copy_(view, grad);
  } else if (there) {
    ops::mul_(view, wrapped_number(1 / divisor_));
  } else {
    ops::mul_out(grad, wrapped_number(1 / divisor_), view);
  }
  if (options_.gradient_as_bucket_view && !there) grad = view;
}

void Reducer::launch_complete() {
  while (next_ < buckets_.size() && buckets_[next_].missing == 0) {
    if (!may_wait(next_)) launch(next_);
    ++next_;
  }
  if (next_ == buckets_.size() && in_flight_)
    after_pass([self = Ref<Reducer>::share(this)] { self->finish(); });
}

// Nothing of the pass is left that a small last bucket could be reduced beside: at its end this
// thread does it itself, which is sooner than to wake another.
bool Reducer::may_wait(size_t b) const {
  constexpr size_t small = 1 << 20;
  return !hook_ && b + 1 == buckets_.size() && buckets_[b].flat.nbytes() <= small;
}

void Reducer::launch(size_t b) {
  const PurposeScope counted(Purpose::gradients);
  buckets_[b].pending =
      hook_ ? hook_->begin(*this, b) : sum(*group_, buckets_[b].flat, !may_wait(b));
}

void Reducer::reduce_used() {
  Tensor here = empty(Dims{int64_t(used_.size())}, Dtype::i32, kCpu);
  std::ranges::copy(used_, here.data_as<int32_t>());
  const Device via = parameters_[0].device();
  const Tensor there = via.is_cpu() ? here : ops::to_device(here, via, false);
  sum(*group_, there, false)->wait();
  if (!via.is_cpu()) here = ops::to_device(there, kCpu, false);
  std::copy_n(here.data_as<const int32_t>(), used_.size(), used_.begin());
  for (size_t i = 0; first_static_ && i < used_.size(); ++i) never_used_[i] = !used_[i];
}

void Reducer::finish() {
  const GradMode off(false);
  struct Ended {  // also where a reduction failed: the group then says so at every call
    Reducer* reducer;
    ~Ended() {
      reducer->forget_pass();
      reducer->expecting_ = reducer->first_static_ = false;
    }
  };
  const Whole whole{this};  // after what is forgotten
  const Ended ended{this};
  if (!buckets_.back().pending) launch(buckets_.size() - 1);
  if (tracks_use()) reduce_used();
  for (Bucket& b : buckets_) finish_bucket(b);
  if (!rebuilt_ && may_rebuild()) rebuild_due_ = true;
}

void Reducer::finish_bucket(Bucket& b) {
  const PurposeScope counted(Purpose::gradients);  // a hook may reduce twice
  const Tensor reduced = b.pending->wait();
  if (reduced) {
    check(reduced.numel() == b.flat.numel(), Code::shape, "a communication hook returned ", reduced,
          " for a bucket of ", b.flat.numel(), " elements");
    if (!same_memory(reduced, b.flat)) {
      if (reduced.is_contiguous())
        ops::copy_(b.flat, alias(reduced, b.flat.sizes(), b.flat.strides(), reduced.offset()));
      else
        ops::copy_(
            alias(b.flat, reduced.sizes(), contiguous_strides(reduced.sizes()), b.flat.offset()),
            reduced);
    }
  }
  for (size_t s = 0; s < b.members.size(); ++s) give_back(b.members[s], b.views[s]);
}

void Reducer::give_back(size_t i, const Tensor& view) {
  if ((tracks_use() && !used_[i]) || never_used_[i]) return;
  Tensor& grad = autograd_data(parameters_[i]).grad;
  if (options_.gradient_as_bucket_view) {
    grad = view;
  } else if (grad) {
    ops::copy_(grad, view);
  } else {
    grad = ops::clone(view);
  }
}

void Reducer::shadow() {
  const GradMode off(false);
  const Whole whole{this};
  if (rebuild_due_) agree_on_order();
  forget_pass();
  first_static_ = static_graph_ && awaited_.empty();
  // Gradients may be views of the buckets, and are to stay.
  std::vector<Tensor> kept;
  for (Bucket& b : buckets_) {
    kept.push_back(options_.gradient_as_bucket_view ? ops::clone(b.flat) : Tensor());
    ops::zero_(b.flat);
  }
  for (size_t b = 0; b < buckets_.size(); ++b) launch(b);
  if (tracks_use()) reduce_used();
  for (size_t i = 0; i < buckets_.size(); ++i) {
    buckets_[i].pending->wait();
    if (kept[i]) ops::copy_(buckets_[i].flat, kept[i]);
  }
  if (first_static_)
    for (const int32_t n : used_) awaited_.push_back(n > 0);
  forget_pass();
  first_static_ = false;
  if (!rebuilt_ && may_rebuild()) rebuild_due_ = true;
}

}  // namespace flambeau::dist
