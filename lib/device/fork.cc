// The handler in the child is registered at the first use, for a fork before it harms nothing.
#include "device/fork.h"

#include <pthread.h>

#include <mutex>

namespace flambeau::fork {

bool begin_use() {
  static std::once_flag once;
  std::call_once(once, [] {
    pthread_atfork(nullptr, nullptr, [] {
      if (g_use == Use::begun) g_use = Use::lost;
    });
  });
  Use none = Use::none;
  return g_use.compare_exchange_strong(none, Use::begun) || none == Use::begun;
}

}  // namespace flambeau::fork
