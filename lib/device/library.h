// Libraries that are opened on first use (cuBLASLt, cuDNN, NCCL, MPI ...), by versioned name:
// already loaded, beside this library, in directories the binding named, under CUDA_HOME, then the
// system's. What was looked for, found and rejected is kept for errors and for `flambeau doctor`.
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace flambeau {

struct LibrarySpec {
  const char* name;                      // "cuBLASLt"
  std::span<const char* const> sonames;  // tried in this order
  std::span<const char* const>
      wheel_dirs;   // relative to a Python site directory: "nvidia/cu13/lib"
  const char* fix;  // the line that installs it
  std::string (*reject)(void* handle) = nullptr;  // why a found one cannot be used; empty: it can
};

class Library {
 public:
  // Opens it; throws Error(library missing, or library version) with every place that was tried.
  static Library open(const LibrarySpec& spec);
  void* symbol(const char* name) const;  // throws Error(library version)
  template <class F> void bind(F& pointer, const char* name) const {
    pointer = reinterpret_cast<F>(symbol(name));
  }
  const std::string& path() const { return path_; }

 private:
  Library(const LibrarySpec& spec, void* handle, std::string path)
      : name_(spec.name), fix_(spec.fix), handle_(handle), path_(std::move(path)) {}

  std::string name_, fix_;
  void* handle_;  // never closed: its threads and destructors outlive us
  std::string path_;
};

void add_library_directory(std::string_view path);
size_t library_directories();  // how many were added
std::string library_report();

}  // namespace flambeau
