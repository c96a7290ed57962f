// What indexing ops share: index operands as the kernels want them.
#pragma once
#include "kernels/index/index.h"
#include "ops/call.h"
#include "ops/ops.h"

namespace flambeau::ops {

// Integers, on the device of the indexed tensor; nothing is moved behind the user's back.
void check_index(const Op& op, const Tensor& x, const Tensor& index);
// The index as int64.
Tensor index_operand(const Op& op, const Tensor& x, const Tensor& index);

// Index lists kept for a gradient: like any saved tensor they must not be written to in between.
class SavedLists {
 public:
  SavedLists(const Call& c, const IndexTensors& lists) {
    for (const Tensor& t : lists) saved_.push_back(c.save(t));
  }
  IndexTensors get() const {
    IndexTensors lists;
    for (const Saved& s : saved_) lists.push_back(s.get());
    return lists;
  }

 private:
  SmallVector<Saved, 2> saved_;
};
// x[lists] and x[lists] = values (or +=), recorded; the second one writes in place.
Tensor read_lists(const Tensor& x, const IndexTensors& lists);
Tensor write_lists(const Tensor& x, const IndexTensors& lists, const Tensor& values,
                   bool accumulate);
// Refuses indices and values that share memory with what they are to write to, as one cannot tell
// whether they are read before or after; a number under a mask is read once, before.
void check_unshared(const Tensor& target, TensorsView indices, const Tensor& values);
// Row-major positions to one index per dimension.
std::vector<Tensor> coordinates(const Tensor& positions, DimsView sizes);
// Where a mask is true, as one index per dimension; waits.
std::vector<Tensor> mask_coordinates(const char* op, const Tensor& mask);

}  // namespace flambeau::ops
