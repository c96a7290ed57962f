// Values of a checkpoint are numbered in the order in which they are saved; the second run saves
// them in the same order, so that numbers find them. A second run serves one backward pass: each
// value leaves with the gradient that needed it.
#include "engine/checkpoint.h"

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "base/error.h"
#include "flambeau/common.h"
#include "graph/generator.h"
#include "graph/interruption.h"
#include "graph/saved.h"
#include "ops/autocast.h"

namespace flambeau {

namespace {

constexpr Code kDiffers{FLAM_ERROR_RECOMPUTE};

using Values = std::map<size_t, Saved>;  // by number

struct Kind {
  Dims sizes;
  Dtype dtype;
  Device device;
  const char* op;  // that saved the value

  explicit Kind(const Tensor& t)
      : sizes(t.sizes()), dtype(t.dtype()), device(t.device()), op(t_label.op) {}
  bool operator==(const Kind& o) const {
    return sizes == o.sizes && dtype == o.dtype && device == o.device;
  }
  std::string text() const {
    return cat_text(name_of(dtype), to_string(sizes), " on ", to_string(device), ", saved by \"",
                    op ? op : "", '"');
  }
};

Saved kept(const Tensor& t) { return Saved(t, t.version()); }

// An operand of the function. It is kept apart from the tensor that the program holds, which an
// in-place op of the function may turn into one of its results; hooks set around see it.
class Input {
 public:
  explicit Input(const Tensor& t) {
    edge_ = gradient_edge(t);
    value_ = edge_.leaf ? kept(t) : Saved::hooked(edge_ ? alias(t) : t);
  }
  Tensor get() const { return edge_.node ? with_history(value_.get(), edge_) : value_.get(); }

 private:
  Saved value_;
  Edge edge_;
};

// The modes of the first run, for the second; autocast's kept casts end with it where nothing else
// keeps them.
class Resumed : public ModeScope {
 public:
  Resumed(const Modes& first, SavedHooks* hooks) : ModeScope(with(first, hooks)) {}
  ~Resumed() {
    if (modes.autocast_depth == 1) clear_cast_cache();
  }

 private:
  static Modes with(const Modes& first, SavedHooks* hooks) {
    Modes m = first;
    m.grad = true;
    m.inference = false;
    m.autocast_depth = modes.autocast_depth + 1;
    m.saved_hooks = hooks;
    m.saved_hooks_refused = nullptr;
    return m;
  }
};

class ResumedRandom {
 public:
  explicit ResumedRandom(const GeneratorStates& first) { first.restore(); }
  ~ResumedRandom() { now_.restore(); }
  ResumedRandom(const ResumedRandom&) = delete;

 private:
  const GeneratorStates now_;
};

// What the second run's own graph saves; nobody walks it unless the function itself does.
class Kept final : public Packed {
 public:
  explicit Kept(Saved value) : value_(std::move(value)) {}
  Tensor unpack() override { return value_.get(); }

 private:
  Saved value_;
};

class Frame final : public Checkpoint {
 public:
  Frame(Ref<Recompute> function, TensorsView inputs, CheckpointOptions options)
      : function_(std::move(function)), options_(options), modes_(modes) {
    for (const Tensor& t : inputs) inputs_.emplace_back(t);
    if (options.preserve_random) random_.emplace();
  }

  Ref<Packed> pack(const Tensor& t) override;
  void complete() override { complete_ = true; }

 private:
  friend class Holder;
  friend class SecondRun;
  Tensor value(size_t number);
  Tensor take(size_t number);
  void forget(size_t number);
  Values recompute();

  struct Slot {
    Kind kind;
    bool wanted;  // its gradient still lives
  };

  const Ref<Recompute> function_;
  const CheckpointOptions options_;
  const Modes modes_;
  std::vector<Input> inputs_;
  std::optional<GeneratorStates> random_;
  std::atomic<bool> complete_ = false;

  std::mutex mutex_;  // passes may run on several threads
  std::vector<Slot> slots_;
  std::map<uint64_t, Values> passes_;
};

// Stands for one value.
class Holder final : public Packed {
 public:
  Holder(Ref<Frame> frame, size_t number) : frame_(std::move(frame)), number_(number) {}
  ~Holder() override { frame_->forget(number_); }
  Tensor unpack() override { return frame_->value(number_); }

 private:
  const Ref<Frame> frame_;
  const size_t number_;
};

// Hooks of the second run, which collect the values that are wanted.
class SecondRun final : public SavedHooks {
 public:
  explicit SecondRun(Frame& frame) : frame_(frame) {
    std::lock_guard lock(frame.mutex_);
    slots_ = frame.slots_;
    complete_ = frame.complete_;
  }

  Ref<Packed> pack(const Tensor& t) override {
    const size_t number = count_++;
    Saved value = kept(alias(t));
    if (number < slots_.size()) {
      const Kind kind(t);
      if (!(kind == slots_[number].kind)) differing_.push_back({number, kind});
      if (slots_[number].wanted) found_.emplace(number, value.copy());
    }
    if (count_ >= slots_.size() && frame_.options_.early_stop) {
      stopped_ = true;
      throw Error(kDiffers, "stop: every value that backward needs was computed again");
    }
    return make_ref<Kept>(std::move(value));
  }

  bool stopped() const { return stopped_; }
  Values take() {
    check_results();
    return std::move(found_);
  }

 private:
  void check_results() const {
    check(
        count_ <= slots_.size() || !complete_, kDiffers,
        "torch.utils.checkpoint: trying to save more tensors during recomputation than during the "
        "original forward pass, ",
        count_, " instead of ", slots_.size(),
        ".\nThe function must do the same both times: it may not depend on what changed since");
    check(count_ >= slots_.size(), kDiffers,
          "torch.utils.checkpoint: A different number of tensors was saved during the original "
          "forward and recomputation.\nNumber of tensors saved during forward: ",
          slots_.size(), "\nNumber of tensors saved during recomputation: ", count_,
          ".\nThe function must do the same both times: it may not depend on what changed since");
    if (differing_.empty() || !frame_.options_.check_determinism) return;
    std::string list;
    for (const auto& [number, kind] : differing_) {
      list +=
          cat_text("tensor at position ", number, ":\nsaved metadata: ", slots_[number].kind.text(),
                   "\nrecomputed metadata: ", kind.text(), "\n");
    }
    fail(kDiffers,
         "torch.utils.checkpoint: Recomputed values for the following tensors have different "
         "metadata than during the forward pass.\n",
         list, "The function must do the same both times: it may not depend on what changed since");
  }

  Frame& frame_;
  std::vector<Frame::Slot> slots_;
  bool complete_, stopped_ = false;
  size_t count_ = 0;
  std::vector<std::pair<size_t, Kind>> differing_;
  Values found_;
};

Ref<Packed> Frame::pack(const Tensor& t) {
  std::lock_guard lock(mutex_);
  slots_.push_back({Kind(t), true});
  try {
    return make_ref<Holder>(Ref<Frame>::share(this), slots_.size() - 1);
  } catch (...) {
    slots_.pop_back();
    throw;
  }
}

void Frame::forget(size_t number) {
  std::lock_guard lock(mutex_);
  slots_[number].wanted = false;
}

Values Frame::recompute() {
  const Interruption waiting;
  Tensors inputs;
  for (const Input& i : inputs_) inputs.push_back(i.get());
  const auto run = make_ref<SecondRun>(*this);
  std::optional<ResumedRandom> random;
  if (random_) random.emplace(*random_);
  {
    const Resumed resumed(modes_, run.get());
    try {
      function_->run(inputs);
    } catch (const Error& e) {
      if (!run->stopped()) throw;
      if (e.drop_payload) e.drop_payload(e.payload);  // nobody takes this one
    }
  }
  return run->take();
}

// The value of the pass that runs, where it is at hand.
Tensor Frame::take(size_t number) {
  Saved found;
  {
    std::lock_guard lock(mutex_);
    const auto values = passes_.find(current_pass->number);
    if (values == passes_.end()) return {};
    auto entry = values->second.extract(number);
    if (values->second.empty()) passes_.erase(values);
    if (entry.empty()) return {};
    found = std::move(entry.mapped());
  }
  return found.get();
}

Tensor Frame::value(size_t number) {
  if (current_pass) {
    if (Tensor t = take(number)) return t;
  }
  Values values = recompute();
  const auto own = values.extract(number);
  check(!own.empty(), Code::internal, "a checkpoint's value ", number, " was not computed again");
  if (current_pass && !values.empty()) {
    std::lock_guard lock(mutex_);
    passes_[current_pass->number].swap(values);  // what was there goes without the lock
  }
  return own.mapped().get();
}

}  // namespace

Ref<Checkpoint> make_checkpoint(Ref<Recompute> function, TensorsView inputs,
                                CheckpointOptions options) {
  return make_ref<Frame>(std::move(function), inputs, options);
}

}  // namespace flambeau
