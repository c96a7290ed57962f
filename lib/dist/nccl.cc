// NCCL behind the table of provider.h. A communicator of a group is one of NCCL's per device, made
// when its first call comes, and one more for each other rank that transfers go to or come from:
// those two may be the only ones that call. Numbers are counted alike on all ranks, so that an id
// which the first of them leaves in the store is found by the others. NCCL compares nothing of what
// ranks call; who watches a group does.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/error.h"
#include "device/vendor_device.h"
#include "dist/nccl_communicator.h"
#include "dist/nccl_types.h"
#include "dist/providers.h"

namespace flambeau::dist {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kAll = -1;  // in the place of another rank

struct Communicator {
  const NcclLibrary& n;
  const int rank, size;
  const flam_dist_store* store;
  std::mutex busy;  // while a call is on its way to NCCL
  std::map<std::pair<int, int>, std::unique_ptr<NcclCommunicator>> made;  // device, other rank
  std::map<int, int> counts;  // of those that were begun, by the other rank
  std::optional<int> first;   // device of the first of all ranks
  std::atomic<bool> aborted{false}, ended{false};
};

Communicator& of(void* c) { return *static_cast<Communicator*>(c); }

NcclPatience patience(const Communicator& c, int64_t timeout_ms) {
  return {Clock::now() + std::chrono::milliseconds(timeout_ms), c.aborted};
}

void checked(flam_dist_result result) {
  if (result != FLAM_DIST_OK) throw NcclFailure{result, "the job's store does not answer"};
}

// In short turns, so that an abort ends it.
std::string wait_for(const Communicator& c, const std::string& key, const NcclPatience& patience) {
  std::string value;
  const auto take = [](void* into, const void* data, size_t size) {
    static_cast<std::string*>(into)->assign(static_cast<const char*>(data), size);
  };
  for (;;) {
    const auto result = c.store->get(c.store->user, key.c_str(), 200, &value, take);
    if (result == FLAM_DIST_OK) return value;
    if (result != FLAM_DIST_TIMEOUT) checked(result);
    patience.check();
  }
}

void leave(const Communicator& c, const std::string& key, const std::string& value) {
  checked(c.store->set(c.store->user, key.c_str(), value.data(), value.size()));
}

// Made by the first rank of them, which tells the others where it cannot.
nccl::UniqueId common_id(Communicator& c, const std::string& key, bool first,
                         const NcclPatience& patience) {
  nccl::UniqueId id{};
  if (first) {
    const nccl::Result result = c.n.GetUniqueId(&id);
    if (result != nccl::success) {
      const std::string why = cat_text("NCCL: ", c.n.GetErrorString(result));
      leave(c, key, "!" + why);
      throw NcclFailure{FLAM_DIST_FAILED, why};
    }
    leave(c, key, std::string(id.bytes, sizeof id.bytes));
    return id;
  }
  const std::string value = wait_for(c, key, patience);
  if (value.size() != sizeof id.bytes)
    throw NcclFailure{FLAM_DIST_FAILED, cat_text("the first rank failed: ", value.substr(1))};
  std::memcpy(id.bytes, value.data(), sizeof id.bytes);
  return id;
}

NcclCommunicator& communicator_for(Communicator& c, int device, int peer,
                                   const NcclPatience& patience) {
  auto& found = c.made[{device, peer}];
  if (found) return *found;
  const int low = std::min(peer, c.rank), high = std::max(peer, c.rank);
  const bool pair = peer != kAll;
  const int number = c.counts[peer]++;
  const std::string key =
      pair ? cat_text("nccl/", low, '_', high, '/', number) : cat_text("nccl/all/", number);
  const auto id = common_id(c, key, pair ? c.rank == low : c.rank == 0, patience);
  auto made = std::make_unique<NcclCommunicator>(c.n);
  made->join(id, pair ? 2 : c.size, pair ? c.rank == high : c.rank, patience);
  found = std::move(made);
  if (!pair && number == 0) c.first = device;
  return *found;
}

template <class F> flam_dist_result guarded(flam_dist_text* why, F f) {
  const auto say = [&](const char* text) {
    if (why) std::snprintf(why->text, sizeof why->text, "%s", text);
  };
  try {
    f();
    return FLAM_DIST_OK;
  } catch (const NcclFailure& failure) {
    say(failure.why.c_str());
    return failure.result;
  } catch (const std::exception& e) {
    say(e.what());
    return FLAM_DIST_FAILED;
  }
}

// NCCL takes the device that is CUDA's current one.
template <class F> void on_device(int device, F f) {
  struct Run {
    F& f;
    std::exception_ptr error;
  } run{f, {}};
  const auto call = [](void* user) {
    auto& r = *static_cast<Run*>(user);
    try {
      r.f();
    } catch (...) {
      r.error = std::current_exception();
    }
  };
  if (hal::with_cuda_device(device, call, &run) != hal::Status::ok)
    throw NcclFailure{FLAM_DIST_FAILED, hal::provider(DeviceType::cuda)->error_text(device)};
  if (run.error) std::rethrow_exception(run.error);
}

// What a call needs of NCCL.
struct Enqueuing {
  const NcclLibrary& n;
  const Communicator& group;
  NcclCommunicator& all;
  const flam_dist_call& call;
  const NcclPatience patience;
  const NcclType type;

  size_t count() const { return call.count * type.each; }
  size_t part() const { return call.count * call.element_size; }
  const uint8_t* in() const { return static_cast<const uint8_t*>(call.in); }
  uint8_t* out() const { return static_cast<uint8_t*>(call.out); }
};

// Sums that are multiplied before have an operation of their own for as long as a call needs it.
template <class F> void with_operation(const Enqueuing& e, F enqueue) {
  if (e.call.op != int32_t(ReduceOp::premul_sum))
    return e.all.settle(enqueue(nccl_operation(e.call)), e.patience);
  NcclScalar scalar(e.call);
  nccl::Operation made{};
  e.all.settle(e.n.RedOpCreatePreMulSum(&made, scalar.data(), e.type.datatype, nccl::scalar_on_host,
                                        e.all.handle()),
               e.patience);
  const nccl::Result result = enqueue(made);
  e.all.settle(result, e.patience);
  e.all.must(e.n.RedOpDestroy(made, e.all.handle()));
}

void all_reduce(const Enqueuing& e) {
  with_operation(e, [&](nccl::Operation op) {
    return e.n.AllReduce(e.in(), e.out(), e.count(), e.type.datatype, op, e.all.handle(),
                         e.call.stream);
  });
}

void reduce(const Enqueuing& e) {
  with_operation(e, [&](nccl::Operation op) {
    return e.n.Reduce(e.in(), e.out(), e.count(), e.type.datatype, op, e.call.peer, e.all.handle(),
                      e.call.stream);
  });
}

void reduce_scatter(const Enqueuing& e) {
  with_operation(e, [&](nccl::Operation op) {
    return e.n.ReduceScatter(e.in(), e.out(), e.count(), e.type.datatype, op, e.all.handle(),
                             e.call.stream);
  });
}

void broadcast(const Enqueuing& e) {
  e.all.settle(e.n.Broadcast(e.in(), e.out(), e.count(), e.type.datatype, e.call.peer,
                             e.all.handle(), e.call.stream),
               e.patience);
}

void all_gather(const Enqueuing& e) {
  e.all.settle(
      e.n.AllGather(e.in(), e.out(), e.count(), e.type.datatype, e.all.handle(), e.call.stream),
      e.patience);
}

// One that is made of transfers, this rank's to itself included.
struct Transfers {
  const Enqueuing& e;
  nccl::Comm handle;

  void send(const uint8_t* from, size_t elements, int to) const {
    if (elements)
      e.all.must(
          e.n.Send(from, elements * e.type.each, e.type.datatype, to, handle, e.call.stream));
  }
  void receive(uint8_t* into, size_t elements, int from) const {
    if (elements)
      e.all.must(
          e.n.Recv(into, elements * e.type.each, e.type.datatype, from, handle, e.call.stream));
  }
};

template <class F> void by_transfers(const Enqueuing& e, F enqueue) {
  e.all.together(e.patience, [&](nccl::Comm handle) { enqueue(Transfers{e, handle}); });
}

void gather(const Enqueuing& e) {
  by_transfers(e, [&](const Transfers& t) {
    if (e.group.rank == e.call.peer)
      for (int r = 0; r < e.group.size; ++r)
        t.receive(e.out() + size_t(r) * e.part(), e.call.count, r);
    t.send(e.in(), e.call.count, e.call.peer);
  });
}

void scatter(const Enqueuing& e) {
  by_transfers(e, [&](const Transfers& t) {
    if (e.group.rank == e.call.peer)
      for (int r = 0; r < e.group.size; ++r) t.send(e.in() + size_t(r) * e.part(), e.call.count, r);
    t.receive(e.out(), e.call.count, e.call.peer);
  });
}

void all_to_all(const Enqueuing& e) {
  by_transfers(e, [&](const Transfers& t) {
    size_t sent = 0, received = 0;
    for (int r = 0; r < e.group.size; ++r) {
      const size_t give = e.call.in_counts ? e.call.in_counts[r] : e.call.count;
      const size_t take = e.call.out_counts ? e.call.out_counts[r] : e.call.count;
      t.send(e.in() + sent * e.call.element_size, give, r);
      t.receive(e.out() + received * e.call.element_size, take, r);
      sent += give;
      received += take;
    }
  });
}

template <void (*Run)(const Enqueuing&)>
flam_dist_result collective(void* communicator, const flam_dist_call* call, flam_dist_text* why) {
  return guarded(why, [&] {
    Communicator& c = of(communicator);
    const NcclType type = nccl_type(*call);
    const std::lock_guard one(c.busy);
    const NcclPatience limit = patience(c, call->timeout_ms);
    limit.check();
    on_device(call->device, [&] {
      Run({c.n, c, communicator_for(c, call->device, kAll, limit), *call, limit, type});
    });
  });
}

void exchange(Communicator& c, const flam_dist_call* calls, size_t n, const NcclPatience& limit) {
  NcclCommunicator& pair = communicator_for(c, calls->device, calls->peer, limit);
  const int other = calls->peer > c.rank;
  pair.together(limit, [&](nccl::Comm handle) {
    for (size_t i = 0; i < n; ++i) {
      const flam_dist_call& call = calls[i];
      const size_t bytes = call.count * call.element_size;
      if (!bytes) continue;
      pair.must(call.out ? c.n.Recv(call.out, bytes, nccl::uint8, other, handle, call.stream)
                         : c.n.Send(call.in, bytes, nccl::uint8, other, handle, call.stream));
    }
  });
}

flam_dist_result exchange(void* communicator, const flam_dist_call* calls, size_t n,
                          flam_dist_text* why) {
  return guarded(why, [&] {
    Communicator& c = of(communicator);
    const std::lock_guard one(c.busy);
    const NcclPatience limit = patience(c, calls->timeout_ms);
    limit.check();
    on_device(calls->device, [&] { exchange(c, calls, n, limit); });
  });
}

// NCCL is told to end before its calls have come back only where they do not within two seconds.
void end_all(Communicator& c) {
  std::unique_lock one(c.busy, std::try_to_lock);
  const auto until = Clock::now() + std::chrono::seconds(2);
  while (!one && Clock::now() < until) {  // gcc's thread sanitizer does not know timed mutexes
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    static_cast<void>(one.try_lock());
  }
  if (c.ended.exchange(true)) return;
  for (auto& entry : c.made)
    if (entry.second) entry.second->abort();
}

flam_dist_result poll(void* communicator, flam_dist_text* why) {
  return guarded(why, [&] {
    Communicator& c = of(communicator);
    if (c.aborted) return end_all(c);
    const std::unique_lock one(c.busy, std::try_to_lock);
    if (!one) return;  // who holds it asks by itself
    for (const auto& entry : c.made)
      if (entry.second) entry.second->poll();
  });
}

void meet(const Communicator& c, const NcclPatience& patience) {
  leave(c, cat_text("nccl/here/", c.rank), "");
  for (int r = 0; r < c.size; ++r) wait_for(c, cat_text("nccl/here/", r), patience);
}

// The same ranks again: on the device where the former ones had theirs first. That is the same one
// on all ranks, whatever the devices' numbers.
void split(Communicator& c, Communicator& parent, const NcclPatience& patience) {
  const std::lock_guard one(parent.busy);
  if (!parent.first) return;
  const std::pair where(*parent.first, kAll);
  NcclCommunicator& all = *parent.made.at(where);
  if (!all.handle()) return;
  auto made = std::make_unique<NcclCommunicator>(c.n);
  try {
    on_device(where.first, [&] { made->split_from(all, c.rank, patience); });
  } catch (...) {
    if (made->handle()) throw;
    // A thread of NCCL's may still write the handle, whenever it comes to it: the place for it is
    // left to it. It works for the parent, which is ended.
    (void)made.release();
    parent.aborted = true;
    all.abort();
    throw;
  }
  c.made[where] = std::move(made);
  c.first = where.first;
  ++c.counts[kAll];
}

flam_dist_result make(const flam_dist_members* members, void** communicator, flam_dist_text* why) {
  return guarded(why, [&] {
    auto made = std::unique_ptr<Communicator>(new Communicator{
        nccl_library(), members->rank, members->size, members->store, {}, {}, {}, {}, {}, {}});
    const NcclPatience limit = patience(*made, members->timeout_ms);
    meet(*made, limit);
    if (members->parent && of(members->parent).size == members->size)
      split(*made, of(members->parent), limit);
    *communicator = made.release();
  });
}

void abort(void* communicator) { of(communicator).aborted = true; }

void destroy(void* communicator) {
  const std::unique_ptr<Communicator> owned(&of(communicator));
  if (owned->aborted) return end_all(*owned);
  for (auto& entry : owned->made)
    if (entry.second) entry.second->finish();
}

}  // namespace

const flam_dist_provider& nccl_provider() {
  static constexpr flam_dist_provider kProvider{
      .abi = FLAM_DIST_ABI,
      .name = "nccl",
      .on_streams = 1,
      .takes_parts = 0,
      .make = make,
      .all_reduce = collective<all_reduce>,
      .reduce = collective<reduce>,
      .broadcast = collective<broadcast>,
      .all_gather = collective<all_gather>,
      .reduce_scatter = collective<reduce_scatter>,
      .all_to_all = collective<all_to_all>,
      .gather = collective<gather>,
      .scatter = collective<scatter>,
      .barrier = collective<all_reduce>,
      .send = nullptr,
      .recv = nullptr,
      .wait = nullptr,
      .exchange = exchange,
      .poll = poll,
      .abort = abort,
      .destroy = destroy,
  };
  return kProvider;
}

}  // namespace flambeau::dist
