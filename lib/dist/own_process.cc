// See own_process.h.
#include "dist/own_process.h"

#include <pthread.h>

namespace flambeau::dist {

const std::atomic<uint32_t>& OwnProcess::count_forks() {
  static constinit std::atomic<uint32_t> forks{0};
  static const int registered = pthread_atfork(nullptr, nullptr, [] { ++forks; });
  static_cast<void>(registered);
  return forks;
}

}  // namespace flambeau::dist
