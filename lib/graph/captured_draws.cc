// See captured_draws.h.
#include "graph/captured_draws.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "base/of_thread.h"
#include "base/thread_local.h"
#include "base/thread_state.h"
#include "device/memory_pool.h"

namespace flambeau {

namespace {
FLAM_THREAD_LOCAL OfThread<Ref<CapturedDraws>> t_draws;
const Carried<Ref<CapturedDraws>> carried_draws([]() -> Ref<CapturedDraws>& {
  return t_draws.get();
});

// Written before a replay, and read until its last draw: a cell cannot lie in the graph's own pool,
// where it could take the place of what the graph has computed and freed before.
Tensor new_cell(Device d) {
  static std::mutex mutex;
  static auto& pools = *new std::map<int32_t, Ref<MemoryPool>>;
  const std::lock_guard lock(mutex);
  Ref<MemoryPool>& pool = pools[d.code()];
  if (!pool) pool = make_ref<MemoryPool>(d);
  struct Back {
    Device device;
    uint32_t id;
    ~Back() { use_pool(device, id); }
  } back{d, use_pool(d, pool->id)};
  return empty(Dims{2}, Dtype::i64, d);
}
}  // namespace

CapturedDraws* captured_draws() noexcept {
  Ref<CapturedDraws>* const draws = t_draws.found();
  if (!draws) return nullptr;
  if (*draws && !(*draws)->open()) *draws = nullptr;
  return draws->get();
}

void capture_draws(Ref<CapturedDraws> draws) {
  if (draws)
    t_draws.get() = std::move(draws);
  else if (Ref<CapturedDraws>* const known = t_draws.found())  // the end of a capture makes nothing
    *known = nullptr;
}

Draw CapturedDraws::next(Generator& g, uint64_t launches) {
  auto at = std::ranges::find(entries_, &g, [](const Entry& e) { return e.generator.get(); });
  if (at == entries_.end()) {
    entries_.push_back({Ref<Generator>::share(&g), new_cell(device_)});
    at = entries_.end() - 1;
  }
  return {{0, std::exchange(at->launches, at->launches + launches)}, at->cell};
}

Draw next_draw(Generator& g, Device device, uint64_t launches) {
  CapturedDraws* const draws = captured_draws();
  if (draws && draws->device() == device) return draws->next(g, launches);
  const Generator::State s = g.advance(launches);
  return {{s.seed, s.offset}, {}};
}

}  // namespace flambeau
