// See zip.h. Every offset and size of an archive is checked before it is used: files come from
// anywhere.
#include "io/zip.h"

#include <array>
#include <cstring>

#include "base/error.h"

namespace flambeau::io {

namespace {

constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50;
constexpr uint32_t kEnd64 = 0x06064b50, kLocator64 = 0x07064b50;
constexpr uint64_t kMost32 = 0xffffffffu;

constexpr std::array<uint32_t, 256> crc_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t c = i;
    for (int k = 0; k < 8; ++k) c = c & 1 ? 0xedb88320u ^ (c >> 1) : c >> 1;
    table[i] = c;
  }
  return table;
}

uint32_t crc32(const void* data, size_t bytes) {
  static constexpr auto table = crc_table();
  uint32_t c = ~0u;
  const auto* p = static_cast<const uint8_t*>(data);
  for (size_t i = 0; i < bytes; ++i) c = table[(c ^ p[i]) & 255] ^ (c >> 8);
  return ~c;
}

template <class T> void append(std::string& s, T v) {
  char bytes[sizeof v];
  std::memcpy(bytes, &v, sizeof v);
  s.append(bytes, sizeof v);
}

// Reads little-endian fields with a bound check each.
class Reader {
 public:
  Reader(std::string_view s, std::string_view path) : s_(s), path_(path) {}
  template <class T> T get(size_t at) const {
    check(at <= s_.size() && sizeof(T) <= s_.size() - at, Code::io, "\"", path_,
          "\" is a damaged archive");
    T v;
    std::memcpy(&v, s_.data() + at, sizeof v);
    return v;
  }
  std::string_view slice(size_t at, size_t n) const {
    check(at <= s_.size() && n <= s_.size() - at, Code::io, "\"", path_, "\" is a damaged archive");
    return s_.substr(at, n);
  }

 private:
  std::string_view s_, path_;
};

}  // namespace

void ZipWriter::add(const std::string& name, const void* data, size_t bytes) {
  const uint64_t at = file_.written();
  check(bytes < kMost32 && at < kMost32, Code::unsupported,
        "a .pt file above 4 GiB is not supported; save as .safetensors");
  // An extra field of zeros brings the content to a multiple of 64 bytes.
  const size_t before = at + 30 + name.size() + 4;
  const auto padding = uint16_t((64 - before % 64) % 64);
  const uint32_t crc = crc32(data, bytes);
  std::string head;
  auto common = [&](std::string& s) {
    append<uint16_t>(s, 0);           // version needed
    append<uint16_t>(s, 0);           // flags
    append<uint16_t>(s, 0);           // stored
    append<uint32_t>(s, 0x00210000);  // 1980-01-01: archives repeat bit by bit
    append<uint32_t>(s, crc);
    append<uint32_t>(s, uint32_t(bytes));
    append<uint32_t>(s, uint32_t(bytes));
    append<uint16_t>(s, uint16_t(name.size()));
  };
  append<uint32_t>(head, kLocal);
  common(head);
  append<uint16_t>(head, uint16_t(padding + 4));
  head += name;
  head += "FB";
  append<uint16_t>(head, padding);
  head.append(padding, 'Z');
  file_.write(head);
  file_.write(data, bytes);

  append<uint32_t>(directory_, kCentral);
  append<uint16_t>(directory_, 0);  // version made by
  common(directory_);
  append<uint16_t>(directory_, 0);  // extra
  append<uint16_t>(directory_, 0);  // comment
  append<uint16_t>(directory_, 0);  // disk
  append<uint16_t>(directory_, 0);  // internal attributes
  append<uint32_t>(directory_, 0);  // external attributes
  append<uint32_t>(directory_, uint32_t(at));
  directory_ += name;
  check(++entries_ < 0xffff, Code::unsupported,
        "too many tensors for a .pt file; save as .safetensors");
}

void ZipWriter::finish() {
  const size_t at = file_.written();
  std::string end;
  append<uint32_t>(end, kEnd);
  append<uint32_t>(end, 0);  // disks
  append<uint16_t>(end, entries_);
  append<uint16_t>(end, entries_);
  append<uint32_t>(end, uint32_t(directory_.size()));
  append<uint32_t>(end, uint32_t(at));
  append<uint16_t>(end, 0);
  file_.write(directory_);
  file_.write(end);
}

std::map<std::string, std::string_view> read_zip(std::string_view archive, std::string_view path) {
  const Reader r(archive, path);
  std::string signature;
  append<uint32_t>(signature, kEnd);
  const size_t end = archive.rfind(signature);
  check(end != archive.npos, Code::io, "\"", path,
        "\" is a damaged archive: its directory is missing");
  uint64_t count = r.get<uint16_t>(end + 10), at = r.get<uint32_t>(end + 16);
  if (end >= 20 && r.get<uint32_t>(end - 20) == kLocator64) {
    const auto end64 = size_t(r.get<uint64_t>(end - 12));
    check(r.get<uint32_t>(end64) == kEnd64, Code::io, "\"", path, "\" is a damaged archive");
    count = r.get<uint64_t>(end64 + 32);
    at = r.get<uint64_t>(end64 + 48);
  }
  std::map<std::string, std::string_view> entries;
  for (uint64_t i = 0; i < count; ++i) {
    check(r.get<uint32_t>(at) == kCentral, Code::io, "\"", path, "\" is a damaged archive");
    const auto method = r.get<uint16_t>(at + 10), name_length = r.get<uint16_t>(at + 28);
    const auto extra_length = r.get<uint16_t>(at + 30), comment_length = r.get<uint16_t>(at + 32);
    uint64_t bytes = r.get<uint32_t>(at + 24), local = r.get<uint32_t>(at + 42);
    const std::string name(r.slice(at + 46, name_length));
    check(method == 0, Code::unsupported, "\"", path, "\": entry ", name,
          " is compressed, which torch.save never does");
    if (bytes == kMost32 || local == kMost32) {
      // The zip64 field holds, in order, those of the two that do not fit.
      size_t field = at + 46 + name_length, stop = field + extra_length;
      while (field + 4 <= stop && r.get<uint16_t>(field) != 1)
        field += 4 + r.get<uint16_t>(field + 2);
      check(field + 4 <= stop, Code::io, "\"", path, "\" is a damaged archive");
      field += 4;
      if (bytes == kMost32) {
        bytes = r.get<uint64_t>(field);
        field += 16;  // the size twice: uncompressed and stored
      }
      if (local == kMost32) local = r.get<uint64_t>(field);
    }
    const uint64_t content = local + 30 + r.get<uint16_t>(local + 26) + r.get<uint16_t>(local + 28);
    entries[name] = r.slice(content, bytes);
    at += 46u + name_length + extra_length + comment_length;
  }
  return entries;
}

}  // namespace flambeau::io
