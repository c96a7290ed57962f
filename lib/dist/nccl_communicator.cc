// See nccl_communicator.h.
#include "dist/nccl_communicator.h"

#include <thread>
#include <utility>

#include "base/error.h"

namespace flambeau::dist {

using Clock = std::chrono::steady_clock;

void NcclPatience::check() const {
  if (aborted) throw NcclFailure{FLAM_DIST_LOST, "the group was ended"};
  if (Clock::now() > until) throw NcclFailure{FLAM_DIST_TIMEOUT, "the deadline is over"};
}

// Often at first: most calls are taken in at once. Making a communicator takes seconds.
void NcclPatience::pause(int turn) const {
  if (turn < 100)
    std::this_thread::yield();
  else
    std::this_thread::sleep_for(std::chrono::microseconds(turn < 1000 ? 50 : 1000));
}

// A peer that is gone shows as an error of the network or of the system; the most frequent mistake
// of programs has a cure.
void NcclCommunicator::fail(nccl::Result result) const {
  const char* last = n_.GetLastError(handle_);
  std::string why = cat_text("NCCL: ", n_.GetErrorString(result));
  if (last && *last) why += cat_text(": ", last);
  if (why.find("Duplicate GPU") != why.npos)
    why += "; give each rank a GPU of its own: torch.cuda.set_device(local_rank)";
  const bool lost = result == nccl::remote_error || result == nccl::system_error;
  throw NcclFailure{lost ? FLAM_DIST_LOST : FLAM_DIST_FAILED, std::move(why)};
}

void NcclCommunicator::must(nccl::Result result) const {
  if (result != nccl::success && result != nccl::in_progress) fail(result);
}

void NcclCommunicator::settle(nccl::Result result, const NcclPatience& patience) {
  must(result);
  for (int turn = 0; result == nccl::in_progress; ++turn) {
    patience.check();
    patience.pause(turn);
    nccl::Result now = nccl::in_progress;
    must(n_.CommGetAsyncError(handle_, &now));
    must(now);
    result = now;
  }
}

void NcclCommunicator::join(const nccl::UniqueId& id, int size, int rank,
                            const NcclPatience& patience) {
  nccl::Config config;
  settle(n_.CommInitRankConfig(&handle_, size, id, rank, &config), patience);
}

// The new handle may come later than the call returns, from a thread of NCCL's.
void NcclCommunicator::split_from(NcclCommunicator& all, int rank, const NcclPatience& patience) {
  nccl::Config config;
  all.settle(n_.CommSplit(all.handle_, 0, rank, &handle_, &config), patience);
  for (int turn = 0; !__atomic_load_n(&handle_, __ATOMIC_ACQUIRE); ++turn) {
    patience.check();
    patience.pause(turn);
  }
  settle(nccl::in_progress, patience);
}

void NcclCommunicator::poll() const {
  nccl::Result now = nccl::success;
  if (!handle_) return;
  must(n_.CommGetAsyncError(handle_, &now));
  must(now);
}

void NcclCommunicator::finish() {
  if (!handle_) return;
  static const std::atomic<bool> never{false};
  try {
    settle(n_.CommFinalize(handle_), {Clock::now() + std::chrono::seconds(5), never});
    n_.CommDestroy(std::exchange(handle_, nullptr));
  } catch (const NcclFailure&) {
    abort();
  }
}

void NcclCommunicator::abort() {
  if (handle_) n_.CommAbort(std::exchange(handle_, nullptr));
}

}  // namespace flambeau::dist
