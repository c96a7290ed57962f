// Elements of a dimension in order. One kernel serves sorting, the greatest few, the k-th and the
// middle: it writes a range of the sorted line. The order is total (NaN last, -0 equal to 0) and
// equal elements keep theirs, so that every algorithm on every device gives the same result.
//
//   run_sort("topk", values, at, x, dim, {.count = k, .descending = true})
//
// `values` and `at` have x's shape with size `count` along dim; either may be undefined.
#pragma once
#include "kernels/access.h"

namespace flambeau {

enum class Middle : int8_t { none, nan_wins, nan_out };  // which single element the range is

struct SortRange {
  int64_t first = 0, count = 1;  // positions in the sorted line
  bool descending = false;
  Middle middle = Middle::none;  // takes the place of `first`
};

struct SortArgs {
  int64_t lines, n, first, count;
  const char* in;  // dense [lines, n]
  char* values;    // dense [lines, count], or null
  int64_t* at;     // dense [lines, count], or null
  char* scratch;   // on devices, of as many bytes as was asked for
  size_t* wanted;  // where set, nothing is sorted: becomes those bytes, or stays as it was
  int8_t descending;
  Middle middle;
};

inline constexpr int64_t kSortTile = 1024;

void run_sort(const char* op, const Tensor& values, const Tensor& at, const Tensor& input,
              int64_t dim, const SortRange& range);

extern constinit Kernel kSort;

// Where values stand in ascending sequences.
struct SearchArgs {
  int64_t numel, n;        // values; elements of a sequence
  int64_t values_per_row;  // 0: there is one sequence
  const char *sequence, *values;
  const int64_t* sorter;  // or null
  const char* op;         // for errors about it, and
  struct Report* report;  // null on the cpu
  char* out;              // int64 or int32
  int8_t right, narrow;
};

void run_search(const char* op, const Tensor& out, const Tensor& sequence, const Tensor& values,
                const Tensor& sorter, bool right);

extern constinit Kernel kSearch;

}  // namespace flambeau
