// Ranks that are threads of one process, behind the table of provider.h: for tests, and for a group
// of one. Who comes last to a collective does the work of all; a transfer between two is a copy by
// the second. Terms are added in the order of the ranks.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "dist/providers.h"

namespace flambeau::dist {
namespace {

using Deadline = std::chrono::steady_clock::time_point;
using Calls = std::vector<const flam_dist_call*>;
using Work = void (*)(const Calls& calls);
using Fits = bool (*)(const Calls& calls);

Deadline deadline(int64_t ms) {
  return std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
}

struct Transfer {
  const flam_dist_call call;
  int rank;  // who began it
  bool sends, done = false;
  int other = -1;
};

// Where the ranks of a group meet.
class Hub {
 public:
  explicit Hub(int size) : size_(size) {}

  flam_dist_result meet(int rank, const flam_dist_call& call, Work work, Fits fits) {
    std::unique_lock lock(mutex_);
    std::shared_ptr<Meeting>& found = meetings_[call.tag];
    if (!found) found = std::make_shared<Meeting>(size_);
    const std::shared_ptr<Meeting> meeting = found;
    meeting->calls[rank] = &call;
    if (++meeting->arrived == size_) {
      meetings_.erase(call.tag);
      meeting->fits = !fits || fits(meeting->calls);
      if (meeting->fits) work(meeting->calls);
      meeting->done = true;
      changed_.notify_all();
      return meeting->result();
    }
    const auto over = [&] { return meeting->done || aborted_; };
    const bool in_time = changed_.wait_until(lock, deadline(call.timeout_ms), over);
    if (meeting->done) return meeting->result();
    meeting->arrived = -size_;  // who comes late finds nobody
    return in_time ? FLAM_DIST_LOST : FLAM_DIST_TIMEOUT;
  }

  Transfer* begin(int rank, const flam_dist_call& call, bool sends) {
    auto made = std::make_unique<Transfer>(Transfer{call, rank, sends});
    const std::lock_guard lock(mutex_);
    auto& waiting = transfers_[call.tag];
    for (auto it = waiting.begin(); it != waiting.end(); ++it) {
      if (!fits(**it, *made)) continue;
      finish(**it, *made);
      waiting.erase(it);
      changed_.notify_all();
      return made.release();
    }
    waiting.push_back(made.get());
    return made.release();
  }

  flam_dist_result wait(Transfer* given, int64_t timeout_ms, bool stays, int32_t* peer) {
    std::unique_lock lock(mutex_);
    const auto over = [&] { return given->done || aborted_; };
    const bool in_time = changed_.wait_until(lock, deadline(timeout_ms), over);
    if (!in_time && stays) return FLAM_DIST_TIMEOUT;
    const std::unique_ptr<Transfer> owned(given);
    if (!given->done) std::erase(transfers_[given->call.tag], given);
    if (peer) *peer = given->other;
    return given->done ? FLAM_DIST_OK : in_time ? FLAM_DIST_LOST : FLAM_DIST_TIMEOUT;
  }

  void abort() {
    const std::lock_guard lock(mutex_);
    aborted_ = true;
    changed_.notify_all();
  }

 private:
  struct Meeting {
    explicit Meeting(int size) : calls(size) {}
    std::vector<const flam_dist_call*> calls;
    flam_dist_result result() const { return fits ? FLAM_DIST_OK : FLAM_DIST_FAILED; }
    int arrived = 0;
    bool done = false, fits = true;
  };

  static bool fits(const Transfer& a, const Transfer& b) {
    const auto meant = [](const Transfer& t, const Transfer& by) {
      return t.call.peer == by.rank || (t.call.peer < 0 && !t.sends);
    };
    return a.sends != b.sends && meant(a, b) && meant(b, a);
  }
  static void finish(Transfer& a, Transfer& b) {
    const Transfer &from = a.sends ? a : b, &to = a.sends ? b : a;
    if (const size_t n = from.call.count * from.call.element_size)
      std::memcpy(to.call.out, from.call.in, n);
    a.done = b.done = true;
    a.other = b.rank;
    b.other = a.rank;
  }

  const int size_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<uint64_t, std::shared_ptr<Meeting>> meetings_;
  std::map<uint64_t, std::deque<Transfer*>> transfers_;
  bool aborted_ = false;
};

struct Member {
  std::shared_ptr<Hub> hub;
  int rank;
};

Member& of(void* communicator) { return *static_cast<Member*>(communicator); }

// Hubs by number, for the ranks that have read it in the store.
struct Offers {
  std::mutex mutex;
  std::map<int64_t, std::weak_ptr<Hub>> hubs;
  int64_t last = 0;
};
Offers& offers() {
  static Offers& all = *new Offers;
  return all;
}

int64_t offer(const std::shared_ptr<Hub>& hub) {
  const std::lock_guard lock(offers().mutex);
  std::erase_if(offers().hubs, [](const auto& entry) { return entry.second.expired(); });
  offers().hubs[++offers().last] = hub;
  return offers().last;
}

std::shared_ptr<Hub> offered(int64_t number) {
  const std::lock_guard lock(offers().mutex);
  const auto found = offers().hubs.find(number);
  return found == offers().hubs.end() ? nullptr : found->second.lock();
}

// The first rank waits until all others hold the hub: it may be done with it before they come.
flam_dist_result wait_for_others(const flam_dist_members* m) {
  const auto nothing = [](void*, const void*, size_t) {};
  for (int r = 1; r < m->size; r++) {
    const std::string key = "holds/" + std::to_string(r);
    const auto result = m->store->get(m->store->user, key.c_str(), m->timeout_ms, nullptr, nothing);
    if (result != FLAM_DIST_OK) return result;
  }
  return FLAM_DIST_OK;
}

// The first rank makes the hub, and leaves its number in the store.
flam_dist_result make(const flam_dist_members* m, void** communicator, flam_dist_text* why) {
  if (m->size == 1) {
    *communicator = new Member{std::make_shared<Hub>(1), 0};
    return FLAM_DIST_OK;
  }
  std::shared_ptr<Hub> hub;
  if (m->rank == 0) {
    hub = std::make_shared<Hub>(m->size);
    const int64_t number = offer(hub);
    const auto result = m->store->set(m->store->user, "hub", &number, sizeof number);
    if (result != FLAM_DIST_OK) return result;
    if (const auto missing = wait_for_others(m); missing != FLAM_DIST_OK) return missing;
  } else {
    int64_t number = 0;
    const auto take = [](void* into, const void* data, size_t size) {
      if (size == sizeof number) std::memcpy(into, data, size);
    };
    const auto result = m->store->get(m->store->user, "hub", m->timeout_ms, &number, take);
    if (result != FLAM_DIST_OK) return result;
    hub = offered(number);
    const std::string key = "holds/" + std::to_string(m->rank);
    if (hub) m->store->set(m->store->user, key.c_str(), "", 0);
  }
  if (!hub) {
    std::snprintf(why->text, sizeof why->text, "the ranks are not threads of one process");
    return FLAM_DIST_FAILED;
  }
  *communicator = new Member{std::move(hub), m->rank};
  return FLAM_DIST_OK;
}

// The part of rank `r`, which begins `at` bytes after the first where parts are not apart.
const uint8_t* input(const flam_dist_call* c, size_t r = 0, size_t at = 0) {
  return c->in_parts ? static_cast<const uint8_t*>(c->in_parts[r])
                     : static_cast<const uint8_t*>(c->in) + at;
}
uint8_t* output(const flam_dist_call* c, size_t r, size_t at) {
  return c->out_parts ? static_cast<uint8_t*>(c->out_parts[r]) : static_cast<uint8_t*>(c->out) + at;
}

void copy(void* to, const void* from, size_t bytes) {
  if (bytes && to != from) std::memmove(to, from, bytes);
}

// The sum of the parts that all have for rank `of`, written to `out`.
void sum(const Calls& calls, void* out, size_t of, uint64_t count) {
  const flam_dist_call& first = *calls[0];
  std::vector<uint8_t> total(count * first.element_size);
  const size_t at = of * total.size();
  copy(total.data(), input(&first, of, at), total.size());
  for (size_t r = 1; r < calls.size(); r++)
    first.reduce(&first, total.data(), total.data(), input(calls[r], of, at), count);
  copy(out, total.data(), total.size());
}

size_t part(const Calls& calls) { return calls[0]->count * calls[0]->element_size; }

void all_reduce(const Calls& calls) {
  sum(calls, calls[0]->out, 0, calls[0]->count);
  for (const auto* c : calls) copy(c->out, calls[0]->out, part(calls));
}
void reduce(const Calls& calls) { sum(calls, calls[calls[0]->peer]->out, 0, calls[0]->count); }
void broadcast(const Calls& calls) {
  for (const auto* c : calls) copy(c->out, calls[c->peer]->in, part(calls));
}
void gather_to(const Calls& calls, const flam_dist_call* to) {
  for (size_t r = 0; r < calls.size(); r++)
    copy(output(to, r, r * part(calls)), calls[r]->in, part(calls));
}
void all_gather(const Calls& calls) {
  for (const auto* c : calls) gather_to(calls, c);
}
void gather(const Calls& calls) { gather_to(calls, calls[calls[0]->peer]); }
void scatter(const Calls& calls) {
  const auto* root = calls[calls[0]->peer];
  for (size_t r = 0; r < calls.size(); r++)
    copy(calls[r]->out, input(root, r, r * part(calls)), part(calls));
}
void reduce_scatter(const Calls& calls) {
  for (size_t r = 0; r < calls.size(); r++) sum(calls, calls[r]->out, r, calls[0]->count);
}
uint64_t count(const uint64_t* counts, const flam_dist_call* c, size_t r) {
  return (counts ? counts[r] : c->count) * c->element_size;
}
// What one gives is what the other takes, for every pair.
bool fit(const Calls& calls) {
  for (size_t to = 0; to < calls.size(); to++)
    for (size_t from = 0; from < calls.size(); from++)
      if (count(calls[from]->in_counts, calls[from], to) !=
          count(calls[to]->out_counts, calls[to], from))
        return false;
  return true;
}
void all_to_all(const Calls& calls) {
  for (size_t to = 0; to < calls.size(); to++) {
    size_t at = 0;
    for (size_t from = 0; from < calls.size(); from++) {
      size_t begin = 0;
      for (size_t r = 0; r < to; r++) begin += count(calls[from]->in_counts, calls[from], r);
      const size_t n = count(calls[to]->out_counts, calls[to], from);
      copy(output(calls[to], from, at), input(calls[from], to, begin), n);
      at += n;
    }
  }
}
void barrier(const Calls&) {}

template <Work W, Fits F = nullptr>
flam_dist_result collective(void* communicator, const flam_dist_call* call, flam_dist_text* why) {
  const auto result = of(communicator).hub->meet(of(communicator).rank, *call, W, F);
  if (result == FLAM_DIST_FAILED)
    std::snprintf(why->text, sizeof why->text, "the ranks give and take parts of different sizes");
  return result;
}

template <bool Sends>
flam_dist_result begin(void* communicator, const flam_dist_call* call, void** request,
                       flam_dist_text*) {
  *request = of(communicator).hub->begin(of(communicator).rank, *call, Sends);
  return FLAM_DIST_OK;
}

flam_dist_result wait(void* communicator, void* request, int64_t timeout_ms, int32_t stays,
                      int32_t* peer, flam_dist_text*) {
  return of(communicator).hub->wait(static_cast<Transfer*>(request), timeout_ms, stays, peer);
}

void abort(void* communicator) { of(communicator).hub->abort(); }

void destroy(void* communicator) { delete &of(communicator); }

}  // namespace

const flam_dist_provider& local_provider() {
  static constexpr flam_dist_provider kProvider{
      .abi = FLAM_DIST_ABI,
      .name = "local",
      .on_streams = 0,
      .takes_parts = 1,
      .make = make,
      .all_reduce = collective<all_reduce>,
      .reduce = collective<reduce>,
      .broadcast = collective<broadcast>,
      .all_gather = collective<all_gather>,
      .reduce_scatter = collective<reduce_scatter>,
      .all_to_all = collective<all_to_all, fit>,
      .gather = collective<gather>,
      .scatter = collective<scatter>,
      .barrier = collective<barrier>,
      .send = begin<true>,
      .recv = begin<false>,
      .wait = wait,
      .exchange = nullptr,
      .poll = nullptr,
      .abort = abort,
      .destroy = destroy,
  };
  return kProvider;
}

}  // namespace flambeau::dist
