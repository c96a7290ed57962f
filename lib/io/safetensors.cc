// The safetensors format: u64 length of a JSON header, the header, then the tensors' bytes without
// gaps. Source: huggingface/safetensors, README "Format". Every offset of a file is checked before
// it is used.
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "io/weights.h"

namespace flambeau::io {

using Json = nlohmann::ordered_json;

namespace {

struct Name {
  Dtype dtype;
  const char* text;
};
constexpr Name kNames[] = {{Dtype::f32, "F32"},      {Dtype::f64, "F64"}, {Dtype::f16, "F16"},
                           {Dtype::bf16, "BF16"},    {Dtype::i64, "I64"}, {Dtype::i32, "I32"},
                           {Dtype::i16, "I16"},      {Dtype::i8, "I8"},   {Dtype::u8, "U8"},
                           {Dtype::boolean, "BOOL"}, {Dtype::c64, "C64"}};

constexpr size_t kMostHeader = 100'000'000;  // the reference implementation's bound

Tensor read_entry(const std::string& name, const Json& entry, std::string_view data,
                  std::string_view path, size_t& expected) {
  const std::string type = entry.at("dtype");
  Dtype dtype = Dtype::none;
  for (const Name& n : kNames) {
    if (type == n.text) dtype = n.dtype;
  }
  check(dtype != Dtype::none, Code::unsupported, "\"", path, "\": tensor \"", name,
        "\" has the dtype ", type, ", which flambeau does not have");
  Dims sizes;
  for (const auto& s : entry.at("shape")) sizes.push_back(s.get<int64_t>());
  const auto& span = entry.at("data_offsets");
  const size_t begin = span.at(0), end = span.at(1);
  check(begin == expected && end >= begin && end <= data.size() &&
            end - begin == size_t(numel_of(sizes)) * size_of(dtype),
        Code::io, "\"", path, "\" is damaged: tensor \"", name, "\" claims bytes ", begin, " to ",
        end, " of ", data.size());
  expected = end;
  return tensor_from_bytes(data.substr(begin, end - begin), sizes, dtype);
}

}  // namespace

void write_safetensors(AtomicFile& file, const State& state) {
  Json header = Json::object();
  size_t at = 0;
  for (const auto& [name, t] : state.entries) {
    const char* type = nullptr;
    for (const Name& n : kNames) {
      if (n.dtype == t.dtype()) type = n.text;
    }
    check(type, Code::unsupported, "safetensors has no dtype for \"", name, "\", ", t,
          "; convert it, or save to a .pt file");
    header[name] = {{"dtype", type},
                    {"shape", std::vector<int64_t>(t.sizes().begin(), t.sizes().end())},
                    {"data_offsets", {at, at + t.nbytes()}}};
    at += t.nbytes();
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // data start aligned
  const uint64_t length = text.size();
  file.write(&length, sizeof length);
  file.write(text);
  for (const auto& [name, t] : state.entries) file.write(t.data(), t.nbytes());
}

Ref<State> read_safetensors(std::string_view content, std::string_view path) {
  uint64_t length = 0;
  check(content.size() >= sizeof length, Code::io, "\"", path,
        "\" is neither a safetensors nor a .pt file");
  std::memcpy(&length, content.data(), sizeof length);
  check(length <= kMostHeader && length <= content.size() - sizeof length && length > 0 &&
            content[sizeof length] == '{',
        Code::io, "\"", path, "\" is neither a safetensors nor a .pt file");
  const std::string_view data = content.substr(sizeof length + length);
  try {
    const Json header = Json::parse(content.substr(sizeof length, length));
    std::vector<std::pair<size_t, std::string>> order;  // the file's order is that of the data
    for (const auto& [name, entry] : header.items()) {
      if (name != "__metadata__")
        order.emplace_back(entry.at("data_offsets").at(0).get<size_t>(), name);
    }
    std::stable_sort(order.begin(), order.end(),
                     [](auto& a, auto& b) { return a.first < b.first; });
    auto state = make_ref<State>();
    size_t expected = 0;
    for (const auto& [offset, name] : order) {
      state->entries.emplace_back(name, read_entry(name, header.at(name), data, path, expected));
    }
    check(expected == data.size(), Code::io, "\"", path, "\" is damaged: ", data.size() - expected,
          " bytes belong to no tensor");
    return state;
  } catch (const Json::exception& e) {
    fail(Code::io, "\"", path, "\" is damaged: ", e.what());
  }
}

}  // namespace flambeau::io
