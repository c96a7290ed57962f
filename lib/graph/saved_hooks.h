// What may stand between a gradient and the values it saves: while hooks are set on a thread
// (modes.saved_hooks), every value saved there is handed to the innermost ones, which keep
// something of their own for it and give the value back when backward asks.
#pragma once
#include "graph/autograd_data.h"

namespace flambeau {

// What hooks made of one value. It lives as long as the gradient that saved the value.
class Packed : public RefCounted {
 public:
  virtual Tensor unpack() = 0;  // the value: same shape, dtype and device

 private:
  friend class Saved;
  Edge edge_;  // where the gradient of the value goes
};

class SavedHooks : public RefCounted {
 public:
  // `t` is the value itself, or for an op's own result a detached alias of it. Runs in the middle
  // of the op.
  virtual Ref<Packed> pack(const Tensor& t) = 0;
};

// A tensor over the data of `t` whose gradient goes along an edge.
Tensor with_history(const Tensor& t, const Edge& edge);

// The values that the gradient which runs now has unpacked: hooks are asked once for each. The
// walk owns and clears them.
struct UnpackedValues {
  struct Entry {
    Ref<Packed> packed;
    Tensor value;
  };
  SmallVector<Entry, 1> entries;
};
inline FLAM_THREAD_LOCAL UnpackedValues* unpacked_values = nullptr;

}  // namespace flambeau
