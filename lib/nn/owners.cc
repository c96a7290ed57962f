// The side table behind module paths in error texts.
#include "nn/owners.h"

#include <mutex>
#include <unordered_map>

#include "base/error.h"
#include "nn/module.h"
#include "ops/ops.h"

namespace flambeau::nn {

namespace {

struct Link {
  const Module* module;
  std::string name;
};

struct Table {
  std::mutex mutex;
  std::unordered_map<const TensorImpl*, Link> owner;
  std::unordered_map<const Module*, Link> parent;
};

// Leaked on purpose: modules may outlive static destruction.
Table& table() {
  static Table* t = new Table;
  return *t;
}

std::string path_in(const Table& all, const Module* m) {
  std::string path;
  for (int depth = 0; depth < 64; ++depth) {
    const auto up = all.parent.find(m);
    if (up == all.parent.end()) break;
    path = path.empty() ? up->second.name : up->second.name + "." + path;
    m = up->second.module;
  }
  return path;
}

std::string describe_owner(const Tensor& t) {
  Table& all = table();
  std::lock_guard lock(all.mutex);
  const auto it = all.owner.find(t.impl());
  if (it == all.owner.end()) return {};
  const std::string path = path_in(all, it->second.module);
  const std::string where = path.empty() ? "" : " of \"" + path + "\"";
  return "parameter " + it->second.name + where + " (" + it->second.module->type + ")";
}

}  // namespace

void remember_owner(const Tensor& t, const Module* m, std::string_view name) {
  std::lock_guard lock(table().mutex);
  table().owner[t.impl()] = {m, std::string(name)};
  t.impl()->named = true;
}

void forget_owner(const TensorImpl* t, const Module* m, std::string_view name) {
  std::lock_guard lock(table().mutex);
  const auto it = table().owner.find(t);
  if (it != table().owner.end() && it->second.module == m && it->second.name == name)
    table().owner.erase(it);
}

void remember_parent(const Module& child, const Module* parent, std::string_view name) {
  std::lock_guard lock(table().mutex);
  table().parent[&child] = {parent, std::string(name)};
}

std::string path_of(const Module& m) {
  std::lock_guard lock(table().mutex);
  return path_in(table(), &m);
}

std::string describe_label(const char* label) {
  std::lock_guard lock(table().mutex);
  const std::string* type = nullptr;
  bool several = false;
  for (const auto& [module, unused] : table().parent) {
    if (module->known_label() != label) continue;
    several |= type && *type != module->type;
    type = &module->type;
  }
  if (!type) return label;
  return several ? cat_text("module \"", label, '"') : cat_text('"', label, "\" (", *type, ')');
}

void forget_parent(const Module& child, const Module* parent, std::string_view name) {
  std::lock_guard lock(table().mutex);
  const auto it = table().parent.find(&child);
  if (it != table().parent.end() && it->second.module == parent && it->second.name == name)
    table().parent.erase(it);
}

void forget_module(const Module* m) {
  std::lock_guard lock(table().mutex);
  table().parent.erase(m);
  std::erase_if(table().parent, [&](const auto& e) { return e.second.module == m; });
}

static void forget_tensor(const TensorImpl* t) {
  std::lock_guard lock(table().mutex);
  table().owner.erase(t);
}

[[maybe_unused]] static const bool registered =
    (tensor_owner = describe_owner, tensor_gone = forget_tensor, true);

}  // namespace flambeau::nn
