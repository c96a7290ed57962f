// In-place and out forms, derived from the plain op: a destination that is handed down to the op's
// Call, which writes into it directly where shape, dtype and aliasing allow. The result of an op
// that does not hand it on is copied into it, differentiably.
#pragma once
#include "ops/op.h"
#include "tensor/tensor.h"

namespace flambeau {

class Destination {
 public:
  enum Kind : int8_t { inplace, out, exact_out };  // the last: of the result's dtype

  // Throws where `target` may not be written to. Autocast rests while this lives, since the result
  // has a dtype already.
  Destination(const Tensor& target, const Op& op, Kind kind);
  ~Destination();
  Destination(const Destination&) = delete;
  Destination& operator=(const Destination&) = delete;

  const Tensor& target() const { return target_; }
  const Op& op() const { return op_; }
  bool is_out() const { return kind_ != inplace; }
  bool written() const { return written_; }

  // Throws where a result of that shape, dtype and device does not fit; an out= is resized, and
  // gets these strides then, those of C order where there are none.
  void prepare(DimsView sizes, Dtype dtype, Device device, DimsView strides = {});
  // Counts the target as written by this op and returns the version that it had before.
  uint32_t adopt();
  // The target, holding the op's result, which is copied where the op has not written it.
  Tensor finish(const Tensor& result);

 private:
  const Tensor target_;
  const Op& op_;
  const Kind kind_;
  bool written_ = false;
  const bool autocast_;  // was on
};

namespace ops {

// The tensor that a form is to write into; null for the plain form.
inline const Tensor* target_of(Into into) {
  return into.destination ? &into.destination->target() : nullptr;
}

// Refuses a destination that shares memory with an operand of an op that could not read it any
// more; in place as far as that is plain to see: where both fill one stretch of memory.
void check_no_overlap(Form form, std::initializer_list<const Tensor*> operands);
// Refuses an operand that shares memory with the target without being the same elements in the same
// order, as far as that is plain to see: where both fill one stretch of memory.
void check_no_partial_overlap(const char* op, const Tensor& target, const Tensor& x);
// `t`, or a copy where it shares memory with `x`, which is about to change.
Tensor apart(const Tensor& t, const Tensor& x);
// Throws where an out= cannot take a result, which is converted within its kind where `cast`.
void check_output(const Tensor& out, const Tensor& result, const char* op, bool cast);
// Warns where an out= that holds something is to take another shape.
void warn_of_resize(const Tensor& out, DimsView size);
// Writing by index lists as a plain op, of which C has the in-place form only; known here as one
// that takes an expanded destination.
inline constexpr Op kIndexPutOp{"index_put", "input values"};
// Throws where `op` may not change `target` in place, or write an out= to it.
void check_writable(const Tensor& target, const Op& op, Destination::Kind kind);
// The half of it that is autograd's: that is all that a new geometry of the same elements needs.
void check_recorded(const Tensor& target, const char* op, Destination::Kind kind);
[[noreturn]] void fail_recorded_out(const char* op);

}  // namespace ops
}  // namespace flambeau
