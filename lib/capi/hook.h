// A hook whose function is the program's: what a table of the ABI says, called in a frame and
// scopes of its own, and the handle that removes it. Removing drops the program's data at once, or
// after the call that is running.
#pragma once
#include <optional>

#include "base/error.h"
#include "capi/callback.h"
#include "capi/objects.h"
#include "graph/hook.h"

namespace flambeau::capi {

// `Kind` is a kind of Hook, `Table` the program's record with a `call`.
template <class Kind, class Table> class ProgramHook : public Kind {
 public:
  ProgramHook(const Table* given, const char* type)
      : table(sized_copy(given, type)), owner_(std::in_place, table.user, table.drop) {
    check(table.call != nullptr, Code::invalid_argument, type, ": the hook has no function `call`");
  }

  void remove() {
    this->removed = true;
    if (!running_) owner_.reset();
  }

 protected:
  struct Running {
    explicit Running(ProgramHook& h) : hook(h) { ++hook.running_; }
    ~Running() {
      if (--hook.running_ == 0 && hook.removed) hook.owner_.reset();
    }
    ProgramHook& hook;
  };

  const Table table;

 private:
  std::optional<Callback> owner_;
  int running_ = 0;
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
