// Named tensors in files. Formats take and give dense cpu tensors; the front door moves and lays
// them out.
#pragma once
#include <string_view>

#include "io/file.h"
#include "tensor/state.h"

namespace flambeau::io {

void save(const State& state, std::string_view path);
Ref<State> load(std::string_view path, Device device);

// One format each; `content` is a whole file, `path` is for error texts.
void write_safetensors(AtomicFile& file, const State& state);
Ref<State> read_safetensors(std::string_view content, std::string_view path);
void write_pt(AtomicFile& file, const State& state, std::string_view path);
Ref<State> read_pt(std::string_view content, std::string_view path);

// A tensor of its own memory from little-endian bytes.
Tensor tensor_from_bytes(std::string_view bytes, DimsView sizes, Dtype dtype);

}  // namespace flambeau::io
