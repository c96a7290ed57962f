// Zip archives of uncompressed entries, as PyTorch writes its files. Entries start at multiples of
// 64 bytes. Source: PKWARE, APPNOTE.TXT, sections 4.3 and 4.5.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "io/file.h"

namespace flambeau::io {

class ZipWriter {
 public:
  explicit ZipWriter(AtomicFile& file) : file_(file) {}
  void add(const std::string& name, const void* data, size_t bytes);
  void add(const std::string& name, std::string_view s) { add(name, s.data(), s.size()); }
  void finish();  // writes the directory

 private:
  AtomicFile& file_;
  std::string directory_;
  uint16_t entries_ = 0;
};

// Names to contents, as views into the archive. Throws io error where it is damaged.
std::map<std::string, std::string_view> read_zip(std::string_view archive, std::string_view path);

}  // namespace flambeau::io
