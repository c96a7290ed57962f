// The front door of weight files.
#include "io/weights.h"

#include <cstring>

#include "base/error.h"
#include "ops/ops.h"

namespace flambeau::io {

Tensor tensor_from_bytes(std::string_view bytes, DimsView sizes, Dtype dtype) {
  Tensor t = empty(sizes, dtype, kCpu);
  check(bytes.size() >= t.nbytes(), Code::internal, "too few bytes for ", t);
  if (t.nbytes()) std::memcpy(t.data(), bytes.data(), t.nbytes());
  return t;
}

void save(const State& state, std::string_view path) {
  const bool safetensors = path.ends_with(".safetensors");
  const bool pt = path.ends_with(".pt") || path.ends_with(".pth") || path.ends_with(".ckpt") ||
                  path.ends_with(".bin");
  check(safetensors || pt, Code::invalid_argument, "cannot tell the format from the name \"", path,
        "\": it should end with .safetensors, .pt, .pth, .ckpt or .bin");
  auto dense = make_ref<State>();
  for (const auto& [name, t] : state.entries) {
    dense->entries.emplace_back(name, ops::contiguous(ops::to_device(ops::detach(t), kCpu, false)));
    wait_for_host_access(dense->entries.tensors().back().storage()->block());
  }
  AtomicFile file(path);
  if (safetensors) {
    write_safetensors(file, *dense);
  } else {
    write_pt(file, *dense, path);
  }
  file.commit();
}

Ref<State> load(std::string_view path, Device device) {
  const std::string content = read_file(path);
  const Ref<State> state =
      content.starts_with("PK") ? read_pt(content, path) : read_safetensors(content, path);
  if (device && !device.is_cpu()) {
    NamedTensors& all = state->entries;
    for (size_t i = 0; i < all.size(); ++i)
      all.replace(i, ops::to_device(all.tensors()[i], device, false));
  }
  return state;
}

}  // namespace flambeau::io
