// PyTorch's file format for state dicts: a zip archive with a pickle of the dict and one entry per
// storage. Source: PyTorch, torch/serialization.py and caffe2/serialize/inline_container.h.
#include <cstring>

#include "base/error.h"
#include "io/pickle.h"
#include "io/weights.h"
#include "io/zip.h"

namespace flambeau::io {

namespace {

const char* storage_name(Dtype d) {
  constexpr const char* names[kDtypeCount] = {"",
                                              "FloatStorage",
                                              "DoubleStorage",
                                              "HalfStorage",
                                              "BFloat16Storage",
                                              "LongStorage",
                                              "IntStorage",
                                              "ShortStorage",
                                              "CharStorage",
                                              "ByteStorage",
                                              "BoolStorage",
                                              "ComplexFloatStorage",
                                              "ComplexDoubleStorage"};
  return names[int(d)];
}

template <class T> void append(std::string& s, T v) {
  char bytes[sizeof v];
  std::memcpy(bytes, &v, sizeof v);
  s.append(bytes, sizeof v);
}

void append_text(std::string& s, std::string_view text) {
  s += 'X';
  append(s, uint32_t(text.size()));
  s += text;
}

void append_int(std::string& s, int64_t v) {
  if (v >= 0 && v < 256) {
    s += 'K';
    append(s, uint8_t(v));
  } else if (v >= INT32_MIN && v <= INT32_MAX) {
    s += 'J';
    append(s, int32_t(v));
  } else {
    s += '\x8a';
    s += char(8);
    append(s, v);
  }
}

void append_ints(std::string& s, DimsView values) {
  s += '(';
  for (int64_t v : values) append_int(s, v);
  s += 't';
}

// _rebuild_tensor_v2(storage, offset, size, stride, requires_grad, backward_hooks)
void append_tensor(std::string& s, const Tensor& t, size_t key) {
  s += "ctorch._utils\n_rebuild_tensor_v2\n((";
  append_text(s, "storage");
  s += cat_text("ctorch\n", storage_name(t.dtype()), "\n");
  append_text(s, std::to_string(key));
  append_text(s, "cpu");
  append_int(s, t.numel());
  s += "tQ";
  append_int(s, 0);
  append_ints(s, t.sizes());
  append_ints(s, t.strides());
  s += "\x89"
       "ccollections\nOrderedDict\n)RtR";
}

// Tensors of nested dicts, named by their path; anything else in them is passed over.
void collect(const PickleValue& value, const std::string& prefix, State& state, int depth) {
  check(depth < 100, Code::io, "the file's dicts are nested too deeply");
  const auto* dict = value.as<PickleValue::Dict>();
  if (!dict) return;
  for (const auto& [key, item] : dict->items) {
    const auto* name = key->as<std::string>();
    if (!name) continue;
    if (const auto* t = item->as<Tensor>()) {
      state.entries.emplace_back(prefix + *name, *t);
    } else {
      collect(*item, prefix + *name + ".", state, depth + 1);
    }
  }
}

}  // namespace

void write_pt(AtomicFile& file, const State& state, std::string_view path) {
  const size_t slash = path.rfind('/');
  std::string root(slash == path.npos ? path : path.substr(slash + 1));
  root.resize(std::min(root.rfind('.'), root.size()));
  std::string pickle =
      "\x80\x02"
      "ccollections\nOrderedDict\n)R(";
  for (size_t i = 0; i < state.entries.size(); ++i) {
    append_text(pickle, state.entries[i].first);
    append_tensor(pickle, state.entries[i].second, i);
  }
  pickle += "u.";
  ZipWriter zip(file);
  zip.add(root + "/data.pkl", pickle);
  zip.add(root + "/byteorder", "little");
  for (size_t i = 0; i < state.entries.size(); ++i) {
    const Tensor& t = state.entries[i].second;
    zip.add(root + "/data/" + std::to_string(i), t.data(), t.nbytes());
  }
  zip.add(root + "/version", "3\n");
  zip.finish();
}

Ref<State> read_pt(std::string_view content, std::string_view path) {
  const auto entries = read_zip(content, path);
  std::string root;
  for (const auto& [name, unused] : entries) {
    if (name.ends_with("/data.pkl")) root = name.substr(0, name.size() - 8);
  }
  check(!root.empty(), Code::io, "\"", path, "\" is an archive, but not one that torch.save wrote");
  const auto order = entries.find(root + "byteorder");
  check(order == entries.end() || order->second == "little", Code::unsupported, "\"", path,
        "\" was written on a big-endian machine");
  const auto lookup = [&](const std::string& key) {
    const auto it = entries.find(root + "data/" + key);
    check(it != entries.end(), Code::io, "\"", path, "\" lacks the storage ", key);
    return it->second;
  };
  const Pickle pickle = read_pickle(entries.at(root + "data.pkl"), lookup, path);
  check(pickle.root().as<PickleValue::Dict>() != nullptr, Code::unsupported, "\"", path,
        "\" holds no state dict; save model.state_dict() rather than the model");
  auto state = make_ref<State>();
  collect(pickle.root(), "", *state, 0);
  return state;
}

}  // namespace flambeau::io
