// See pair.h.
#include "dist/pair.h"

#include "device/runtime.h"
#include "dist/staging.h"

namespace flambeau::dist {

// Ends when it is waited for: whoever waits first finishes it.
class PairWork final : public Work {
 public:
  PairWork(Ref<Group> group, Call call)
      : group_(std::move(group)),
        call_(std::move(call)),
        sends_(call_.what.kind == Kind::send),
        staged_(sends_ ? call_.in : call_.out, sends_) {}

  // Nobody asks any more, but its memory may still be read or written to.
  ~PairWork() override {
    if (request_) group_->abandon(request_, std::move(staged_));
  }

  void start() {
    const What& what = call_.what;
    flam_dist_call c{};
    c.in = c.out = staged_.data();
    c.count = uint64_t(what.count);
    c.element_size = uint32_t(size_of(what.dtype));
    c.dtype = int32_t(what.dtype);
    c.peer = what.peer;
    c.tag = what.tag(0);
    c.timeout_ms = limit();
    flam_dist_text why{};
    const auto begin = sends_ ? group_->provider_->send : group_->provider_->recv;
    const auto result = begin(group_->communicator_, &c, &request_, &why);
    if (result != FLAM_DIST_OK) group_->explain(0, what, result, why.text);
  }

  bool done() override {
    end(Millis(0));
    return Work::done();
  }

  void wait(std::optional<Millis> timeout) override {
    end(timeout.value_or(Millis(limit())));
    settle();
  }

 private:
  int64_t limit() const { return group_->options().timeout.count(); }

  void end(Millis timeout) {
    const std::lock_guard one(waiting_);
    if (!request_) return;
    int32_t peer = -1;
    flam_dist_text why{};
    const auto result =
        group_->provider_->wait(group_->communicator_, request_, timeout.count(), &peer, &why);
    if (result == FLAM_DIST_TIMEOUT && timeout.count() == 0) return;
    request_ = nullptr;
    try {
      if (result != FLAM_DIST_OK) group_->explain(0, call_.what, result, why.text);
      if (!sends_) staged_.write_back();
      finish({}, peer);
    } catch (...) {
      fail(std::current_exception());
    }
  }

  const Ref<Group> group_;
  const Call call_;
  const bool sends_;
  Staged staged_;
  std::mutex waiting_;
  void* request_ = nullptr;
};

Ref<Work> begin_pair(Ref<Group> group, Call call) {
  auto work = make_ref<PairWork>(std::move(group), std::move(call));
  work->start();
  return work;
}

}  // namespace flambeau::dist
