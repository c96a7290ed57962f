// Where a profiler listens. Ops, gradients, named ranges and the allocator tell it what begins,
// ends and changes; while nobody listens each place costs one test of a flag. What is told is kept
// per thread, by time, until `probe_record.h` hands it over. Nothing here fails: what finds no
// memory is lost.
#pragma once
#include <atomic>
#include <cstdint>
#include <span>

#include "base/device.h"

namespace flambeau::probe {

// wait: the host, for a device.
enum class Kind : int8_t { op, backward, range, module, wait };

inline std::atomic<bool> g_on{false};
inline bool on() { return g_on.load(std::memory_order_relaxed); }

// What was opened; 0: nothing was.
using Token = uint64_t;

// `name` lives as long as the process: a literal or an interned text.
Token begin(Kind kind, const char* name) noexcept;
// `sequence`: of the node, hence of the op that recorded it.
Token begin_backward(const char* name, uint64_t sequence) noexcept;
// An op whose operands are known. Where the ABI's function of the same name was just opened, that
// becomes the op, and the result is 0. Of each operand `shapes` has the dtype's number, the number
// of sizes, and the sizes.
Token begin_op(const char* name, Device device, std::span<const int64_t> shapes) noexcept;
void end(Token token) noexcept;  // and what was opened in it and is open still

bool wants_shapes() noexcept;
void note_sequence(uint64_t sequence) noexcept;           // the open op recorded this node
void note_memory(Device device, int64_t bytes) noexcept;  // negative: freed

bool wants_modules() noexcept;
// A module's call, where modules are wanted.
inline Token begin_module(const char* path) noexcept {
  return on() && path && wants_modules() ? begin(Kind::module, path) : 0;
}

class Span {
 public:
  Span(Kind kind, const char* name) noexcept {
    if (on()) [[unlikely]]
      token_ = begin(kind, name);
  }
  explicit Span(Token token) noexcept : token_(token) {}
  ~Span() {
    if (token_) [[unlikely]]
      end(token_);
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  Token token_ = 0;
};

}  // namespace flambeau::probe
