// The host languages' part of a thread's state (base/thread_state.h): what each registered, taken
// and given with all the rest. A state that was taken keeps its functions alive.
#include "base/thread_state.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include "base/error.h"
#include "capi/callback.h"
#include "capi/gen/targets.h"

namespace flambeau {

namespace {

class Host final : public RefCounted {
 public:
  explicit Host(const flam_thread_state* given)
      : table(capi::sized_copy(given, "flam_thread_state")), owner_(table.user, table.drop) {
    check(table.take && table.give, Code::invalid_argument,
          "flam_thread_state_register: `take` and `give` are both needed");
  }
  const flam_thread_state table;

 private:
  capi::Callback owner_;
};

struct Taken {
  Ref<Host> host;
  void* state = nullptr;

  // Made before it takes, so that a state beside an error is dropped, too.
  explicit Taken(Ref<Host> h) : Taken(std::move(h), nullptr) {
    const capi::HostCall call;
    const flam_status status = host->table.take(host->table.user, &state);
    if (status != FLAM_OK) state = nullptr;
    call.check("taking a thread's state", status);
  }
  Taken(const Taken&) = delete;
  ~Taken() {
    if (!state || !host->table.drop_state) return;
    const capi::HostCall call;
    host->table.drop_state(host->table.user, state);
  }
  void give() const {
    const capi::HostCall call;
    call.check("giving a thread its state", host->table.give(host->table.user, state));
  }

 private:
  Taken(Ref<Host> h, void* s) : host(std::move(h)), state(s) {}
};

using AllTaken = std::vector<std::shared_ptr<Taken>>;

// Leaked on purpose: threads may end while statics are torn down.
class Hosts final : public Carrier {
 public:
  void add(Ref<Host> h) {
    const std::lock_guard lock(mutex_);
    all_.push_back(std::move(h));
  }
  void remove(const Ref<Host>& h) {
    const std::lock_guard lock(mutex_);
    all_.erase(std::remove(all_.begin(), all_.end(), h), all_.end());
  }
  std::any take() const override {
    AllTaken taken;
    for (const Ref<Host>& h : now()) taken.push_back(std::make_shared<Taken>(h));
    return taken;
  }
  void give(const std::any& taken) const override {
    for (const auto& t : std::any_cast<const AllTaken&>(taken)) t->give();
  }

 private:
  std::vector<Ref<Host>> now() const {
    const std::lock_guard lock(mutex_);
    return all_;
  }
  mutable std::mutex mutex_;
  std::vector<Ref<Host>> all_;
};
Hosts& carried_hosts = *new Hosts;

struct HostHandle final : flam_hook {
  explicit HostHandle(Ref<Host> h) : host(std::move(h)) {}
  void remove() override {
    carried_hosts.remove(host);
    host = {};
  }
  Ref<Host> host;
};

}  // namespace

namespace capi {

Ref<flam_hook> thread_state_register(const flam_thread_state* state) {
  auto host = make_ref<Host>(state);
  auto handle = make_ref<HostHandle>(host);
  carried_hosts.add(std::move(host));
  return handle;
}

}  // namespace capi
}  // namespace flambeau
