// See mpi_left.h.
#include "dist/mpi_left.h"

#include <mutex>
#include <vector>

namespace flambeau::dist {
namespace {

struct Left {
  mpi::Handle communicator, others;  // a barrier that is over when all have left
};

struct All {
  std::mutex mutex;
  std::vector<Left> waiting;
};
All& all() {
  static All& made = *new All;
  return made;
}

}  // namespace

void mpi_leave(const MpiLibrary& m, mpi::Handle communicator) {
  int ended = 0;
  if (mpi_failed() || m.Finalized(&ended) || ended) return;
  Left left{communicator, mpi::kNoRequest};
  if (m.Ibarrier(communicator, &left.others)) return;
  {
    const std::lock_guard lock(all().mutex);
    all().waiting.push_back(left);
  }
  mpi_free_left(m);
}

void mpi_free_left(const MpiLibrary& m) {
  const std::lock_guard lock(all().mutex);
  std::erase_if(all().waiting, [&](Left& left) {
    int over = 0;
    mpi::Status status{};
    if (mpi_failed() || m.Test(&left.others, &over, &status) || !over) return false;
    m.Comm_free(&left.communicator);
    return true;
  });
}

}  // namespace flambeau::dist
