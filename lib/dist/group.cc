// The order of calls, and the thread that runs those nobody waits for. See group.h.
#include "dist/group.h"

#include <algorithm>
#include <utility>

#include "base/interrupt.h"
#include "base/thread_state.h"
#include "device/label.h"
#include "device/streams.h"
#include "dist/pair.h"
#include "dist/report.h"
#include "engine/pass_time.h"
#include "graph/mode.h"

namespace flambeau::dist {
namespace {

using Clock = std::chrono::steady_clock;

// How long one waits for others before one looks whether they live.
constexpr Millis kTurn{250};
// Seconds for which a call may wait for a rank that has left: what it sent before arrives by then.
constexpr double kPatience = 3;
// From when on one asks what it did last.
constexpr double kUnanswered = 0.75;

FLAM_THREAD_LOCAL const char* t_place = nullptr;
const Carried<const char*> carried_place([]() -> const char*& { return t_place; });

}  // namespace

void set_place(std::string_view place) {
  if (t_place && place == t_place) return;  // a loop says the same each time
  t_place = place.empty() ? nullptr : intern(place);
}
const char* place() { return t_place; }

// A part of the store for communicators, which some of them use for as long as they live.
struct Group::Keys {
  const Ref<Store> store;
  const World& world;
  const std::vector<int32_t>& ranks;
  const flam_dist_store table{this, set, get};
  // All ranks are awaited then; what is made later may be between others than one that has left.
  std::atomic<bool> making{true};

  static flam_dist_result result_of(const Error& e) {
    return e.code == Code::collective_timeout ? FLAM_DIST_TIMEOUT : FLAM_DIST_LOST;
  }
  static flam_dist_result set(void* user, const char* key, const void* data, size_t size) {
    try {
      static_cast<Keys*>(user)->store->set(key, {static_cast<const char*>(data), size});
      return FLAM_DIST_OK;
    } catch (const Error& e) {
      return result_of(e);
    }
  }
  // In turns, so that nobody waits for a rank that is gone. What it had said before is read first.
  static flam_dist_result get(void* user, const char* key, int64_t timeout_ms, void* into,
                              void (*take)(void*, const void*, size_t)) {
    const Keys& keys = *static_cast<Keys*>(user);
    const Clock::time_point until = Clock::now() + Millis(timeout_ms);
    for (;;) {
      const bool lost = keys.making && !keys.world.lost_among(keys.ranks).empty();
      const Millis left = std::chrono::ceil<Millis>(until - Clock::now());
      try {
        const std::string value = keys.store->get(key, std::clamp(left, Millis(1), kTurn));
        take(into, value.data(), value.size());
        return FLAM_DIST_OK;
      } catch (const Error& e) {
        if (e.code != Code::collective_timeout) return result_of(e);
      }
      if (lost) return FLAM_DIST_LOST;
      if (Clock::now() >= until) return FLAM_DIST_TIMEOUT;
    }
  }
};

Group::Group(Ref<World> world, std::vector<int32_t> ranks, int rank, std::string key,
             GroupOptions options)
    : world_(std::move(world)),
      ranks_(std::move(ranks)),
      rank_(rank),
      key_(std::move(key)),
      options_(std::move(options)),
      timeout_ms_(options_.timeout.count()) {
  if (options_.name.empty()) options_.name = "world";
}

// In a forked child nothing of a group can be ended: its threads are not there to be joined, nor
// to leave a condition variable.
void Group::destroy() noexcept {
  if (!process_.left()) delete this;
}

void Group::check_process() const {
  if (!process_.left()) return;
  throw Error(Code::unsupported,
              cat_text("the group \"", options_.name, "\" stayed in the process that was forked"),
              "its connections and its threads are there",
              "end it in the child and make another one there");
}

// Who destroys a group waits for no other rank: what is still under way is ended.
// But for calls on GPUs, which a program that has waited for them takes for done.
Group::~Group() {
  if (streams_) streams_->drain();
  world_->remove(this);
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    if (busy_ || !queue_.empty()) {
      if (!over_) over_ = Error(Code::invalid_argument, "the group was destroyed meanwhile");
      abort_calls();
    }
    changed_.notify_all();
  }
  if (thread_.joinable()) {
    if (thread_.get_id() == std::this_thread::get_id()) {
      thread_.detach();
      *destroyed_ = true;
      for (const Task& task : queue_) task.work->fail(why_over());
    } else {
      thread_.join();
    }
  }
  sweep(true);
  if (communicator_) provider_->destroy(communicator_);
  streams_.reset();
  forget_failures(this);
}

void Group::abandon(void* request, Staged memory) {
  {
    const std::lock_guard lock(mutex_);
    abandoned_.emplace_back(request, std::move(memory));
  }
  sweep(false);
}

// Drops abandoned transfers that have ended; all of them where the group ends.
void Group::sweep(bool all) {
  std::vector<std::pair<void*, Staged>> ended;
  const std::lock_guard lock(mutex_);
  if (all && !abandoned_.empty()) abort_calls();
  std::erase_if(abandoned_, [&](auto& entry) {
    flam_dist_text why{};
    const int64_t limit = all ? 1000 : 0;
    const auto result = provider_->wait(communicator_, entry.first, limit, !all, nullptr, &why);
    const bool over = all || result != FLAM_DIST_TIMEOUT;
    if (over) ended.push_back(std::move(entry));
    return over;
  });
}

Ref<Group> Group::join(Ref<Store> store, int rank, int size, GroupOptions options) {
  check(size >= 1, Code::invalid_argument, "a group needs at least one rank, got a size of ", size);
  check(rank >= 0 && rank < size, Code::invalid_argument, "rank ", rank, " is not in a group of ",
        size);
  std::vector<int32_t> all(size);
  for (int r = 0; r < size; r++) all[r] = r;
  auto world = World::join(std::move(store), rank, size);
  auto group =
      Ref<Group>::adopt(new Group(world, std::move(all), rank, "world", std::move(options)));
  group->connect(nullptr);
  return group;
}

Ref<Group> Group::split(const std::vector<int32_t>& ranks, GroupOptions options) {
  check_process();
  {
    const std::lock_guard lock(mutex_);
    throw_if_over();
  }
  std::vector<int32_t> of_world;
  int own = -1;
  for (const int32_t r : ranks) {
    check(r >= 0 && r < size(), Code::invalid_argument, "rank ", r, " is not in the group of ",
          size(), " that is split");
    for (const int32_t before : of_world)
      check(before != ranks_[r], Code::invalid_argument, "rank ", r, " is named twice");
    if (r == rank_) own = int(of_world.size());
    of_world.push_back(ranks_[r]);
  }
  check(!ranks.empty(), Code::invalid_argument, "a group needs at least one rank");
  int number;
  {
    const std::lock_guard lock(mutex_);
    number = ++splits_;
  }
  // Ranks that are not named need not have called it, so that members count their own calls.
  const std::string named = options.name;
  if (options.name.empty()) options.name = cat_text(options_.name, '.', number);
  std::string key = cat_text(key_, '.', named);
  for (const int32_t r : of_world) key += cat_text('_', r);
  {
    const std::lock_guard lock(mutex_);
    key += cat_text(':', alike_[key]++);
  }
  auto group = Ref<Group>::adopt(
      new Group(world_, std::move(of_world), own, std::move(key), std::move(options)));
  if (own < 0) {
    group->wait_for_members();
  } else {
    group->connect(this);
    if (group->size() < size()) group->tell_others();
  }
  return group;
}

void Group::tell_others() const {
  Store& store = world_->store();
  if (store.add(cat_text("group/", key_, "/came"), 1) == size())
    store.set(cat_text("group/", key_, "/made"), "");
}

void Group::wait_for_members() const {
  const Ref<Store> store = world_->store().clone();
  const Clock::time_point until = Clock::now() + timeout();
  for (;;) {
    try {
      return store->wait({cat_text("group/", key_, "/made")}, kTurn);
    } catch (const Error& e) {
      if (e.code != Code::collective_timeout) throw;
    }
    check_interrupt();
    const std::string lost = world_->lost_among(ranks_);
    const bool late = Clock::now() >= until;
    if (lost.empty() && !late) continue;
    throw Error(
        lost.empty() ? Code::collective_timeout : Code::peer_lost,
        cat_text("the group \"", options_.name, "\" of ", size(), " other ranks was not made"),
        cat_text("timeout ", options_.timeout.count() / 1000.0, " s", lost),
        lost.empty() ? "see that its ranks make it, too, in the same order" : kRestart);
  }
}

void Group::connect(const Group* parent) {
  Ref<Store> part = prefix_store(cat_text("group/", key_), world_->store_ref());
  keys_.reset(new Keys{std::move(part), *world_, ranks_});
  backend_ = backend(options_.backend, size());
  provider_ = backend_.provider;
  const flam_dist_provider& any = provider_ ? *provider_ : *backend_.streams;
  const bool named = !options_.backend.empty() && options_.backend.find(':') == std::string::npos;
  account_ = account_of(
      {options_.name, named ? options_.backend : any.name, ranks_, rank_, world_->size()});
  if (size() > 1) pass_time::want();
  if (provider_) {
    const bool alike = parent && parent->provider_ == provider_;
    communicator_ = communicator_of(*provider_, alike ? parent->communicator_ : nullptr);
  }
  if (backend_.streams) {
    void* const all = parent && parent->streams_ ? parent->streams_->communicator() : nullptr;
    streams_ = std::make_unique<StreamCalls>(*this, *backend_.streams,
                                             communicator_of(*backend_.streams, all));
  }
  keys_->making = false;
  world_->add(this);
}

void* Group::communicator_of(const flam_dist_provider& provider, void* parent) {
  const std::string address = world_->store().local_address();
  const flam_dist_members members{rank_,         size(),          ranks_.data(),
                                  &keys_->table, address.c_str(), options_.timeout.count(),
                                  parent};
  void* made = nullptr;
  flam_dist_text why{};
  const auto result = provider.make(&members, &made, &why);
  if (result == FLAM_DIST_OK) return made;
  const bool wrong = result == FLAM_DIST_FAILED || result == FLAM_DIST_UNSUPPORTED;
  const std::string lost = wrong ? "" : world_->lost_among(ranks_);
  const bool late = result == FLAM_DIST_TIMEOUT && lost.empty();
  const std::string reason = lost.empty() ? why.text : "ranks are gone";
  throw Error(
      late    ? Code::collective_timeout
      : wrong ? Code::invalid_argument
              : Code::peer_lost,
      cat_text("the group \"", options_.name, "\" of ", size(), " ranks was not made: ", reason),
      cat_text("backend ", provider.name, ", rank ", rank_, ", timeout ",
               options_.timeout.count() / 1000.0, " s", lost),
      wrong          ? ""
      : lost.empty() ? "see that all ranks run, with the same MASTER_ADDR, MASTER_PORT and "
                       "WORLD_SIZE"
                     : kRestart);
}

void Group::set_timeout(Millis t) { timeout_ms_ = t.count(); }

const Account& Group::account() const {
  check(rank_ >= 0, Code::invalid_argument, "this rank is not in the group \"", options_.name,
        "\", and has called nothing there");
  return *account_;
}

void Group::throw_if_over() const {
  check(rank_ >= 0, Code::invalid_argument, "this rank is not in the group \"", options_.name,
        "\"; call it on the group's ranks only");
  if (!over_) return;
  tell();
  throw *over_;
}

void Group::tell() const {
  told_ = true;
  forget_failures(this);
}

void Group::check_goes_on() const {
  check_process();
  const std::lock_guard lock(mutex_);
  throw_if_over();
}

std::exception_ptr Group::why_over() const {
  const std::lock_guard lock(mutex_);
  return std::make_exception_ptr(over_ ? *over_
                                       : Error(Code::invalid_argument, "the group was ended"));
}

uint64_t Group::next_call(const What& what) {
  const std::lock_guard lock(mutex_);
  throw_if_over();
  const std::lock_guard shown(now_mutex_);
  now_ = {++sequence_, what, t_place, Clock::now(), false};
  return sequence_;
}

// Of a call on a stream: unless another one was begun since.
void Group::note_end(uint64_t sequence) {
  const std::lock_guard lock(now_mutex_);
  if (now_.sequence == sequence && !now_.under_way) now_.at = Clock::now();
}

static const Tensor* first_operand(const Call& call) {
  return !call.in.empty() ? &call.in[0] : !call.out.empty() ? &call.out[0] : nullptr;
}

void Group::check_device(const Call& call) const {
  const Tensor* first = first_operand(call);
  if (!first || rank_ < 0) return;
  check(!first->device().is_meta(), Code::unsupported,
        "tensors on meta have no elements that a group could carry: ", *first);
  const bool cpu = first->device().is_cpu();
  if (cpu ? backend_.cpu : backend_.gpu) return;
  const std::string device = to_string({first->device().type, -1});
  check(cpu || backend_.why_no_gpu.empty(), Code::device_mismatch,
        "No backend type associated with device type ", device, ": ", backend_.why_no_gpu);
  fail(Code::device_mismatch, "No backend type associated with device type ", device,
       "; the group's backend is ", options_.backend, ". Move the tensor, or make the group with ",
       "the backend \"cpu:gloo,cuda:nccl\"");
}

// What must be awaited on a device before its memory is read on another stream.
static std::optional<Event> after_operands(const Call& call) {
  const Tensor* first = first_operand(call);
  if (!first || first->device().is_cpu()) return {};
  Event event(first->device());
  event.record(current_stream(first->device()));
  return event;
}

// A call without tensors is the host's where that has a provider.
bool Group::is_on_streams(const Call& call) const {
  const Tensor* first = first_operand(call);
  return streams_ && (first ? !first->device().is_cpu() : !provider_);
}

Ref<Work> Group::run(Call call, bool async) {
  check_process();
  check_device(call);
  if (is_on_streams(call)) return streams_->run(std::move(call), async);
  auto work = make_ref<Work>();
  std::unique_lock lock(mutex_);
  throw_if_over();
  // What runs here cannot be left before its end.
  const bool here = !async && !busy_ && queue_.empty() && !asks_for_interrupts();
  // First: where the system gives no thread, nothing was called.
  if (!here && !thread_.joinable()) thread_ = std::thread([this] { this->work(); });
  Task task{++sequence_, std::move(call), work, {}, Origin::here(), timeout()};
  if (here) {
    busy_ = true;
    lock.unlock();
    conclude(*work, perform(task));
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  } else {
    task.before = after_operands(task.call);
    queue_.push_back(std::move(task));
    changed_.notify_all();
  }
  lock.unlock();
  if (!async) work->wait();
  return work;
}

void Group::work() {
  const GradMode off(false);
  bool destroyed = false;
  std::unique_lock lock(mutex_);
  destroyed_ = &destroyed;
  for (;;) {
    changed_.wait(lock, [&] { return !busy_ && (stop_ || !queue_.empty()); });
    if (queue_.empty()) return;
    std::optional<Task> task = std::move(queue_.front());
    queue_.pop_front();
    busy_ = true;
    lock.unlock();
    Outcome outcome = perform(*task);
    // Before whoever waits is told: its memory is free then. The last owner of the group may be
    // among what is freed.
    for (auto* operands : {&task->call.in, &task->call.out}) operands->clear();
    conclude(*task->work, std::move(outcome));
    task.reset();
    if (destroyed) return;
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

void Group::note(const Task& task) {
  const std::lock_guard lock(now_mutex_);
  now_ = {task.sequence, task.call.what, task.origin.place, Clock::now(), true};
}

void Group::note_pair(const Work& work, const What& what, const char* place,
                      Clock::time_point begun) {
  const std::lock_guard lock(now_mutex_);
  const auto after = std::ranges::find_if(pairs_, [&](const Shown& s) { return s.at > begun; });
  pairs_.insert(after, Shown{0, what, place, begun, true, &work});
}

void Group::forget_pair(const Work& work) {
  const std::lock_guard lock(now_mutex_);
  std::erase_if(pairs_, [&](const Shown& s) { return s.transfer == &work; });
}

Group::Outcome Group::perform(Task& task) {
  note(task);
  Outcome outcome;
  try {
    {
      const std::lock_guard lock(mutex_);
      throw_if_over();
    }
    outcome.ready = move(task);
  } catch (...) {
    outcome.error = std::current_exception();
  }
  const std::lock_guard lock(now_mutex_);
  now_.under_way = false;
  now_.at =
      task.ended_ns ? Clock::time_point(std::chrono::nanoseconds(task.ended_ns)) : Clock::now();
  return outcome;
}

void Group::conclude(Work& work, Outcome outcome) {
  if (outcome.error)
    work.fail(std::move(outcome.error));
  else
    work.finish(std::move(outcome.ready));
}

static std::optional<int32_t> peer_of(const What& what) {
  if (what.pairwise()) return what.peer;
  return {};
}

static double seconds_since(Clock::time_point at) {
  return std::chrono::duration<double>(Clock::now() - at).count();
}

static Group::Now now_of(const StreamWork& work) {
  const uint64_t tag = work.sequence ? work.what.tag(work.sequence) : 0;
  return {.sequence = work.sequence,
          .tag = tag,
          .what = work.what.text(),
          .place = work.place ? work.place : "",
          .seconds = seconds_since(work.began),
          .under_way = true,
          .on_stream = true,
          .peer = peer_of(work.what)};
}

Group::Now Group::Shown::now() const {
  if (!sequence && !under_way) return {};
  Now found{.sequence = sequence,
            .tag = sequence ? what.tag(sequence) : 0,
            .what = what.text(),
            .place = place ? place : "",
            .seconds = seconds_since(at),
            .under_way = under_way,
            .peer = peer_of(what)};
  if (transfer) found.transfer = Transfer::of(what, found.seconds);
  return found;
}

Group::Now Group::now() const {
  if (const Ref<StreamWork> work = streams_ ? streams_->oldest() : nullptr) return now_of(*work);
  const std::lock_guard lock(now_mutex_);
  return !pairs_.empty() && !now_.under_way ? pairs_.front().now() : now_.now();
}

std::vector<Group::Now> Group::waiting() const {
  std::vector<Now> all;
  if (streams_)
    for (const Ref<StreamWork>& work : streams_->under_way()) all.push_back(now_of(*work));
  const std::lock_guard lock(now_mutex_);
  if (now_.under_way) all.push_back(now_.now());
  for (const Shown& pair : pairs_) all.push_back(pair.now());
  return all;
}

void Group::end(Error error, When when) {
  const std::lock_guard lock(mutex_);
  if (!over_) over_ = std::move(error);
  if (when == When::soon && !end_calls_from_) end_calls_from_ = Clock::now();
  if (when == When::now) abort_calls();
}

void Group::miss(Leaver leaver) {
  const std::lock_guard lock(mutex_);
  leavers_.push_back(std::move(leaver));
}

// A collective waits for all ranks, a transfer for the other one, and a receive from any for as
// long as one is left.
const Group::Leaver* Group::awaited_leaver(std::optional<int32_t> peer) const {
  if (leavers_.empty()) return nullptr;
  if (!peer) return &leavers_.front();
  if (*peer < 0) return leavers_.size() + 1 < ranks_.size() ? nullptr : &leavers_.back();
  const auto found = std::ranges::find(leavers_, ranks_[size_t(*peer)], &Leaver::rank);
  return found == leavers_.end() ? nullptr : &*found;
}

std::optional<int> Group::unheard_leaver() const {
  const std::vector<Now> calls = waiting();
  const std::lock_guard lock(mutex_);
  for (const Now& call : calls) {
    const Leaver* leaver = awaited_leaver(call.peer);
    if (leaver && !leaver->last && call.seconds >= kUnanswered) return leaver->rank;
  }
  return {};
}

void Group::hear(int rank, std::string last) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(leavers_, rank, &Leaver::rank);
  if (found != leavers_.end()) found->last = std::move(last);
}

void Group::leave() {
  if (process_.left()) return;  // it is the parent that would be missed
  if (streams_) streams_->drain();
  world_->leave();
}

// A call on a stream may have waited for other work of its device until now.
void Group::hurry() {
  const std::vector<Now> calls = waiting();
  const std::lock_guard lock(mutex_);
  if (end_calls_from_ && Clock::now() - *end_calls_from_ > std::chrono::seconds(1)) abort_calls();
  for (const Now& call : calls) {
    const Leaver* leaver = awaited_leaver(call.peer);
    if (!leaver) continue;
    const double since = call.on_stream ? seconds_since(leaver->seen) : call.seconds;
    if (std::min(since, call.seconds) <= kPatience) continue;
    if (!over_) over_ = left_error(*this, *leaver, call);
    abort_calls();
  }
}

void Group::abort_calls() {
  if (std::exchange(aborted_, true)) return;
  if (communicator_) provider_->abort(communicator_);
  if (streams_) streams_->abort();
}

void Group::explain(uint64_t sequence, const What& what, Millis timeout, flam_dist_result result,
                    const char* why) {
  const std::string text = what.pairwise() ? what.text() : cat_text(what.text(), " #", sequence);
  check(result != FLAM_DIST_UNSUPPORTED, Code::unsupported, what.text(), ": ", why);
  {
    const std::lock_guard lock(mutex_);
    if (over_) throw *over_;
  }
  const std::optional<int32_t> peer = peer_of(what);
  const bool of_one = peer && *peer >= 0;
  const std::vector<int32_t> awaited = of_one ? std::vector{ranks_[size_t(*peer)]} : ranks_;
  Error error = result == FLAM_DIST_TIMEOUT ? world_->not_answered(*this, text, timeout)
                : result == FLAM_DIST_LOST
                    ? world_->connection_broke(*this, text, why, awaited)
                    : Error(Code::internal, cat_text(text, " failed: ", why));
  // The one that failed, which others may wait beside, and which may not have begun to wait.
  Now call;
  call.sequence = sequence;
  call.tag = sequence ? what.tag(sequence) : 0;
  call.what = what.text();
  call.under_way = true;
  call.peer = peer;
  for (Now& waits : waiting())
    if (waits.what == call.what && waits.sequence == sequence) call = std::move(waits);
  std::optional<Leaver> leaver;
  if (result == FLAM_DIST_LOST) {
    const std::lock_guard lock(mutex_);
    if (const Leaver* found = awaited_leaver(peer)) leaver = *found;
  }
  if (leaver && !leaver->last) leaver->last = world_->last_of(leaver->rank);
  const std::lock_guard lock(mutex_);
  if (!over_) over_ = leaver ? left_error(*this, *leaver, call) : error;
  throw *over_;
}

Ref<Work> Group::begin(Call call) {
  check_device(call);
  check_goes_on();
  if (is_on_streams(call)) return streams_->transfer(std::move(call));
  return begin_pair(Ref<Group>::share(this), std::move(call));
}

void Group::start_coalescing() {
  check_goes_on();
  if (streams_) streams_->start_coalescing();
}

void Group::end_coalescing() {
  check_process();
  if (streams_) streams_->end_coalescing();
}

}  // namespace flambeau::dist
