// What is done to a whole module tree: listing, state dicts, moving, modes, gradients.
#include <algorithm>
#include <unordered_set>

#include "base/error.h"
#include "graph/mode.h"
#include "nn/module.h"
#include "ops/ops.h"

namespace flambeau::nn {

namespace {

std::string joined(const std::string& path, const std::string& name) {
  return path.empty() ? name : path + "." + name;
}

// Calls f(path, tensor) for each distinct parameter, then for each distinct buffer, module by
// module.
template <class F> void each_tensor(const Module& root, F&& f) {
  std::unordered_set<const TensorImpl*> seen;
  root.visit([&](const std::string& path, const Module& m) {
    for (const auto& [name, t] : m.parameters) {
      if (t && seen.insert(t.impl()).second) f(joined(path, name), t);
    }
    for (const auto& [name, b] : m.buffers) {
      if (b.tensor && seen.insert(b.tensor.impl()).second) f(joined(path, name), b.tensor);
    }
  });
}

template <class F> void each_parameter(const Module& root, F&& f) {
  std::unordered_set<const TensorImpl*> seen;
  root.visit([&](const std::string& path, const Module& m) {
    for (const auto& [name, t] : m.parameters) {
      if (t && seen.insert(t.impl()).second) f(joined(path, name), t);
    }
  });
}

std::string list_names(const State& s) {
  std::string names;
  for (const auto& [name, t] : s.entries) names += (names.empty() ? "" : ", ") + name;
  return names;
}

}  // namespace

Ref<State> named_parameters(const Module& root, bool recurse) {
  auto out = make_ref<State>();
  if (!recurse) {
    for (const auto& [name, t] : root.parameters) {
      if (t) out->entries.emplace_back(name, t);
    }
    return out;
  }
  each_parameter(root, [&](std::string path, const Tensor& t) {
    out->entries.emplace_back(std::move(path), t);
  });
  return out;
}

Ref<State> named_buffers(const Module& root, bool recurse) {
  auto out = make_ref<State>();
  std::unordered_set<const TensorImpl*> seen;
  root.visit([&](const std::string& path, const Module& m) {
    if (!recurse && &m != &root) return;
    for (const auto& [name, b] : m.buffers) {
      if (b.tensor && seen.insert(b.tensor.impl()).second) {
        out->entries.emplace_back(joined(path, name), b.tensor);
      }
    }
  });
  return out;
}

Ref<State> state_dict(const Module& root) {
  auto out = make_ref<State>();
  root.visit([&](const std::string& path, const Module& m) {
    for (const auto& [name, t] : m.parameters) {
      if (t) out->entries.emplace_back(joined(path, name), ops::detach(t));
    }
    for (const auto& [name, b] : m.buffers) {
      if (b.tensor && b.persistent)
        out->entries.emplace_back(joined(path, name), ops::detach(b.tensor));
    }
  });
  return out;
}

void load_state_dict(Module& root, const State& state, bool strict) {
  const Ref<State> own = state_dict(root);
  std::string missing, unexpected, mismatched;
  for (const auto& [name, t] : own->entries) {
    const Tensor* given = state.find(name);
    if (!given) {
      missing += cat_text(missing.empty() ? "" : ", ", '"', name, '"');
    } else if (!std::ranges::equal(given->sizes(), t.sizes())) {
      mismatched +=
          cat_text("\n\tsize mismatch for ", name, ": copying a param with shape ",
                   to_string(given->sizes()), " from checkpoint, the shape in current model is ",
                   to_string(t.sizes()), ".");
    }
  }
  for (const auto& [name, t] : state.entries) {
    if (!own->find(name)) unexpected += cat_text(unexpected.empty() ? "" : ", ", '"', name, '"');
  }
  if (!strict) missing.clear(), unexpected.clear();
  if (!missing.empty() || !unexpected.empty() || !mismatched.empty()) {
    std::string text = cat_text("Error(s) in loading state_dict for ", root.type, ":");
    if (!unexpected.empty()) text += "\n\tUnexpected key(s) in state_dict: " + unexpected + ". ";
    if (!missing.empty()) text += "\n\tMissing key(s) in state_dict: " + missing + ". ";
    fail(Code::invalid_argument, text, mismatched);
  }
  GradMode no_grad(false);
  for (const auto& [name, t] : own->entries) {
    if (const Tensor* given = state.find(name)) ops::copy_(t, *given);
  }
}

void move_to(Module& root, Device device, Dtype dtype, bool non_blocking) {
  check(dtype == Dtype::none || is_differentiable(dtype), Code::dtype,
        "nn.Module.to only accepts floating point or complex dtypes, but got desired dtype=",
        name_of(dtype));
  // All copies are made before anything changes, so that a failure leaves the module where it was.
  GradMode no_grad(false);
  std::vector<std::pair<Tensor, Tensor>> moves;
  auto plan = [&](const Tensor& t) {
    const Dtype to = is_floating(t.dtype()) ? dtype : Dtype::none;
    moves.emplace_back(t, ops::to(t, device, to, non_blocking));
  };
  each_tensor(root, [&](const std::string&, const Tensor& t) {
    plan(t);
    if (t.impl()->autograd && t.impl()->autograd->grad) plan(t.impl()->autograd->grad);
  });
  for (auto& [t, moved] : moves) {
    if (!moved.is_same(t)) t.impl()->take_data(moved);
  }
}

void train(Module& root, bool mode) {
  root.visit([&](const std::string&, const Module& m) { const_cast<Module&>(m).training = mode; });
}

void zero_grad(Module& root, bool set_to_none) {
  each_parameter(root, [&](const std::string&, const Tensor& t) {
    if (!t.impl()->autograd) return;
    Tensor& grad = t.impl()->autograd->grad;
    if (set_to_none) {
      grad = Tensor();
    } else if (grad) {
      GradMode no_grad(false);
      ops::zero_(grad);
    }
  });
}

void set_requires_grad(Module& root, bool requires_grad) {
  each_parameter(root, [&](const std::string& path, const Tensor& t) {
    check(!requires_grad || is_differentiable(t.dtype()), Code::dtype, "parameter ", path, " is ",
          name_of(t.dtype()), ": only floating point and complex tensors can require gradients");
  });
  each_parameter(root, [&](const std::string&, const Tensor& t) {
    autograd_data(t).requires_grad = requires_grad;
  });
}

Ref<Module> child_at(const Module& root, std::string_view path) {
  const Module* m = &root;
  std::string_view rest = path;
  while (!rest.empty()) {
    const size_t dot = std::min(rest.find('.'), rest.size());
    const auto* child = m->children.find(rest.substr(0, dot));
    if (!child || !*child) {
      std::string names;
      for (const auto& [n, c] : m->children) names += (names.empty() ? "" : ", ") + n;
      fail(Code::invalid_argument, "no module \"", path, "\": ", m->type, " has the children ",
           names);
    }
    m = child->get();
    rest.remove_prefix(std::min(dot + 1, rest.size()));
  }
  return Ref<Module>::share(const_cast<Module*>(m));
}

namespace {
std::pair<std::string_view, std::string_view> split_path(std::string_view path) {
  const size_t dot = path.rfind('.');
  if (dot == path.npos) return {{}, path};
  return {path.substr(0, dot), path.substr(dot + 1)};
}
}  // namespace

Tensor parameter_at(const Module& root, std::string_view path) {
  const auto [where, name] = split_path(path);
  const Tensor* t = child_at(root, where)->parameters.find(name);
  check(t && *t, Code::invalid_argument, "no parameter \"", path, "\"; there are ",
        list_names(*named_parameters(root, true)));
  return *t;
}

Tensor buffer_at(const Module& root, std::string_view path) {
  const auto [where, name] = split_path(path);
  const Buffer* b = child_at(root, where)->buffers.find(name);
  check(b && b->tensor, Code::invalid_argument, "no buffer \"", path, "\"; there are ",
        list_names(*named_buffers(root, true)));
  return b->tensor;
}

std::string format(const Module& m) {
  const std::string extra = m.extra_repr();
  if (m.children.size() == 0) return m.type + "(" + extra + ")";
  std::string out = m.type + "(\n";
  if (!extra.empty()) out += "  " + extra + "\n";
  for (const auto& [name, child] : m.children) {
    std::string body = child ? format(*child) : "None";
    for (size_t at = 0; (at = body.find('\n', at)) != body.npos; at += 3)
      body.replace(at, 1, "\n  ");
    out += "  (" + name + "): " + body + "\n";
  }
  return out + ")";
}

}  // namespace flambeau::nn
