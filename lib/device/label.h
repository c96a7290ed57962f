// Who is working on this thread: the op and the module that run now. The allocator stores the label
// with every block, so that an out-of-memory error and a snapshot can name the holders. Strings
// outlive every block: op names are literals, module paths are interned.
#pragma once
#include <cstdint>
#include <string_view>

#include "base/thread_local.h"
#include "device/probe.h"

namespace flambeau {

struct Label {
  const char* op = nullptr;
  const char* module = nullptr;
  int64_t rows = 0;             // leading size of the op's first operand, 0: none
  const char* shape = nullptr;  // "f32[64, 10]" of the tensor that is made; while events are traced
};

inline FLAM_THREAD_LOCAL Label t_label{};

// The one copy of `text` in the process; never freed.
const char* intern(std::string_view text);

class OpLabel {
 public:
  explicit OpLabel(const char* op) : before_(t_label.op) { t_label.op = op; }
  ~OpLabel() { t_label.op = before_; }
  OpLabel(const OpLabel&) = delete;
  OpLabel& operator=(const OpLabel&) = delete;

 private:
  const char* before_;
};

// Names the tensor whose memory is allocated meanwhile.
class ShapeLabel {
 public:
  explicit ShapeLabel(const char* interned_shape) { t_label.shape = interned_shape; }
  ~ShapeLabel() { t_label.shape = nullptr; }
  ShapeLabel(const ShapeLabel&) = delete;
  ShapeLabel& operator=(const ShapeLabel&) = delete;
};

class ModuleLabel {
 public:
  explicit ModuleLabel(const char* interned_path)
      : before_(t_label.module), span_(probe::begin_module(interned_path)) {
    t_label.module = interned_path;
  }
  ~ModuleLabel() { t_label.module = before_; }
  ModuleLabel(const ModuleLabel&) = delete;
  ModuleLabel& operator=(const ModuleLabel&) = delete;

 private:
  const char* before_;
  probe::Span span_;
};

}  // namespace flambeau
