// See stream_calls.h.
#include "dist/stream_calls.h"

#include <algorithm>

#include "base/error.h"
#include "device/graph.h"
#include "device/streams.h"
#include "dist/group.h"
#include "dist/provided.h"
#include "dist/staging.h"
#include "ops/ops.h"

namespace flambeau::dist {
namespace {

using Clock = StreamWork::Clock;

constexpr int kAll = -1;
constexpr Millis kTick{50}, kShortTick{1};

Device device_of(const Call& call) {
  if (!call.in.empty()) return call.in[0].device();
  return call.out.empty() ? current_device(DeviceType::cuda) : call.out[0].device();
}

}  // namespace

// The provider's stream as the current one, behind what the program's had, for the operands.
class StreamCalls::OnStream {
 public:
  OnStream(Stream stream, const Call& call) : before_(current_device(stream.device.type)) {
    set_current_device(stream.device);
    wait_stream(stream, current_stream(stream.device));
    for (const auto* list : {&call.in, &call.out})
      for (const Tensor& t : *list) record_stream(t.storage()->block(), stream);
    scope_.emplace(stream);
  }
  ~OnStream() {
    scope_.reset();
    set_current_device(before_);
  }
  OnStream(const OnStream&) = delete;
  OnStream& operator=(const OnStream&) = delete;

 private:
  const Device before_;
  std::optional<StreamScope> scope_;
};

StreamCalls::~StreamCalls() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  provider_.destroy(communicator_);
}

Stream StreamCalls::stream_for(Device device, int peer) {
  const std::pair key(device.code(), peer);
  auto found = streams_.find(key);
  if (found == streams_.end()) found = streams_.emplace(key, create_stream(device)).first;
  return found->second;
}

Ref<StreamWork> StreamCalls::work_of(const Call& call, uint64_t sequence) {
  const Device device = device_of(call);
  check(!is_capturing(current_stream(device)), Code::unsupported, call.what.text(),
        " in a graph is unsupported: call it between replays");
  auto work = make_ref<StreamWork>(call.what, sequence, device, group_.timeout(), place());
  work->host_waits = call.what.kind == Kind::barrier;
  return work;
}

// From before the provider is asked, which may wait for the other ranks. What is only collected is
// not watched: it has not begun, and its time does not count.
void StreamCalls::watch(const Ref<StreamWork>& work) {
  const std::lock_guard lock(mutex_);
  work->began = Clock::now();
  if (!thread_.joinable()) thread_ = std::thread([this] { watch(); });
  under_way_.push_back(work);
  changed_.notify_all();
}

Ref<Work> StreamCalls::run(Call call, bool async) {
  Ref<StreamWork> work;
  {
    const std::lock_guard one(order_);
    const uint64_t sequence = group_.next_call(call.what);
    work = work_of(call, sequence);
    watch(work);
    try {
      enqueue(call, *work);
    } catch (...) {
      work->fail(std::current_exception());
      throw;
    }
  }
  if (!async) work->wait({});
  return work;
}

void StreamCalls::enqueue(const Call& call, StreamWork& work) {
  const Stream stream = stream_for(work.device, kAll);
  const OnStream on(stream, call);
  const Staged out(call.out, reads_results(call), Staged::As::device);
  const Staged in(call.in, true, Staged::As::device);
  flam_dist_call c = described(call, call.what.tag(work.sequence), work.timeout);
  c.in = call.in.empty() ? out.data() : in.data();
  c.out = out.data();
  c.stream = native_stream(stream);
  c.device = work.device.index;
  Tensor flag;
  if (call.what.kind == Kind::barrier) {  // a sum that nobody reads
    flag = ops::zeros(Dims{1}, Dtype::i32, work.device);
    c.in = c.out = flag.data();
    c.count = 1;
    c.element_size = uint32_t(size_of(Dtype::i32));
    c.dtype = int32_t(Dtype::i32);
    c.op = int32_t(ReduceOp::sum);
  }
  flam_dist_text why{};
  const auto result = function_of(provider_, call.what.kind)(communicator_, &c, &why);
  if (result != FLAM_DIST_OK) failed(call.what, work.sequence, work.timeout, result, why.text);
  out.write_back();
  Event end(work.device);
  end.record(stream);
  work.enqueued(std::move(end));
}

void StreamCalls::failed(const What& what, uint64_t sequence, Millis timeout,
                         flam_dist_result result, const char* why) {
  try {
    group_.explain(sequence, what, timeout, result, why);
  } catch (...) {
    if (result != FLAM_DIST_UNSUPPORTED) {
      abort();
      group_.tell();
    }
    throw;
  }
}

Ref<Work> StreamCalls::transfer(Call call) {
  check(call.what.peer >= 0, Code::unsupported, call.what.text(), " is unsupported by ",
        provider_.name, ": name the rank that sends");
  const std::lock_guard one(order_);
  group_.check_goes_on();
  std::vector<Transfer> transfers;
  auto work = work_of(call, 0);
  transfers.push_back({std::move(call), work});
  if (collecting_ == std::this_thread::get_id())
    collected_.push_back(std::move(transfers[0]));
  else
    enqueue(std::move(transfers));
  return work;
}

void StreamCalls::start_coalescing() {
  std::unique_lock one(order_);
  check(collecting_ != std::this_thread::get_id(), Code::invalid_argument,
        "a block that collects transfers is in another one of the same group");
  while (!collecting_ended_.wait_for(one, kTick, [&] { return !collecting_; }))
    group_.check_goes_on();
  collecting_ = std::this_thread::get_id();
}

void StreamCalls::end_coalescing() {
  const std::lock_guard one(order_);
  check(collecting_ == std::this_thread::get_id(), Code::invalid_argument,
        "this thread has begun no block that collects transfers");
  collecting_.reset();
  collecting_ended_.notify_one();
  enqueue(std::exchange(collected_, {}));
}

// Ranks in their order: every pair of them meets, whatever else both have to do.
void StreamCalls::enqueue(std::vector<Transfer> transfers) {
  std::map<std::pair<int, int>, std::vector<Transfer*>> by_rank;
  for (const Transfer& t : transfers) watch(t.work);
  for (Transfer& t : transfers) by_rank[{t.call.what.peer, t.work->device.index}].push_back(&t);
  try {
    for (auto& [rank, some] : by_rank) enqueue_with(rank.first, std::move(some));
  } catch (...) {
    for (const Transfer& t : transfers) t.work->fail(std::current_exception());
    throw;
  }
}

void StreamCalls::enqueue_with(int peer, std::vector<Transfer*> transfers) {
  const Device device = transfers[0]->work->device;
  const Stream stream = stream_for(device, peer);
  Call all;
  for (const Transfer* t : transfers) {
    all.in.insert(all.in.end(), t->call.in.begin(), t->call.in.end());
    all.out.insert(all.out.end(), t->call.out.begin(), t->call.out.end());
  }
  const OnStream on(stream, all);
  std::vector<Staged> memory;
  std::vector<flam_dist_call> calls;
  for (const Transfer* t : transfers) {
    const bool sends = t->call.what.kind == Kind::send;
    memory.emplace_back(sends ? t->call.in : t->call.out, sends, Staged::As::device);
    flam_dist_call& c =
        calls.emplace_back(described(t->call, t->call.what.tag(0), t->work->timeout));
    c.in = sends ? memory.back().data() : nullptr;
    c.out = sends ? nullptr : memory.back().data();
    c.stream = native_stream(stream);
    c.device = device.index;
  }
  flam_dist_text why{};
  const auto result = provider_.exchange(communicator_, calls.data(), calls.size(), &why);
  if (result != FLAM_DIST_OK)
    failed(transfers[0]->call.what, 0, transfers[0]->work->timeout, result, why.text);
  for (size_t i = 0; i < transfers.size(); ++i) {
    if (transfers[i]->call.what.kind == Kind::recv) memory[i].write_back();
    Event end(device);
    end.record(stream);
    transfers[i]->work->enqueued(std::move(end));
  }
}

void StreamCalls::drain() {
  {
    const std::lock_guard one(order_);
    for (const Transfer& t : std::exchange(collected_, {}))
      t.work->fail(std::make_exception_ptr(Error(
          Code::invalid_argument,
          cat_text(t.call.what.text(), " was not begun: the group was left before the end of ",
                   "the block that collects transfers"))));
  }
  std::unique_lock lock(mutex_);
  draining_ = true;
  changed_.notify_all();
  changed_.wait(lock, [&] { return under_way_.empty(); });
}

void StreamCalls::abort() {
  const std::lock_guard lock(mutex_);
  aborted_ = true;
  provider_.abort(communicator_);
  changed_.notify_all();
}

Ref<StreamWork> StreamCalls::oldest() const {
  const std::lock_guard lock(mutex_);
  return under_way_.empty() ? nullptr : under_way_.front();
}

std::vector<Ref<StreamWork>> StreamCalls::under_way() const {
  const std::lock_guard lock(mutex_);
  return {under_way_.begin(), under_way_.end()};
}

void StreamCalls::watch() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (under_way_.empty()) {
      changed_.wait(lock);
      continue;
    }
    lock.unlock();
    look();
    lock.lock();
    changed_.notify_all();
    const bool gave_up = aborted_;
    changed_.wait_for(lock, draining_ ? kShortTick : kTick,
                      [&] { return stop_ || aborted_ != gave_up; });
  }
}

// Lets go what has ended; the oldest of what has not.
Ref<StreamWork> StreamCalls::sweep() {
  std::deque<Ref<StreamWork>> left;
  {
    const std::lock_guard lock(mutex_);
    left = under_way_;
  }
  std::vector<Ref<StreamWork>> ended;
  for (const Ref<StreamWork>& work : left)
    if (work->done()) ended.push_back(work);
  const auto over = [&](const Ref<StreamWork>& work) {
    return std::ranges::find(ended, work.get(), &Ref<StreamWork>::get) != ended.end();
  };
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(under_way_, over);
  }
  for (const Ref<StreamWork>& work : ended) group_.note_end(work->sequence);
  return oldest();
}

void StreamCalls::look() {
  bool given_up;
  {
    const std::lock_guard lock(mutex_);
    given_up = aborted_;
  }
  if (given_up) return give_up();
  flam_dist_text why{};
  auto result = provider_.poll(communicator_, &why);
  const Ref<StreamWork> late = sweep();
  if (!late) return;
  if (result == FLAM_DIST_OK && Clock::now() > late->began + late->timeout)
    result = FLAM_DIST_TIMEOUT;
  if (result == FLAM_DIST_OK) return;
  try {
    group_.explain(late->sequence, late->what, late->timeout, result, why.text);
  } catch (...) {
    sweep();  // what had all it needed when the other rank was lost
    abort();
    give_up();
  }
}

// Who waits for the device is told why, and only then let go.
void StreamCalls::give_up() {
  const std::exception_ptr error = group_.why_over();
  std::deque<Ref<StreamWork>> left;
  {
    const std::lock_guard lock(mutex_);
    left = under_way_;
  }
  for (const Ref<StreamWork>& work : left) {
    note_failure(&group_, work->device, error);
    work->fail(error);
  }
  if (group_.is_told()) forget_failures(&group_);
  provider_.poll(communicator_, nullptr);
  const std::lock_guard lock(mutex_);
  std::erase_if(under_way_, [&](const Ref<StreamWork>& work) {
    return std::ranges::find(left, work.get(), &Ref<StreamWork>::get) != left.end();
  });
}

}  // namespace flambeau::dist
