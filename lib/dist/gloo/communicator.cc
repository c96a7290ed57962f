// See communicator.h.
#include "dist/gloo/communicator.h"

#include <gloo/transport/unbound_buffer.h>

#include <exception>
#include <string>

namespace flambeau::gloo_adaptor {
namespace {

// Up to here one exchange of everything with everyone costs less than the turns of a ring. Between
// two it sends no more bytes than those turns, and what limits it is the memory that it keeps.
constexpr size_t kShort = 16 << 10, kShortOfTwo = 2 << 20;
constexpr int kFewRanks = 8;

}  // namespace

Communicator::Communicator(const flam_dist_members& members)
    : device_(device_at(members.address)),
      mesh_(std::make_shared<Mesh>(members, device_, "all")),
      short_(members.size > 1 && members.size <= kFewRanks
                 ? std::make_shared<Mesh>(members, device_, "short")
                 : nullptr),
      eager_(short_ ? std::make_unique<Eager>(short_, members.size == 2 ? kShortOfTwo : kShort)
                    : nullptr) {
  try {
    connect(members);
  } catch (...) {  // no destructor runs
    abort();
    throw;
  }
}

void Communicator::connect(const flam_dist_members& members) {
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(members.timeout_ms);
  const Mesh* connecting = mesh_.get();
  try {
    within(deadline, [&] {
      mesh_->connect(members, deadline);
      if (!short_) return;
      connecting = short_.get();
      short_->connect(members, deadline);
    });
  } catch (const std::exception& problem) {
    const int rank = members.world_ranks[connecting->awaited()];
    throw ::gloo::IoException(problem.what() + (" at rank " + std::to_string(rank)));
  }
}

void Communicator::abort() noexcept {
  mesh_->end();
  if (short_) short_->end();
}

}  // namespace flambeau::gloo_adaptor
