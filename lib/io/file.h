// Whole files: read into memory, and written so that a failure leaves the old content.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace flambeau::io {

std::string read_file(std::string_view path);  // throws io error with the system's reason

// Appends to a temporary file beside `path`; commit() renames it over. Without a commit nothing
// remains.
class AtomicFile {
 public:
  explicit AtomicFile(std::string_view path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  void write(const void* data, size_t bytes);
  void write(std::string_view s) { write(s.data(), s.size()); }
  size_t written() const { return written_; }
  void commit();

 private:
  [[noreturn]] void fail_with_errno(const char* what) const;
  std::string path_, temporary_;
  int fd_ = -1;
  size_t written_ = 0;
};

}  // namespace flambeau::io
