// How often a value was written to in place, and by which op last: what tells a backward pass that
// a saved value is no longer the one it saved. A storage counts for all tensors over it, but for
// those that `.data` made or gave another storage: they and their views have a count of their own.
#pragma once
#include <atomic>
#include <cstdint>

#include "base/pooled.h"
#include "base/ref.h"

namespace flambeau {

class Writes {
 public:
  Writes() = default;
  Writes(const Writes& o)
      : writer_(o.writer_), writer_suffix_(o.writer_suffix_), version_(o.version()) {}
  uint32_t version() const { return version_.load(std::memory_order_relaxed); }
  // The latest write: the op, and what its name lacks ("_").
  const char* writer() const { return writer_; }
  const char* writer_suffix() const { return writer_suffix_; }
  void add(const char* op, const char* suffix = "") {
    version_.fetch_add(1, std::memory_order_relaxed);
    writer_ = op;
    writer_suffix_ = suffix;
  }

 private:
  const char *writer_ = "", *writer_suffix_ = "";
  std::atomic<uint32_t> version_{0};
};

struct OwnWrites final : RefCounted, Pooled {
  OwnWrites() = default;
  explicit OwnWrites(const Writes& before) : writes(before) {}
  Writes writes;
};

}  // namespace flambeau
