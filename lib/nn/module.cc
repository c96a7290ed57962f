// The module itself: registration, hooks, forward, and finding things by path.
#include "nn/module.h"

#include "base/error.h"
#include "device/label.h"
#include "nn/failure.h"
#include "nn/owners.h"

using flambeau::Code;
using flambeau::Ref;
using flambeau::Tensor;

flam_module::~flam_module() {
  for (const auto& [name, t] : parameters) flambeau::nn::forget_owner(t.impl(), this, name);
  for (const auto& [name, t] : named_) flambeau::nn::forget_owner(t, this, name);
  flambeau::nn::forget_module(this);
}

Tensor flam_module::forward(flambeau::TensorsView) {
  flambeau::fail(Code::unsupported, "Module [", type,
                 "] is missing the required \"forward\" function");
}

Tensor flam_module::forward_with(const Tensor& x, const flambeau::nn::Epilogue&) {
  return forward({&x, 1});
}

void flam_module::check_name(std::string_view name, const char* kind) const {
  flambeau::check(!name.empty(), Code::invalid_argument, kind, " name can't be empty string \"\"");
  flambeau::check(name.find('.') == name.npos, Code::invalid_argument, kind,
                  " name can't contain \".\", got: ", name);
  const bool is_parameter = std::string_view(kind) == "parameter";
  const bool is_buffer = std::string_view(kind) == "buffer",
             is_child = std::string_view(kind) == "module";
  flambeau::check((is_parameter || !parameters.find(name)) && (is_buffer || !buffers.find(name)) &&
                      (is_child || !children.find(name)),
                  Code::invalid_argument, "attribute '", name, "' already exists");
}

void flam_module::set_parameter(std::string_view name, Tensor t) {
  check_name(name, "parameter");
  forget_parameter(name);
  if (t) flambeau::nn::remember_owner(t, this, name);
  parameters.set(name, std::move(t));
}

void flam_module::name_parameter(std::string_view name, const Tensor& t) {
  check_name(name, "parameter");
  forget_parameter(name);
  named_.set(name, t.impl());
  flambeau::nn::remember_owner(t, this, name);
}

void flam_module::forget_parameter(std::string_view name) {
  if (const Tensor* old = parameters.find(name))
    flambeau::nn::forget_owner(old->impl(), this, name);
  if (const auto* old = named_.find(name)) flambeau::nn::forget_owner(*old, this, name);
  named_.erase(name);
}

void flam_module::set_buffer(std::string_view name, Tensor t, bool persistent) {
  check_name(name, "buffer");
  buffers.set(name, {std::move(t), persistent});
}

void flam_module::set_child(std::string_view name, Ref<flam_module> child) {
  check_name(name, "module");
  if (child) {
    child->visit([&](const std::string&, const flam_module& m) {
      flambeau::check(&m != this, Code::invalid_argument, "module \"", name, "\" (", child->type,
                      ") holds the module it is to be a child of");
    });
  }
  forget_child(name);
  if (child) {
    flambeau::nn::remember_parent(*child, this, name);
    child->visit([](const std::string&, const flam_module& m) { m.label_ = nullptr; });
  }
  children.set(name, std::move(child));
}

void flam_module::remove(std::string_view name) {
  forget_parameter(name);
  parameters.erase(name);
  buffers.erase(name);
  forget_child(name);
  children.erase(name);
}

void flam_module::forget_child(std::string_view name) {
  const Ref<flam_module>* old = children.find(name);
  if (old && *old) flambeau::nn::forget_parent(**old, this, name);
}

const Tensor& flam_module::parameter(std::string_view name) const {
  const Tensor* t = parameters.find(name);
  flambeau::check(t && *t, Code::invalid_argument, type, ": it needs the parameter \"", name,
                  "\", which is none; set a tensor");
  return *t;
}

const Tensor& flam_module::buffer(std::string_view name) const {
  const flambeau::nn::Buffer* b = buffers.find(name);
  flambeau::check(b && b->tensor, Code::invalid_argument, type, ": it needs the buffer \"", name,
                  "\", which is none; set a tensor");
  return b->tensor;
}

Ref<flam_module> flam_module::child(std::string_view name) const {
  const Ref<flam_module>* m = children.find(name);
  flambeau::check(m && *m, Code::invalid_argument, type, ": child \"", name,
                  "\" is no module; set one");
  return *m;
}

Tensor flam_module::parameter_or_none(std::string_view name) const {
  const Tensor* t = parameters.find(name);
  return t ? *t : Tensor();
}

Tensor flam_module::buffer_or_none(std::string_view name) const {
  const flambeau::nn::Buffer* b = buffers.find(name);
  return b ? b->tensor : Tensor();
}

const char* flam_module::label() const {
  if (const char* known = label_.load(std::memory_order_relaxed)) return known;
  const std::string path = flambeau::nn::path_of(*this);
  const char* made = flambeau::intern(path.empty() ? type : path);
  label_.store(made, std::memory_order_relaxed);
  return made;
}

bool flam_module::updates_buffers() const {
  if (training && buffers.size() != 0) return true;
  for (const auto& [name, child] : children) {
    if (child && child->updates_buffers()) return true;
  }
  return false;
}

template <class F> Tensor flam_module::labelled(F&& forward) {
  const flambeau::ModuleLabel in_module(label());
  try {
    return forward();
  } catch (...) {
    flambeau::nn::note_failure(*this);
    throw;
  }
}

Tensor flam_module::call(flambeau::TensorsView inputs) {
  return labelled([&] { return hooked() ? call_with_hooks(inputs) : forward(inputs); });
}

Tensor flam_module::call_with(const Tensor& x, const flambeau::nn::Epilogue& epilogue) {
  return labelled([&] { return forward_with(x, epilogue); });
}

Tensor flam_module::call_with_hooks(flambeau::TensorsView inputs) {
  flambeau::Tensors current(inputs);
  using Hooks =
      std::vector<flambeau::Ref<flambeau::nn::ModuleHook>>;  // copied: one may remove itself
  for (const auto& hook : Hooks(hooks_before)) {
    if (current.empty() || !current[0]) break;
    Tensor replaced = hook->call(current[0], Tensor());
    if (replaced) current[0] = std::move(replaced);
  }
  Tensor y = forward(current);
  for (const auto& hook : Hooks(hooks_after)) {
    Tensor replaced = hook->call(current.empty() ? Tensor() : current[0], y);
    if (replaced) y = std::move(replaced);
  }
  return y;
}
