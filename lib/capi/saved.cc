// Hooks of the program around saved values, and checkpoints of its functions and of modules.
#include "flambeau/saved.h"
#include "base/error.h"
#include "capi/callback.h"
#include "capi/gen/targets.h"
#include "capi/scope_stack.h"
#include "engine/backward.h"
#include "engine/checkpoint.h"
#include "graph/interruption.h"

namespace flambeau {

namespace {

class ProgramHooks final : public SavedHooks {
 public:
  explicit ProgramHooks(const flam_saved_hooks* given)
      : table_(capi::sized_copy(given, "flam_saved_hooks")), owner_(table_.user, table_.drop) {}

  Ref<Packed> pack(const Tensor& t) override;
  bool callable() const { return table_.pack && table_.unpack; }

 private:
  class Value;

  flam_saved_hooks table_;
  capi::Callback owner_;
};

class ProgramHooks::Value final : public Packed {
 public:
  explicit Value(Ref<ProgramHooks> hooks) : hooks_(std::move(hooks)) {}
  ~Value() override {
    const auto drop = hooks_->table_.drop_packed;
    if (!packed_ || !drop) return;
    capi::HostCall call;
    drop(hooks_->table_.user, packed_);
    call.let_go();
  }

  void pack(const Tensor& t) {
    const Interruption waiting;
    const GradMode off(false);
    capi::HostCall call;
    const flam_saved_hooks& table = hooks_->table_;
    const flam_status status = table.pack(table.user, capi::handle(t), &packed_);
    if (status == FLAM_OK)
      call.let_go();  // what it packed may hold what it made
    else
      packed_ = nullptr;
    call.check("a saved tensor's pack hook", status);
  }

  Tensor unpack() override {
    const Interruption waiting;
    const flam_saved_hooks& table = hooks_->table_;
    return capi::call_back("a saved tensor's unpack hook", [&](flam_tensor** out) {
      return table.unpack(table.user, packed_, out);
    });
  }

 private:
  const Ref<ProgramHooks> hooks_;
  void* packed_ = nullptr;
};

Ref<Packed> ProgramHooks::pack(const Tensor& t) {
  auto value = make_ref<Value>(Ref<ProgramHooks>::share(this));
  value->pack(t);
  return value;
}

class ProgramFunction final : public Recompute {
 public:
  explicit ProgramFunction(const flam_recompute* given)
      : table_(capi::sized_copy(given, "flam_recompute")), owner_(table_.user, table_.drop) {}

  void run(TensorsView inputs) override {
    const capi::HostCall call;
    call.check("a checkpoint's function",
               table_.run(table_.user, capi::handles(inputs), inputs.size()));
  }
  bool callable() const { return table_.run != nullptr; }

 private:
  flam_recompute table_;
  capi::Callback owner_;
};

class ModuleForward final : public Recompute {
 public:
  explicit ModuleForward(flam_module* m) : module_(Ref<flam_module>::share(m)) {}
  void run(TensorsView inputs) override { module_->call(inputs); }

 private:
  const Ref<flam_module> module_;
};

void check_hooks_allowed() {
  if (modes.saved_hooks_refused) throw Error(Code::autograd, modes.saved_hooks_refused);
}

// Sets hooks for a block of C++ code.
class HooksScope : public ModeScope {
 public:
  explicit HooksScope(SavedHooks* hooks) : ModeScope(with(hooks)) {}

 private:
  static Modes with(SavedHooks* hooks) {
    Modes m = modes;
    m.saved_hooks = hooks;
    return m;
  }
};

}  // namespace

namespace capi {

flam_scope saved_hooks_push(const flam_saved_hooks* given) {
  auto hooks = make_ref<ProgramHooks>(given);
  check(hooks->callable(), Code::invalid_argument,
        "saved_hooks_push: the hooks have no pack or no unpack function");
  check_hooks_allowed();
  SavedHooks* const before = modes.saved_hooks;
  const flam_scope scope = push_scope([before, hooks] { modes.saved_hooks = before; });
  modes.saved_hooks = hooks.get();
  return scope;
}

flam_scope saved_hooks_disable_push(std::string_view message) {
  const auto text = std::make_shared<const std::string>(message);
  if (modes.saved_hooks) throw Error(Code::autograd, *text);
  const char* const before = modes.saved_hooks_refused;
  const flam_scope scope = push_scope([before, text] { modes.saved_hooks_refused = before; });
  modes.saved_hooks_refused = text->c_str();
  return scope;
}

const char* saved_hooks_disabled() { return modes.saved_hooks_refused; }

flam_scope checkpoint_push(const flam_recompute* given, TensorsView inputs, bool preserve_rng_state,
                           bool early_stop, bool check_determinism) {
  auto function = make_ref<ProgramFunction>(given);
  check(function->callable(), Code::invalid_argument, "checkpoint_push: no function");
  check_hooks_allowed();
  const auto made = make_checkpoint(std::move(function), inputs,
                                    {preserve_rng_state, early_stop, check_determinism});
  SavedHooks* const before = modes.saved_hooks;
  const flam_scope scope = push_scope([before, made] {
    made->complete();
    modes.saved_hooks = before;
  });
  modes.saved_hooks = made.get();
  return scope;
}

Tensor module_checkpoint(flam_module* module, TensorsView inputs, bool preserve_rng_state) {
  check_hooks_allowed();
  CheckpointOptions options;
  options.preserve_random = preserve_rng_state;
  const auto made = make_checkpoint(make_ref<ModuleForward>(module), inputs, options);
  Tensor result;
  {
    const HooksScope scope(made.get());
    result = module->call(inputs);
  }
  made->complete();
  return result;
}

uint64_t backward_pass() { return current_pass ? current_pass->number : 0; }
bool backward_reaches(const Tensor& t) { return flambeau::backward_reaches(t); }
bool backward_is_whole() { return current_pass && current_pass->whole; }

}  // namespace capi
}  // namespace flambeau
