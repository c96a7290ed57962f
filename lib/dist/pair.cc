// See pair.h.
#include "dist/pair.h"

#include <algorithm>
#include <thread>

#include "base/interrupt.h"
#include "device/runtime.h"
#include "dist/provided.h"
#include "dist/staging.h"
#include "engine/pass_time.h"

namespace flambeau::dist {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

// Ends when it is waited for or asked about: whoever finds it over finishes it. Its deadline is the
// group's, from when it began; who waits for less than that only stops waiting.
class PairWork final : public Work {
 public:
  PairWork(Ref<Group> group, Call call)
      : group_(std::move(group)),
        call_(std::move(call)),
        sends_(call_.what.kind == Kind::send),
        origin_(Origin::here()),
        deadline_(Clock::now() + group_->timeout()),
        staged_(sends_ ? call_.in : call_.out, sends_) {}

  // Nobody asks any more, but its memory may still be read or written to.
  ~PairWork() override {
    if (request_ && !process_.left()) group_->abandon(request_, std::move(staged_));
  }

  void start() {
    const What& what = call_.what;
    flam_dist_call c = described(call_, what.tag(0), group_->timeout());
    c.in = c.out = staged_.data();
    flam_dist_text why{};
    const auto begin = sends_ ? group_->provider_->send : group_->provider_->recv;
    const auto result = begin(group_->communicator_, &c, &request_, &why);
    if (result != FLAM_DIST_OK) group_->explain(0, what, group_->timeout(), result, why.text);
  }

  bool done() override {
    if (process_.left()) return over_;
    if (std::unique_lock one(waiting_, std::try_to_lock); one) ask();
    return Work::done();
  }

  void wait(std::optional<Millis> timeout) override {
    if (process_.left()) return Work::wait(timeout);
    const Clock::time_point begun = Clock::now(), until = timeout ? begun + *timeout : deadline_;
    const bool asks = asks_for_interrupts();
    const pass_time::Waiting counted;
    for (;;) {
      const auto next = std::min(until, asks ? Clock::now() + kInterruptEvery : until);
      if (wait_until(next, begun)) break;
      check(Clock::now() < until, Code::collective_timeout, "Work.wait: ", call_.what.text(),
            " has not ended after ", timeout ? timeout->count() / 1000.0 : 0.0, " s; it goes on");
      check_interrupt();
    }
    settle();
  }

 private:
  // Without waiting, but where the deadline is over.
  void ask() {
    if (request_) ask_provider(Clock::now());
  }

  // Whether it has ended by then. Its thread waits since `begun`.
  bool wait_until(Clock::time_point until, Clock::time_point begun) {
    std::unique_lock one(waiting_, std::try_to_lock);
    for (; !one; (void)one.try_lock()) {  // another thread waits, maybe for longer
      if (Clock::now() >= until) return Work::done();
      std::this_thread::sleep_for(Millis(1));
    }
    if (!request_) return true;
    group_->note_pair(*this, call_.what, origin_.place, begun);
    ask_provider(until);
    group_->forget_pair(*this);
    return !request_;
  }

  // Where its own time ends before, that ends it.
  void ask_provider(Clock::time_point until) {
    const auto now = Clock::now();
    const bool stays = std::max(until, now) < deadline_;
    const auto limit = std::chrono::ceil<Millis>((stays ? until : deadline_) - now).count();
    int32_t peer = -1;
    flam_dist_text why{};
    const auto result =
        group_->provider_->wait(group_->communicator_, request_,
                                std::max<int64_t>(limit, stays ? 0 : 1), stays, &peer, &why);
    if (!stays || result != FLAM_DIST_TIMEOUT) ended(result, peer, why.text);
  }

  void ended(flam_dist_result result, int32_t peer, const char* why) {
    request_ = nullptr;
    try {
      if (result != FLAM_DIST_OK) group_->explain(0, call_.what, group_->timeout(), result, why);
      group_->account_->add(call_, 0, origin_, begun_, false);
      if (!sends_) staged_.write_back();
      finish({}, peer);
    } catch (...) {
      fail(std::current_exception());
    }
  }

  const Ref<Group> group_;
  const Call call_;
  const bool sends_;
  const Origin origin_;
  const Clock::time_point deadline_;
  Staged staged_;
  const Begun begun_;
  std::mutex waiting_;
  void* request_ = nullptr;
};

Ref<Work> begin_pair(Ref<Group> group, Call call) {
  auto work = make_ref<PairWork>(std::move(group), std::move(call));
  work->start();
  return work;
}

}  // namespace flambeau::dist
