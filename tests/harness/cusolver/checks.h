// What the stand-ins for cuSOLVER and cuBLAS have in common: handles that live on one device and
// must be told their stream, matrices in columns that lie whole in memory of the current device,
// and the rules that a call has broken, told once each. Every handle has a number that none gets
// again; for each device and stream one may be left at the end, when CUDA may be gone.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "driver.h"

namespace cusolver {

using flambeau::cat_text;

// What a question for a workspace was about, and its answer.
struct Asked {
  std::string about;
  size_t device, host;
};

struct Living {
  int device = 0;
  std::optional<void*> stream;  // none: not said yet
  std::vector<Asked> asked;     // the last of each kind
  void* workspace = nullptr;
  size_t workspace_bytes = 0;
};

class Handles {
 public:
  explicit Handles(const char* library) : library_(library) {}

  void* make(int device) {
    const std::lock_guard lock(mutex_);
    living_[++last_].device = device;
    return reinterpret_cast<void*>(last_);
  }
  Living* find(const void* number) {
    const std::lock_guard lock(mutex_);
    const auto at = living_.find(reinterpret_cast<uintptr_t>(number));
    return at == living_.end() ? nullptr : &at->second;
  }
  bool remove(const void* number) {
    const std::lock_guard lock(mutex_);
    return living_.erase(reinterpret_cast<uintptr_t>(number)) == 1;
  }
  void expect_one_of_each_stream() const {
    std::map<std::pair<int, void*>, int> of;
    for (const auto& [number, handle] : living_)
      if (handle.stream && ++of[{handle.device, *handle.stream}] == 2)
        standin_breach(
            cat_text(library_, ": at the end: handles of one stream of device ", handle.device)
                .c_str());
  }

 private:
  const char* const library_;
  std::mutex mutex_;
  std::map<uintptr_t, Living> living_;
  uintptr_t last_ = 0;
};

// One call: the first rule that it breaks is told, and spoils it.
class Checked {
 public:
  Checked(const char* function, Handles& handles, void* handle)
      : function_(function), entered_(standin_enters(function)), living_(handles.find(handle)) {
    expect(living_, "a dead handle");
    if (!living_) return;
    expect(living_->device == entered_.device,
           cat_text("a handle of device ", living_->device, " on device ", entered_.device));
  }

  void expect(bool holds, const std::string& otherwise) {
    if (holds || broken_) return;
    broken_ = true;
    standin_breach(cat_text(function_, ": ", otherwise).c_str());
  }
  void expect_stream() { expect(living_ && living_->stream, "a handle without a stream"); }
  void expect_no_capture() { expect(!entered_.unsafe, "in a capture"); }
  void expect_matrix(const char* name, const void* p, int64_t rows, int64_t cols, int64_t ld,
                     size_t element) {
    expect(rows > 0 && cols > 0 && ld >= rows,
           cat_text(name, ": [", rows, ", ", cols, "] in columns of ", ld));
    expect_memory(name, p, (size_t(cols - 1) * size_t(ld) + size_t(rows)) * element, element);
  }
  void expect_memory(const char* name, const void* p, size_t bytes, size_t aligned) {
    expect(p && reinterpret_cast<uintptr_t>(p) % aligned == 0,
           cat_text(name, " at ", p, " is not aligned to ", aligned));
    expect(broken_ || standin_holds(p, bytes),
           cat_text(name, " at ", p, " is no memory of the current device"));
  }

  bool broken() const { return broken_; }
  int error() const { return entered_.error; }
  Living& living() const { return *living_; }
  void* stream() const { return *living_->stream; }

 private:
  const char* const function_;
  const standin_call entered_;
  Living* const living_;
  bool broken_ = false;
};

inline size_t bytes_of(int64_t rows, int64_t cols, int64_t ld, size_t element) {
  return (size_t(cols - 1) * size_t(ld) + size_t(rows)) * element;
}

// What a test asked CUDA to answer, in a library's own numbers.
inline int meaning(int error, int of_memory, int otherwise) {
  constexpr int kMemoryAllocation = 2;  // of cudaError_t
  return error == 0 ? 0 : error == kMemoryAllocation ? of_memory : otherwise;
}

}  // namespace cusolver
