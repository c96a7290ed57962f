// See communicator.h.
#include "communicator.h"

#include <cstdlib>
#include <set>
#include <string_view>

#include "driver.h"

namespace nccl_standin {
namespace {

std::mutex g_mutex;
std::set<const void*>& all() {
  static auto& every = *new std::set<const void*>;
  return every;
}
thread_local std::string t_last;

}  // namespace

bool told(const char* what) {
  const char* given = std::getenv("FLAMBEAU_STANDIN_NCCL");
  return given && std::string_view(given) == what;
}

nccl::Result failed(nccl::Result result, const std::string& text) {
  t_last = text;
  return result;
}

nccl::Result breach(const char* function, const std::string& text) {
  standin_breach((std::string(function) + ": " + text).c_str());
  return failed(nccl::invalid_usage, text);
}

std::string last_error() { return t_last; }

Communicator* add(std::unique_ptr<Communicator> made) {
  const std::lock_guard lock(g_mutex);
  all().insert(made.get());
  return made.release();
}

Communicator* alive(const char* function, nccl::Comm comm) {
  auto* const c = static_cast<Communicator*>(comm);
  {
    const std::lock_guard lock(g_mutex);
    if (!all().contains(c)) return breach(function, "no communicator"), nullptr;
  }
  if (c->dead) return breach(function, "a communicator after its end"), nullptr;
  return c;
}

Communicator* idle(const char* function, nccl::Comm comm) {
  Communicator* const c = alive(function, comm);
  if (!c) return nullptr;
  if (c->state == nccl::in_progress || !c->taken_in)
    return breach(function, "before the last call was taken in"), nullptr;
  if (c->finalized) return breach(function, "after ncclCommFinalize"), nullptr;
  if (standin_enters(function).device != c->device)
    return breach(function, "the communicator's device is not the current one"), nullptr;
  return c;
}

void Communicator::begin() {
  const auto meet = [this] {
    const End end = mesh.connect(name, size, rank, aborted);
    if (end == End::differs) breach("ncclCommInitRankConfig", "an id that was used before");
    state = end == End::well ? nccl::success : nccl::invalid_usage;
  };
  if (blocking) return meet();
  beginning = std::thread(meet);
}

}  // namespace nccl_standin
