// The planner of reductions: splits dimensions into kept and reduced, merges neighbours, chooses
// rows or columns and how many pieces each output's terms are cut into.
#include "kernels/fold/fold.h"

#include <algorithm>

#include "base/error.h"
#include "kernels/map/map.h"
#include "tensor/parts.h"

namespace flambeau {

constinit Kernel kSum{"sum"}, kProd{"prod"}, kTruth{"count_nonzero", Dtype::i64};
constinit Kernel kMax{"max"}, kMin{"min"}, kMaxIndex{"max"}, kMinIndex{"min"};
constinit Kernel kMean{"mean"}, kNorm1{"norm"}, kNormMax{"norm"}, kNormMin{"norm"};
constinit Kernel kSumSquares{"norm"}, kNormP{"norm"};
constinit Kernel kCentredSquares{"var"}, kCentredExp{"logsumexp"};

namespace {

struct Axis {
  int64_t size, in, out;  // in bytes, out elements
};
using Axes = SmallVector<Axis, 8>;

constexpr int64_t kRunBytes = 1024;  // a run that is worth an accumulator of its own
constexpr size_t kAccBytes = 16;     // of the widest accumulator: a value and its position

// Innermost last; merges an axis into its outer neighbour where both are walked as one.
void coalesce(Axes& axes) {
  for (size_t d = axes.size(); d-- > 1;) {
    Axis &outer = axes[d - 1], &inner = axes[d];
    if (outer.in != inner.in * inner.size || outer.out != inner.out * inner.size) continue;
    outer = {outer.size * inner.size, inner.in, inner.out};
    axes.erase(d);
  }
}

void order_by_input(Axes& axes) {
  std::stable_sort(axes.begin(), axes.end(),
                   [](const Axis& a, const Axis& b) { return std::abs(a.in) > std::abs(b.in); });
}

uint64_t mask_of(DimsView dims, int64_t ndim) {
  check(ndim <= 64, Code::unsupported,
        "only tensors with up to 64 dims are supported in reductions, got ", ndim);
  uint64_t mask = 0;
  for (int64_t d : dims) mask |= uint64_t(1) << wrap_dim(d, ndim);
  return mask;
}

struct Split {
  Axes kept, reduced;
  int64_t outputs = 1, count = 1;
};

// `indexed` keeps the reduced dimensions in their order, so that a term's number is its position.
Split split(const Tensor& input, uint64_t reduce, bool indexed) {
  Split s;
  const int64_t bytes = int64_t(input.element_size());
  int64_t out_stride = 1;
  for (int64_t d = input.dim(); d-- > 0;) {
    const int64_t size = input.sizes()[size_t(d)], stride = input.strides()[size_t(d)] * bytes;
    const bool reduced = reduce >> d & 1;
    (reduced ? s.count : s.outputs) *= size;
    if (size != 1)
      (reduced ? s.reduced : s.kept).push_back({size, stride, reduced ? 0 : out_stride});
    if (!reduced) out_stride *= size;
  }
  std::reverse(s.kept.begin(), s.kept.end());
  std::reverse(s.reduced.begin(), s.reduced.end());
  order_by_input(s.kept);
  if (!indexed) order_by_input(s.reduced);
  coalesce(s.kept);
  coalesce(s.reduced);
  return s;
}

// Kept dimensions first, the reduced ones after them, dense: any tensor becomes rows.
Tensor as_rows(const Tensor& input, uint64_t reduce) {
  Dims sizes, strides;
  for (bool reduced : {false, true}) {
    for (int64_t d = 0; d < input.dim(); ++d) {
      if (bool(reduce >> d & 1) != reduced) continue;
      sizes.push_back(input.sizes()[size_t(d)]);
      strides.push_back(input.strides()[size_t(d)]);
    }
  }
  Tensor rows = empty(sizes, input.dtype(), input.device());
  run_cast(rows, alias(input, sizes, strides, input.offset()));
  return rows;
}

void describe_axes(FoldArgs& a, const Split& s) {
  a.outputs = s.outputs;
  a.count = s.count;
  a.kept = int32_t(s.kept.size());
  a.reduced = int32_t(s.reduced.size());
  for (size_t d = 0; d < s.kept.size(); ++d) {
    a.kept_size[d] = s.kept[d].size;
    a.kept_in[d] = s.kept[d].in;
    a.kept_out[d] = s.kept[d].out;
  }
  for (size_t d = 0; d < s.reduced.size(); ++d) {
    a.reduced_size[d] = s.reduced[d].size;
    a.reduced_in[d] = s.reduced[d].in;
  }
}

// Terms in a row where kept dimensions lie between reduced ones, or 1. Cut there, the pieces of all
// outputs in their order follow memory, which jumps from run to run would not.
int64_t walked_run(const FoldArgs& a, int64_t element) {
  if (a.columns || !a.kept || a.reduced < 2) return 1;
  for (int d = 0; d < a.kept; ++d)
    if (a.kept_in[d] == 0) return 1;  // expanded: little memory, many outputs
  const int last = a.reduced - 1;
  const int64_t run = a.reduced_size[last];
  const bool between = std::abs(a.reduced_in[0]) > std::abs(a.kept_in[a.kept - 1]);
  return between && a.reduced_in[last] == element && run * element >= kRunBytes ? run : 1;
}

// Few outputs of many terms are cut, so that all threads have work. Shapes alone decide.
void choose_blocks(FoldArgs& a, int64_t element, bool cpu) {
  const int64_t inner_reduced = a.reduced ? std::abs(a.reduced_in[a.reduced - 1]) : 0;
  a.columns = a.kept && a.kept_in[a.kept - 1] == element && a.kept_size[a.kept - 1] >= 8 &&
              (inner_reduced != element || a.count < 8);
  const int64_t width = !a.columns ? 1 : cpu ? kFoldColumns : 32;
  const int64_t units = std::max<int64_t>(1, a.outputs / width);
  const int64_t least = std::max<int64_t>(64, (cpu ? 16384 : 4096) / width),
                wanted = cpu ? 64 : 1024;
  const int64_t fewest = 1 + (a.count >> 31);  // so that a piece's terms are counted in 32 bits
  a.blocks = std::clamp<int64_t>(std::min(wanted / units, a.count / least), fewest,
                                 std::max<int64_t>(fewest, 1024));
  const int64_t run = cpu ? walked_run(a, element) : 1;
  if (run > 1) a.blocks = std::clamp<int64_t>(a.count / run, 1, 1024);
  a.block = (a.count + a.blocks * run - 1) / (a.blocks * run) * run;
  if (a.block) a.blocks = std::max<int64_t>(1, (a.count + a.block - 1) / a.block);
}

Tensor dense_output(const Tensor& t) {
  return !t.defined() || t.is_contiguous() ? t : empty(t.sizes(), t.dtype(), t.device());
}

void copy_back(const Tensor& to, const Tensor& from) {
  if (to.defined() && !to.is_same(from)) run_cast(to, from);
}

// Sums and means of pairs are those of their parts.
void fold_pairs(const char* op, const Kernel& kernel, const Tensor& out, const Tensor& input,
                DimsView dims) {
  if ((&kernel != &kSum && &kernel != &kMean) || out.dtype() != input.dtype())
    fail_type(input.dtype(), op);
  Dims of_numbers;
  for (int64_t d : dims)
    if (input.dim()) of_numbers.push_back(wrap_dim(d, input.dim()));
  run_fold(op, kernel, to_real(input.dtype()), pairs_of(out), pairs_of(input), of_numbers);
}

}  // namespace

void run_fold(const char* op, const Kernel& kernel, Dtype dtype, const Tensor& out,
              const Tensor& input, DimsView dims, std::initializer_list<double> params,
              const FoldExtra& extra) {
  if (is_complex(input.dtype()) || (out.defined() && is_complex(out.dtype()))) [[unlikely]]
    return fold_pairs(op, kernel, out, input, dims);
  const Device device = input.device();
  const KernelFn fn = kernel.find(op, device, dtype);
  const uint64_t reduce = mask_of(dims, input.dim());
  const Tensor value = dense_output(out), index = dense_output(extra.index);
  Tensor source = input;
  Split s = split(source, reduce, index.defined());
  if (s.kept.size() > kFoldDims || s.reduced.size() > kFoldDims) {
    source = as_rows(input, reduce);
    const int64_t rows = s.outputs, terms = s.count;
    s.kept = Axes{{rows, terms * int64_t(input.element_size()), 1}};
    s.reduced = Axes{{terms, int64_t(input.element_size()), 0}};
  }
  if (s.outputs == 0) return;
  FoldArgs a{};
  describe_axes(a, s);
  choose_blocks(a, int64_t(input.element_size()), device.is_cpu());
  a.in = static_cast<const char*>(source.data());
  if (value.defined()) {
    a.out = static_cast<char*>(value.data());
    a.out_dtype = value.dtype();
  }
  if (index.defined()) a.index = index.data_as<int64_t>();
  if (extra.centre.defined()) a.centre = extra.centre.data_as<double>();
  Tensor partial;
  if (a.blocks > 1) {
    partial = empty(Dims{a.outputs * a.blocks * int64_t(kAccBytes)}, Dtype::u8, device);
    a.partial = static_cast<char*>(partial.data());
  }
  std::copy(params.begin(), params.end(), a.params);
  launch_kernel(
      op, fn, device, a,
      {writes(value), writes(index), writes(partial), reads(source), reads(extra.centre)});
  copy_back(out, value);
  copy_back(extra.index, index);
}

void run_var(const char* op, const Tensor& out, const Tensor& input, DimsView dims,
             double correction, bool root) {
  const Tensor mean = empty(out.sizes(), Dtype::f64, input.device());
  run_fold(op, kMean, input.dtype(), mean, input, dims);
  run_fold(op, kCentredSquares, input.dtype(), out, input, dims, {correction, double(root)},
           {.index = {}, .centre = mean});
}

void run_logsumexp(const char* op, const Tensor& out, const Tensor& input, DimsView dims) {
  const Tensor top = empty(out.sizes(), Dtype::f64, input.device());
  run_fold(op, kMax, input.dtype(), top, input, dims);
  run_fold(op, kCentredExp, input.dtype(), out, input, dims, {}, {.index = {}, .centre = top});
}

}  // namespace flambeau
