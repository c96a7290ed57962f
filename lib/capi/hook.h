// A hook whose function is the program's: what a table of the ABI says, called in a frame and
// scopes of its own, and the handle that removes it. Removing drops the program's data at once, or
// after the last of the calls that are running, which may be on several threads.
#pragma once
#include <memory>
#include <mutex>

#include "base/error.h"
#include "capi/callback.h"
#include "capi/objects.h"
#include "graph/hook.h"

namespace flambeau::capi {

// `Kind` is a kind of Hook, `Table` the program's record with a `call`.
template <class Kind, class Table> class ProgramHook : public Kind {
 public:
  ProgramHook(const Table* given, const char* type)
      : table(sized_copy(given, type)),
        owner_(std::make_shared<const Callback>(table.user, table.drop)) {
    check(table.call != nullptr, Code::invalid_argument, type, ": the hook has no function `call`");
  }

  void remove() {
    this->removed = true;
    std::shared_ptr<const Callback> last;  // dropped with no lock held
    const std::lock_guard lock(mutex_);
    last.swap(owner_);
  }

 protected:
  // The program's data for the length of a call; null where the hook was removed.
  std::shared_ptr<const Callback> running() const {
    const std::lock_guard lock(mutex_);
    return owner_;
  }

  const Table table;

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Callback> owner_;
};

template <class H> Ref<flam_hook> handle_of(Ref<H> hook) {
  struct Handle final : flam_hook {
    explicit Handle(Ref<H> h) : hook(std::move(h)) {}
    void remove() override { hook->remove(); }
    Ref<H> hook;
  };
  return make_ref<Handle>(std::move(hook));
}

}  // namespace flambeau::capi
