// Reads and writes at computed places. One kernel covers them all: it walks a shape, and the place
// on one side is moved along some dimensions by what index tensors say.
//
//   run_gather("gather", out, x, dim, index)                       out: shaped like index
//   run_scatter("scatter_add", kIndexAdd, self, dim, index, src)   src: index's, larger, or 0-d
//   run_index_read("index", out, x, lists)                         out: indexed_shape(x, lists)
//   run_index_write("index_put", kIndexSet, self, lists, values)   values broadcast to that
//   Tensor at = true_positions("nonzero", mask)                    waits; row-major, int64 [n]
//
// lists: one int64 tensor per leading dimension of x, undefined ones mean all of it:
// index_select(x, 1, i) and index_add are {{}, i}, embedding is {i}, masked_select is
// {true_positions(mask)} on the flattened x. Where FromEnd says so indices may count from the end,
// never along the dim of a gather or scatter; one that is out of range is an error before anything
// is written that is Kept (cpu), or at the next wait (devices, see report.h).
// Writes to one place happen in order on the cpu; on devices additions to one place are atomic, in
// any order, and in the cpu's order where deterministic algorithms are asked for. Flips, rolls,
// repeats and cat need no kernel: run_cast between aliases.
#pragma once
#include "kernels/access.h"

namespace flambeau {

inline constexpr int kIndexDims = 8, kIndexLists = 8;

struct IndexList {
  const char* data;            // int64
  int64_t stride[kIndexDims];  // bytes, along the walk
  int64_t step, size;          // of the indexed dimension: bytes, elements
  int32_t dim;
  bool from_end;  // a negative index counts from there
};

// One of the writes that may meet others: bytes from the start of either side, and the number of
// the next one at the same place, -1 after the last.
struct IndexMeeting {
  int64_t dst, src, next;
};

struct IndexArgs {
  int64_t numel;
  int32_t ndim, lists;
  int64_t size[kIndexDims], dst_stride[kIndexDims], src_stride[kIndexDims];  // bytes
  char* dst;
  const char* src;
  const char* op;
  struct Report* report;
  // Writes in order: the first `free_dims` dimensions are those in which no two writes meet. Along
  // the others each goes to a place in `ordered` (int32 or int64, elements), which the kernel finds
  // where there is no `order`; else they are sorted, and that says where each one stood.
  int32_t free_dims;
  bool narrow_places;
  void* ordered;  // null: in any order
  const int64_t* order;
  bool fresh;  // written to by nobody else, and let go on an error
  // Halves on the host: by place the first write along the other dimensions, or none; what meets is
  // computed in f32 and rounded once.
  const int64_t* first;
  const IndexMeeting* meetings;
  int64_t places;
  bool in_rows;  // or each run writes to a dense row of its own, along the one list's dimension
  IndexList list[kIndexLists];
};

enum class FromEnd : bool { no, yes };
enum class Kept : bool { no, yes };  // a target of writes, where an index is out of range
using IndexTensors = SmallVector<Tensor, 4>;

Dims indexed_shape(const char* op, const Tensor& x, const IndexTensors& lists);
void run_index_read(const char* op, const Tensor& out, const Tensor& x, const IndexTensors& lists,
                    FromEnd from_end = FromEnd::yes);
void run_index_write(const char* op, const Kernel& kernel, const Tensor& self,
                     const IndexTensors& lists, const Tensor& values,
                     FromEnd from_end = FromEnd::yes);
void run_gather(const char* op, const Tensor& out, const Tensor& x, int64_t dim,
                const Tensor& index);
void run_scatter(const char* op, const Kernel& kernel, const Tensor& self, int64_t dim,
                 const Tensor& index, const Tensor& src, Kept kept = Kept::yes);
Tensor true_positions(const char* op, const Tensor& mask);

extern constinit Kernel kIndexRead;  // any dtype, as are those that write:
extern constinit Kernel kIndexSet, kIndexAdd, kIndexMul, kIndexMax, kIndexMin;

struct TrueArgs {
  int64_t numel;
  const char* mask;
  int64_t* counts;     // per block of kTrueBlock; then where each block's output ends
  int64_t* positions;  // null: count only
};
inline constexpr int64_t kTrueBlock = 4096;
extern constinit Kernel kTruePositions;

}  // namespace flambeau
