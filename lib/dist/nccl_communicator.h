// One of NCCL's communicators, on one device: made, asked until a call has been taken in, and
// ended. Nothing here waits longer than its deadline or than until the group is aborted, and what
// fails carries NCCL's own words.
#pragma once
#include <atomic>
#include <chrono>
#include <string>

#include "dist/nccl_library.h"
#include "dist/provider.h"

namespace flambeau::dist {

struct NcclFailure {
  flam_dist_result result;
  std::string why;
};

// Until when a call may wait, and what ends it before.
struct NcclPatience {
  std::chrono::steady_clock::time_point until;
  const std::atomic<bool>& aborted;

  void check() const;  // throws NcclFailure
  void pause(int turn) const;
};

class NcclCommunicator {
 public:
  explicit NcclCommunicator(const NcclLibrary& n) : n_(n) {}
  ~NcclCommunicator() { abort(); }
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  // With the others, on the current device.
  void join(const nccl::UniqueId& id, int size, int rank, const NcclPatience& patience);
  // Of one communicator another one of the same ranks in another order. All of them call it. Where
  // it throws and there is no handle, one may still be written here: this object must then stay.
  void split_from(NcclCommunicator& all, int rank, const NcclPatience& patience);

  // What a call answered: until it has been taken in.
  void settle(nccl::Result result, const NcclPatience& patience);
  // Between group calls all that `enqueue` asks for is one.
  template <class F> void together(const NcclPatience& patience, F enqueue) {
    must(n_.GroupStart());
    try {
      enqueue(handle_);
    } catch (...) {
      n_.GroupEnd();  // what was begun; the communicator is of no more use
      throw;
    }
    settle(n_.GroupEnd(), patience);
  }
  void must(nccl::Result result) const;  // where nothing has to be waited for

  nccl::Comm handle() const { return handle_; }
  void poll() const;  // throws what went wrong since it was enqueued
  void finish();      // when nothing is under way: lets the others have what they still read
  void abort();       // at once, whatever is under way

 private:
  [[noreturn]] void fail(nccl::Result result) const;

  const NcclLibrary& n_;
  nccl::Comm handle_ = nullptr;
};

}  // namespace flambeau::dist
