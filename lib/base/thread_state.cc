// See thread_state.h. What is carried is listed while the library is loaded, before any thread
// runs.
#include "base/thread_state.h"

#include <exception>
#include <optional>
#include <system_error>
#include <thread>

#include "base/error.h"

namespace flambeau {

namespace {

std::vector<const Carrier*>& carriers() {
  static auto& all = *new std::vector<const Carrier*>;
  return all;
}

std::thread started(const std::function<void()>& work) {
  try {
    return std::thread(std::cref(work));
  } catch (const std::system_error& problem) {
    throw Error(Code::out_of_host_memory,
                cat_text("the system started no further thread: ", problem.what()), {},
                "allow more memory or threads (ulimit -v, ulimit -u), or nest less deeply: a "
                "backward pass inside of 60 others gets a stack of its own");
  }
}

}  // namespace

Carrier::Carrier() { carriers().push_back(this); }

ThreadState::ThreadState() {
  for (const Carrier* c : carriers()) taken_.emplace_back(c, c->take());
}

void ThreadState::restore() const {
  for (const auto& [carrier, value] : taken_) carrier->give(value);
}

void run_on_another_thread(const std::function<void()>& work) {
  const ThreadState mine;
  std::optional<ThreadState> left;
  std::exception_ptr failure;
  const auto all = [&] {
    try {
      mine.restore();
      work();
    } catch (...) {
      failure = std::current_exception();
    }
    try {
      left.emplace();
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
  };
  started(all).join();
  try {
    if (left) left->restore();
  } catch (...) {
    if (!failure) failure = std::current_exception();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace flambeau
