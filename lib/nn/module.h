// The module tree: parameters, buffers and children by name, a mode, hooks, and a forward function
// that a layer or a host language supplies. The ABI's flam_module is this class.
#pragma once
#include <atomic>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/hook.h"
#include "nn/epilogue.h"
#include "tensor/state.h"
#include "tensor/tensor.h"

namespace flambeau::nn {

template <class T> class Named {
 public:
  T* find(std::string_view name) {
    for (auto& [n, v] : entries_) {
      if (n == name) return &v;
    }
    return nullptr;
  }
  const T* find(std::string_view name) const { return const_cast<Named*>(this)->find(name); }
  void set(std::string_view name, T value) {
    if (T* v = find(name)) {
      *v = std::move(value);
    } else {
      entries_.emplace_back(std::string(name), std::move(value));
    }
  }
  void erase(std::string_view name) {
    std::erase_if(entries_, [&](const auto& e) { return e.first == name; });
  }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  size_t size() const { return entries_.size(); }
  const auto& operator[](size_t i) const { return entries_[i]; }

 private:
  std::vector<std::pair<std::string, T>> entries_;
};

struct Buffer {
  Tensor tensor;
  bool persistent = true;
};

// Before the forward function `output` is undefined; an undefined result changes nothing.
class ModuleHook : public Hook {
 public:
  virtual Tensor call(const Tensor& input, const Tensor& output) = 0;
};

}  // namespace flambeau::nn

struct flam_module : flambeau::RefCounted {
  using Tensor = flambeau::Tensor;

  explicit flam_module(std::string type) : type(std::move(type)) {}
  ~flam_module() override;

  virtual Tensor forward(flambeau::TensorsView inputs);
  virtual std::string extra_repr() const { return {}; }
  // Whether forward_with makes what other modules add in the same pass, and whether this one adds
  // itself.
  virtual bool takes_epilogue() const { return false; }
  virtual bool joins(flambeau::nn::Epilogue&) const { return false; }
  virtual Tensor forward_with(const Tensor& x, const flambeau::nn::Epilogue& epilogue);

  void set_parameter(std::string_view name, Tensor t);
  void name_parameter(std::string_view name, const Tensor& t);  // of another tree
  void set_buffer(std::string_view name, Tensor t, bool persistent = true);
  void set_child(std::string_view name, flambeau::Ref<flam_module> child);
  void remove(std::string_view name);

  // Own ones, which a program may have removed or set to none: the first three throw then.
  const Tensor& parameter(std::string_view name) const;
  const Tensor& buffer(std::string_view name) const;
  flambeau::Ref<flam_module> child(std::string_view name) const;
  Tensor parameter_or_none(std::string_view name) const;
  Tensor buffer_or_none(std::string_view name) const;
  Tensor call(flambeau::TensorsView inputs);  // forward with hooks
  Tensor call(const Tensor& x) { return call({&x, 1}); }
  Tensor call_with(const Tensor& x, const flambeau::nn::Epilogue& epilogue);  // without hooks
  bool hooked() const { return !hooks_before.empty() || !hooks_after.empty(); }
  bool updates_buffers() const;  // whether a call may write to some of the tree
  // What memory is labelled with while it runs: its path, or its type where it is the root.
  const char* label() const;
  const char* known_label() const { return label_.load(std::memory_order_relaxed); }

  // Visits this module and its descendants, each once, parents first; path "" is this module.
  template <class F> void visit(F&& f, const std::string& path = {}) const {
    std::vector<const flam_module*> seen;
    visit_unseen(f, path, seen);
  }

  std::string type;
  bool training = true;
  flambeau::nn::Named<Tensor> parameters;
  flambeau::nn::Named<flambeau::nn::Buffer> buffers;
  flambeau::nn::Named<flambeau::Ref<flam_module>> children;
  std::vector<flambeau::Ref<flambeau::nn::ModuleHook>> hooks_before, hooks_after;

 private:
  Tensor call_with_hooks(flambeau::TensorsView inputs);
  template <class F> Tensor labelled(F&& forward);
  void forget_parameter(std::string_view name);
  flambeau::nn::Named<const flambeau::TensorImpl*> named_;  // addresses, perhaps of ended ones
  void forget_child(std::string_view name);
  mutable std::atomic<const char*> label_{nullptr};  // interned; null where a parent changed
  void check_name(std::string_view name, const char* kind) const;
  template <class F>
  void visit_unseen(F& f, const std::string& path, std::vector<const flam_module*>& seen) const {
    for (const flam_module* m : seen) {
      if (m == this) return;
    }
    seen.push_back(this);
    f(path, *this);
    for (const auto& [name, child] : children) {
      if (child) child->visit_unseen(f, path.empty() ? name : path + "." + name, seen);
    }
  }
};

namespace flambeau::nn {

using Module = ::flam_module;

Ref<State> named_parameters(const Module& root, bool recurse);
Ref<State> named_buffers(const Module& root, bool recurse);
Ref<State> state_dict(const Module& root);
void load_state_dict(Module& root, const State& state, bool strict);
void move_to(Module& root, Device device, Dtype dtype, bool non_blocking);
void train(Module& root, bool mode);
void zero_grad(Module& root, bool set_to_none);
void set_requires_grad(Module& root, bool requires_grad);
std::string format(const Module& root);
Ref<Module> child_at(const Module& root, std::string_view path);  // throws with the names there are
Tensor parameter_at(const Module& root, std::string_view path);
Tensor buffer_at(const Module& root, std::string_view path);

}  // namespace flambeau::nn
