// MPI behind the table of provider.h. Every call is one of MPI's that begins and is asked about
// until it ends, so that there is a deadline and an end from outside. MPI does not compare what
// ranks call; here they agree on the tag first, and where they differ they never meet. Sums are
// made here from parts that MPI moves, in the order of the ranks, for dtypes that MPI does not
// know.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "base/error.h"
#include "dist/mpi_left.h"
#include "dist/mpi_library.h"
#include "dist/providers.h"

namespace flambeau::dist {
namespace {

using mpi::Count;
using mpi::Offset;
using Clock = std::chrono::steady_clock;

struct Communicator {
  const MpiLibrary& m;
  mpi::Handle handle;
  int rank, size, tags;
  std::atomic<bool> aborted = false;
};

Communicator& of(void* c) { return *static_cast<Communicator*>(c); }

struct Failure {
  flam_dist_result result;
  std::string why;
};

void must(int code) {
  if (code) throw Failure{FLAM_DIST_LOST, mpi_error(code)};
}

Clock::time_point deadline(const flam_dist_call& call) {
  return Clock::now() + std::chrono::milliseconds(call.timeout_ms);
}

// Asks often at first and then ten times a millisecond: ranks share cores.
void pause(int turn) {
  if (turn < 200)
    std::this_thread::yield();
  else
    std::this_thread::sleep_for(std::chrono::microseconds(100));
}

void check_time(const Communicator& c, Clock::time_point until) {
  if (c.aborted) throw Failure{FLAM_DIST_LOST, "the group was ended"};
  if (Clock::now() > until) throw Failure{FLAM_DIST_TIMEOUT, "the deadline is over"};
}

mpi::Status finish(const Communicator& c, mpi::Handle& request, Clock::time_point until) {
  mpi::Status status{};
  for (int turn = 0;; turn++) {
    int done = 0;
    must(c.m.Test(&request, &done, &status));
    if (done) return status;
    check_time(c, until);
    pause(turn);
  }
}

// Memory that MPI may still write to after a call has failed: it is freed only where all went well.
template <class T> class Lent {
 public:
  explicit Lent(size_t n) : all_(new std::vector<T>(n)) {}
  ~Lent() {
    if (std::uncaught_exceptions() == 0) delete all_;
  }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;
  T* data() const { return all_->data(); }
  T& operator[](size_t i) const { return (*all_)[i]; }

 private:
  std::vector<T>* all_;
};

// Where ranks called different things nobody goes on, until who watches says so or the time is
// over.
void agree(const Communicator& c, const flam_dist_call& call, Clock::time_point until) {
  const Lent<uint64_t> own(2), most(2);
  own[0] = call.tag;
  own[1] = ~call.tag;
  mpi::Handle request = mpi::kNoRequest;
  must(c.m.Iallreduce(own.data(), most.data(), 2, mpi::kUint64, mpi::kMax, c.handle, &request));
  finish(c, request, until);
  for (int turn = 200; most[0] != own[0] || most[1] != own[1]; turn++) {
    check_time(c, until);
    pause(turn);
  }
}

// Where each rank's part begins and how long it is, in bytes.
struct Parts {
  std::vector<Count> counts;
  std::vector<Offset> begins;
  Parts(int size, uint32_t element, uint64_t count, const uint64_t* each = nullptr)
      : counts(size), begins(size) {
    Offset at = 0;
    for (int r = 0; r < size; r++) {
      counts[r] = Count((each ? each[r] : count) * element);
      begins[r] = at;
      at += counts[r];
    }
  }
  // `count` elements in as many parts as there are ranks, as even as they go.
  static Parts split(int size, uint32_t element, uint64_t count) {
    std::vector<uint64_t> each(size);
    for (int r = 0; r < size; r++) each[r] = count * (r + 1) / size - count * r / size;
    return Parts(size, element, 0, each.data());
  }
};

const uint8_t* input(const flam_dist_call& call) { return static_cast<const uint8_t*>(call.in); }

void exchange(const Communicator& c, const void* in, const Parts& from, void* out, const Parts& to,
              Clock::time_point until) {
  mpi::Handle request = mpi::kNoRequest;
  must(c.m.Ialltoallv_c(in, from.counts.data(), from.begins.data(), mpi::kByte, out,
                        to.counts.data(), to.begins.data(), mpi::kByte, c.handle, &request));
  finish(c, request, until);
}

size_t terms_size(const Communicator& c, const Parts& parts) {
  return size_t(parts.counts[c.rank]) * c.size;
}

// This rank's part of the sum, at the beginning of `all`, which holds as many as there are ranks.
void sum_own_part(const Communicator& c, const flam_dist_call& call, const Parts& parts,
                  uint8_t* all, Clock::time_point until) {
  const uint64_t own = uint64_t(parts.counts[c.rank]) / call.element_size;
  const Parts terms(c.size, call.element_size, own);
  exchange(c, call.in, parts, all, terms, until);
  for (int r = 1; r < c.size; r++) call.reduce(&call, all, all, all + terms.begins[r], own);
}

void all_reduce(const Communicator& c, const flam_dist_call& call, Clock::time_point until) {
  const Parts parts = Parts::split(c.size, call.element_size, call.count);
  const Lent<uint8_t> own(terms_size(c, parts));
  sum_own_part(c, call, parts, own.data(), until);
  mpi::Handle request = mpi::kNoRequest;
  must(c.m.Iallgatherv_c(own.data(), parts.counts[c.rank], mpi::kByte, call.out,
                         parts.counts.data(), parts.begins.data(), mpi::kByte, c.handle, &request));
  finish(c, request, until);
}

void reduce_scatter(const Communicator& c, const flam_dist_call& call, Clock::time_point until) {
  const Parts parts(c.size, call.element_size, call.count);
  const Lent<uint8_t> own(terms_size(c, parts));
  sum_own_part(c, call, parts, own.data(), until);
  std::copy_n(own.data(), parts.counts[c.rank], static_cast<uint8_t*>(call.out));
}

void reduce(const Communicator& c, const flam_dist_call& call, Clock::time_point until) {
  flam_dist_call all = call;
  const Lent<uint8_t> beside(c.rank == call.peer ? 0 : call.count * call.element_size);
  if (c.rank != call.peer) all.out = beside.data();
  all_reduce(c, all, until);
}

void broadcast(const Communicator& c, const flam_dist_call& call, Clock::time_point until) {
  mpi::Handle request = mpi::kNoRequest;
  must(c.m.Ibcast_c(call.out, Count(call.count * call.element_size), mpi::kByte, call.peer,
                    c.handle, &request));
  finish(c, request, until);
}

void all_gather(const Communicator& c, const flam_dist_call& call, Clock::time_point until) {
  const Parts parts(c.size, call.element_size, call.count);
  mpi::Handle request = mpi::kNoRequest;
  must(c.m.Iallgatherv_c(call.in, parts.counts[c.rank], mpi::kByte, call.out, parts.counts.data(),
                         parts.begins.data(), mpi::kByte, c.handle, &request));
  finish(c, request, until);
}

void all_to_all(const Communicator& c, const flam_dist_call& call, Clock::time_point until) {
  exchange(c, call.in, Parts(c.size, call.element_size, call.count, call.in_counts), call.out,
           Parts(c.size, call.element_size, call.count, call.out_counts), until);
}

void gather(const Communicator& c, const flam_dist_call& call, Clock::time_point until) {
  const Count part = Count(call.count * call.element_size);
  mpi::Handle request = mpi::kNoRequest;
  must(c.m.Igather_c(call.in, part, mpi::kByte, call.out, part, mpi::kByte, call.peer, c.handle,
                     &request));
  finish(c, request, until);
}

void scatter(const Communicator& c, const flam_dist_call& call, Clock::time_point until) {
  const Count part = Count(call.count * call.element_size);
  mpi::Handle request = mpi::kNoRequest;
  must(c.m.Iscatter_c(input(call), part, mpi::kByte, call.out, part, mpi::kByte, call.peer,
                      c.handle, &request));
  finish(c, request, until);
}

// They have met where they agreed.
void barrier(const Communicator&, const flam_dist_call&, Clock::time_point) {}

template <class F> flam_dist_result guarded(flam_dist_text* why, F f) {
  try {
    f();
    return FLAM_DIST_OK;
  } catch (const Failure& failure) {
    mpi_has_failed();
    if (why) std::snprintf(why->text, sizeof why->text, "%s", failure.why.c_str());
    return failure.result;
  } catch (const std::exception& e) {
    if (why) std::snprintf(why->text, sizeof why->text, "%s", e.what());
    return FLAM_DIST_FAILED;
  }
}

template <void (*Run)(const Communicator&, const flam_dist_call&, Clock::time_point)>
flam_dist_result collective(void* communicator, const flam_dist_call* call, flam_dist_text* why) {
  return guarded(why, [&] {
    const Communicator& c = of(communicator);
    const Clock::time_point until = deadline(*call);
    agree(c, *call, until);
    Run(c, *call, until);
  });
}

// Programs' tags and sizes in as many bits as this MPI has for a tag.
int tag_of(const Communicator& c, const flam_dist_call& call) {
  return int(call.tag % uint64_t(c.tags));
}

template <bool Sends>
flam_dist_result begin(void* communicator, const flam_dist_call* call, void** request,
                       flam_dist_text* why) {
  return guarded(why, [&] {
    const Communicator& c = of(communicator);
    auto made = std::make_unique<mpi::Handle>(mpi::kNoRequest);
    const Count bytes = Count(call->count * call->element_size);
    const int tag = tag_of(c, *call), peer = call->peer < 0 ? mpi::kAnySource : call->peer;
    if (Sends)
      must(c.m.Isend_c(call->in, bytes, mpi::kByte, peer, tag, c.handle, made.get()));
    else
      must(c.m.Irecv_c(call->out, bytes, mpi::kByte, peer, tag, c.handle, made.get()));
    *request = made.release();
  });
}

flam_dist_result wait(void* communicator, void* given, int64_t timeout_ms, int32_t stays,
                      int32_t* peer, flam_dist_text* why) {
  auto* request = static_cast<mpi::Handle*>(given);
  const Communicator& c = of(communicator);
  int done = 0;
  const auto result = guarded(why, [&] {
    mpi::Status status{};
    const auto until = Clock::now() + std::chrono::milliseconds(timeout_ms);
    for (int turn = 0;; turn++) {
      must(c.m.Test(request, &done, &status));
      if (done) break;
      check_time(c, stays ? Clock::time_point::max() : until);  // what stays is not given up here
      if (stays && Clock::now() >= until) break;
      pause(turn);
    }
    if (peer && done) *peer = status.source;
  });
  if (result == FLAM_DIST_OK && !done) return FLAM_DIST_TIMEOUT;
  if (result != FLAM_DIST_OK) c.m.Cancel(request);  // its memory is the caller's again
  delete request;
  return result;
}

// Ranks are MPI's, whatever a program calls itself.
void check_place(const MpiLibrary& m, const flam_dist_members& members) {
  int rank = 0;
  must(m.Comm_rank(mpi::kWorld, &rank));
  if (rank != members.world_ranks[members.rank])
    throw Failure{FLAM_DIST_FAILED, cat_text("this process is rank ", rank, " of MPI's job, not ",
                                             members.world_ranks[members.rank])};
}

// MPI makes a communicator without a deadline: all have come before it is asked to.
void meet(const flam_dist_members& members) {
  const flam_dist_store& store = *members.store;
  const auto nothing = [](void*, const void*, size_t) {};
  const auto checked = [](flam_dist_result result) {
    if (result != FLAM_DIST_OK) throw Failure{result, "not all ranks have come"};
  };
  checked(store.set(store.user, cat_text("here/", members.rank).c_str(), "", 0));
  for (int r = 0; r < members.size; r++)
    checked(
        store.get(store.user, cat_text("here/", r).c_str(), members.timeout_ms, nullptr, nothing));
}

flam_dist_result make(const flam_dist_members* members, void** communicator, flam_dist_text* why) {
  return guarded(why, [&] {
    const MpiLibrary& m = mpi_library();
    check_place(m, *members);
    meet(*members);
    mpi_free_left(m);
    mpi::Handle all = nullptr, some = nullptr, handle = nullptr;
    must(m.Comm_group(mpi::kWorld, &all));
    must(m.Group_incl(all, members->size, members->world_ranks, &some));
    const int code = m.Comm_create_group(mpi::kWorld, some, 0, &handle);
    m.Group_free(&some);
    m.Group_free(&all);
    must(code);
    m.Comm_set_errhandler(handle, mpi::kErrorsReturn);
    int* most = nullptr;
    int known = 0;
    must(m.Comm_get_attr(mpi::kWorld, mpi::kTagUpperBound, &most, &known));
    *communicator = new Communicator{m, handle, members->rank, members->size,
                                     known && most ? std::max(*most, 32767) : 32767};
  });
}

void abort(void* communicator) {
  mpi_has_failed();
  of(communicator).aborted = true;
}

void destroy(void* communicator) {
  const std::unique_ptr<Communicator> owned(&of(communicator));
  if (!owned->aborted) mpi_leave(owned->m, owned->handle);
}

}  // namespace

const flam_dist_provider& mpi_provider() {
  static constexpr flam_dist_provider kProvider{
      .abi = FLAM_DIST_ABI,
      .name = "mpi",
      .on_streams = 0,
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
