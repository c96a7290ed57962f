// In-place and out forms, derived from the plain op: a pending destination that the op's Call picks
// up and writes into directly where shape, dtype and aliasing allow. An op made of others does not
// pick it up; its result is then copied into the destination, differentiably.
#pragma once
#include "base/thread_local.h"
#include "tensor/tensor.h"

namespace flambeau {

struct Into {
  enum Form : int8_t { inplace, out };
  Tensor target;
  const char* op;
  Form form;
  bool written = false;

  Into* before;
  Into(const Tensor& t, const char* name, Form f);
  Into(const Into&) = delete;
  ~Into();
};

inline FLAM_THREAD_LOCAL Into* pending_into = nullptr;

namespace ops {

// What an in-place or out call of `op` is to write into, as long as nothing has; else null.
const Tensor* destination(const char* op);
// Refuses an out= that shares memory with an operand of an op that could not read it any more.
void check_no_overlap(const char* op, std::initializer_list<const Tensor*> operands);

void check_into(const Tensor& target, const char* op, Into::Form form);
[[noreturn]] void fail_recorded_out(const char* op);
Tensor finish_into(Into& into, const Tensor& result);

// Runs `f`, the plain op, with `target` as its destination and returns target.
template <class F> Tensor into(const Tensor& target, const char* op, Into::Form form, F&& f) {
  check_into(target, op, form);
  Into scope(target, op, form);
  const Tensor result = f();
  return finish_into(scope, result);
}

}  // namespace ops
}  // namespace flambeau
