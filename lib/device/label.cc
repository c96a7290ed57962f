// The table of interned names. It is leaked on purpose: blocks may be freed while the process ends.
#include "device/label.h"

#include <mutex>
#include <string>
#include <unordered_set>

#include "base/thread_state.h"

namespace flambeau {

namespace {
const Carried<Label> carried_label([]() -> Label& { return t_label; });
}  // namespace

const char* intern(std::string_view text) {
  static std::mutex& mutex = *new std::mutex;
  static auto& names = *new std::unordered_set<std::string>;
  std::lock_guard lock(mutex);
  return names.emplace(text).first->c_str();  // nodes do not move when the set grows
}

}  // namespace flambeau
