// Rows added up by an index, as the gradients of an embedding and of index_select are: every row of
// the result is written once, by the block that has it, in one launch. So nothing is zeroed before
// and no halves are widened first; sums have an order that the indices alone decide, and their bits
// repeat.
#pragma once
#include "kernels/fast_divide.h"
#include "kernels/kernel.h"
#include "tensor/tensor.h"

namespace flambeau {

inline constexpr int kAddedStripRows = 1024;  // the most that a block has

struct AddedRowsArgs {
  int64_t rows, width;  // of the result; a row of the source is as wide
  int64_t count;        // rows of the source
  int64_t skipped;      // a row that stays 0 whatever the index names; -1: none
  char* out;
  const char* source;
  const int64_t* index;
  FastDivide period;  // how many indices there are; row i of the source has index i % period
  float* wide;        // of halves: as much as out, for sums that are not whole yet
  int32_t each;       // neighbouring columns of a thread: 16 bytes of them, or one
  int32_t strip;      // rows that a block has
  const char* op;
  struct Report* report;
};

// The result of shape `sizes`, [rows, ...]: sums of those rows of `source`, [n * indices, ...] with
// any sizes before and as many elements in a row, whose `index` (int64 [indices], met again from
// its start n times) names the row.
struct RowSums {
  DimsView sizes;
  const Tensor& index;
  const Tensor& source;
  int64_t skipped = -1;
};

// Whether a launch is for them and looking through all indices in every block costs less than what
// it saves: on a GPU, of a floating dtype and dense rows. By shapes and dtype alone.
bool adds_rows(const RowSums& sums);
Tensor added_rows(const char* op, const RowSums& sums);

extern constinit Kernel kAddedRows;

}  // namespace flambeau
