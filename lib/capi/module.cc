// Modules at the ABI: the tree of lib/nn, modules whose forward is a callback, and hooks.

#include <atomic>

#include "base/error.h"
#include "capi/callback.h"
#include "capi/gen/targets.h"
#include "capi/hook.h"
#include "capi/quiet.h"
#include "capi/scope_stack.h"
#include "device/label.h"
#include "nn/owners.h"

namespace flambeau::capi {

namespace {

class CallbackModule final : public flam_module {
 public:
  CallbackModule(std::string type, const flam_module_vtable& vtable)
      : flam_module(std::move(type)),
        callback_(vtable.user, vtable.drop),
        forward_(vtable.forward) {}

  Tensor forward(TensorsView inputs) override {
    if (!forward_) return flam_module::forward(inputs);
    return call_back("module forward", [&](flam_tensor** out) {
      return forward_(callback_.user(), handles(inputs), inputs.size(), out);
    });
  }

 private:
  Callback callback_;
  decltype(flam_module_vtable::forward) forward_;
};

class ProgramModuleHook final : public ProgramHook<nn::ModuleHook, flam_module_hook_callback> {
 public:
  explicit ProgramModuleHook(const flam_module_hook_callback* given)
      : ProgramHook(given, "flam_module_hook_callback") {}

  Tensor call(const Tensor& input, const Tensor& output) override {
    const auto owner = running();
    if (!owner) return {};
    return call_back(
        "a module's hook",
        [&](flam_tensor** out) {
          return table.call(table.user, handle(input), handle(output), out);
        },
        Result::optional);
  }
};

}  // namespace

Ref<flam_state> state_new() { return make_ref<flam_state>(); }
void state_set(flam_state* state, std::string_view name, const Tensor& t) { state->set(name, t); }
size_t state_size(const flam_state* state) { return state->entries.size(); }

Tensor state_get(const flam_state* state, std::string_view name) {
  const Tensor* t = state->find(name);
  if (t) return *t;
  std::string names;
  for (const auto& [n, unused] : state->entries) names += (names.empty() ? "" : ", ") + n;
  fail(Code::invalid_argument, "no tensor named \"", name, "\"; there are: ", names);
}

const char* state_name(const flam_state* state, size_t index) {
  return index < state->entries.size() ? state->entries[index].first.c_str() : nullptr;
}

Tensor state_tensor(const flam_state* state, size_t index) {
  check(index < state->entries.size(), Code::index, "index ", index, " is out of range for ",
        state->entries.size(), " named tensors");
  return state->entries[index].second;
}

flam_tensor* const* state_data(const flam_state* state) {
  return lent_handles(state->entries.tensors());
}

Ref<flam_tensor_list> state_tensors(const flam_state* state) {
  return make_list(state->entries.tensors());
}

Ref<flam_module> module_new(std::string_view type, const flam_module_vtable* vtable) {
  if (!vtable) return make_ref<flam_module>(std::string(type));
  const flam_module_vtable v = sized_copy(vtable, "flam_module_vtable");
  return make_ref<CallbackModule>(std::string(type), v);
}

const char* module_type(const flam_module* m) { return m->type.c_str(); }
const char* module_path(const flam_module* m) { return intern(nn::path_of(*m)); }

void module_set_parameter(flam_module* m, std::string_view name, const Tensor& t) {
  m->set_parameter(name, t);
}

void module_name_parameter(flam_module* m, std::string_view name, const Tensor& t) {
  m->name_parameter(name, t);
}

void module_set_buffer(flam_module* m, std::string_view name, const Tensor& t, bool persistent) {
  m->set_buffer(name, t, persistent);
}

void module_set_child(flam_module* m, std::string_view name, flam_module* child) {
  m->set_child(name, Ref<flam_module>::share(child));
}

void module_remove(flam_module* m, std::string_view name) { m->remove(name); }
Tensor module_parameter(const flam_module* m, std::string_view path) {
  return nn::parameter_at(*m, path);
}
Tensor module_buffer(const flam_module* m, std::string_view path) {
  return nn::buffer_at(*m, path);
}
Ref<flam_module> module_child(const flam_module* m, std::string_view path) {
  return nn::child_at(*m, path);
}
size_t module_child_count(const flam_module* m) { return m->children.size(); }

const char* module_child_name(const flam_module* m, size_t index) {
  return index < m->children.size() ? m->children[index].first.c_str() : nullptr;
}

Ref<flam_tensor_list> module_parameters(const flam_module* m) {
  return state_tensors(nn::named_parameters(*m, true).get());
}

Ref<flam_state> module_named_parameters(const flam_module* m, bool recurse) {
  return nn::named_parameters(*m, recurse);
}
Ref<flam_state> module_named_buffers(const flam_module* m, bool recurse) {
  return nn::named_buffers(*m, recurse);
}
Ref<flam_state> module_state_dict(const flam_module* m) { return nn::state_dict(*m); }

void module_load_state_dict(flam_module* m, const flam_state* state, bool strict) {
  nn::load_state_dict(*m, *state, strict);
}

void module_to(flam_module* m, Dtype dtype, Device device, bool non_blocking) {
  nn::move_to(*m, device, dtype, non_blocking);
}

void module_train(flam_module* m, bool mode) { nn::train(*m, mode); }
bool module_is_training(const flam_module* m) { return m->training; }

bool module_updates_buffers(const flam_module* m) { return m->updates_buffers(); }
void module_zero_grad(flam_module* m, bool set_to_none) { nn::zero_grad(*m, set_to_none); }
void module_set_requires_grad(flam_module* m, bool requires_grad) {
  nn::set_requires_grad(*m, requires_grad);
}

uint64_t module_push(const flam_module* m) {
  const char* const before = t_label.module;
  const probe::Token span = probe::begin_module(m->label());
  const uint64_t token = push_scope([before, span] {
    t_label.module = before;
    if (span) probe::end(span);
  });
  t_label.module = m->label();
  return token;
}

Tensor module_call(flam_module* m, const Tensor& input) { return m->call(input); }
Tensor module_forward(flam_module* m, TensorsView inputs) { return m->call(inputs); }

Ref<flam_hook> module_register_hook(flam_module* m, int32_t moment,
                                    const flam_module_hook_callback* callback) {
  auto hook = make_ref<ProgramModuleHook>(callback);
  const bool before = moment == FLAM_HOOK_FORWARD_PRE;
  check(before || moment == FLAM_HOOK_FORWARD, Code::invalid_argument,
        "flam_module_register_hook: unknown moment ", moment);
  add_hook(before ? m->hooks_before : m->hooks_after, hook);
  return handle_of(std::move(hook));
}

const char* module_format(const flam_module* m) {
  return text_of_thread([&] { return nn::format(*m); });
}

int64_t module_numel(const flam_module* m) {
  int64_t n = 0;
  const auto parameters = nn::named_parameters(*m, true);
  for (const auto& [name, t] : parameters->entries) n += t.numel();
  return n;
}

}  // namespace flambeau::capi
