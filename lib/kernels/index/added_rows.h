// Rows added up by an index, as the gradients of an embedding and of index_select are, in one
// launch: the block that has a row of the result writes it, once where one list holds its indices.
// So nothing is zeroed before and no halves are widened first. Sums have an order that the indices
// and shapes decide, so that their bits repeat; those of f32 and f64 are compensated, within 1 ULP
// where terms have one sign (a plain lookup's are rounded after each list but the last, too). A sum
// over a broadcast has another order than sum_to's: a hook that asks for that one may change bits.
#pragma once
#include "kernels/fast_divide.h"
#include "kernels/kernel.h"
#include "tensor/tensor.h"

namespace flambeau {

inline constexpr int kAddedStripRows = 1024;  // the most that a block has
inline constexpr int kAddedListed = 4096;     // indices that one list holds, whatever they name

struct AddedRowsArgs {
  int64_t rows, width;  // of the result; a row of the source is as wide
  int64_t count;        // rows of the source
  int64_t skipped;      // a row that stays 0 whatever the index names; -1: none
  char* out;
  const char* source;
  const int64_t* index;
  FastDivide period;  // how many indices there are; row i of the source has index i % period
  // As much as out, for sums that a second list goes on with: of halves the sums in f32, of others
  // what these have left out. Null where there is no second list or no need to be that exact.
  char* aside;
  int32_t each;   // neighbouring columns of a thread: 16 bytes of them, or one
  int32_t strip;  // rows that a block has
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

// Whether a launch is for them and costs less than it saves, by looks at all indices in every
// block, by blocks that are enough for what is read, and by memory: on a GPU, of a floating dtype
// and dense rows. By shapes, strides and dtype alone.
bool adds_rows(const RowSums& sums);
Tensor added_rows(const char* op, const RowSums& sums);

extern constinit Kernel kAddedRows;

}  // namespace flambeau
