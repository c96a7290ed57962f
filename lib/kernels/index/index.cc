// Plans of indexed reads and writes: which shape is walked, and how each side and each index moves
// along it.
#include "kernels/index/index.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "kernels/deterministic.h"
#include "kernels/map/map.h"
#include "kernels/report/report.h"
#include "kernels/scan/scan.h"
#include "kernels/sort/sort.h"
#include "tensor/parts.h"

namespace flambeau {

constinit Kernel kIndexRead{"index"}, kIndexSet{"index_put"}, kIndexAdd{"index_add"};
constinit Kernel kIndexMul{"scatter_reduce"}, kIndexMax{"scatter_reduce"},
    kIndexMin{"scatter_reduce"};
constinit Kernel kTruePositions{"nonzero", Dtype::i64};

namespace {

struct Listed {
  Tensor index;
  Dims strides;  // elements, along the walk
  int64_t dim;
};

struct Walk {
  Dims sizes, dst, src;  // strides in elements
  SmallVector<Listed, 4> lists;
};

bool merges(const Walk& w, size_t d) {
  const auto as_one = [&](const Dims& s) { return s[d - 1] == s[d] * w.sizes[d]; };
  bool yes = as_one(w.dst) && as_one(w.src);
  for (const Listed& l : w.lists) yes &= as_one(l.strides);
  return yes;
}

void erase(Walk& w, size_t d) {
  w.sizes.erase(d);
  w.dst.erase(d);
  w.src.erase(d);
  for (Listed& l : w.lists) l.strides.erase(d);
}

void simplify(Walk& w) {
  for (size_t d = w.sizes.size(); d-- > 0;) {
    if (w.sizes[d] == 1) erase(w, d);
  }
  for (size_t d = w.sizes.size(); d-- > 1;) {
    if (!merges(w, d)) continue;
    w.sizes[d - 1] *= w.sizes[d];
    w.dst[d - 1] = w.dst[d];
    w.src[d - 1] = w.src[d];
    for (Listed& l : w.lists) l.strides[d - 1] = l.strides[d];
    erase(w, d);
  }
}

bool writes_meet(const Walk& w, size_t d) {
  bool yes = w.dst[d] == 0;
  for (const Listed& l : w.lists) yes |= l.strides[d] != 0;
  return yes;
}

// Moves the dimensions in which no two writes meet to the front and returns how many they are.
int32_t free_dims_first(Walk& w) {
  Walk sorted;
  for (Listed& l : w.lists) sorted.lists.push_back({l.index, {}, l.dim});
  int32_t free_dims = 0;
  for (const bool meet : {false, true}) {
    for (size_t d = 0; d < w.sizes.size(); ++d) {
      if (writes_meet(w, d) != meet) continue;
      free_dims += !meet;
      sorted.sizes.push_back(w.sizes[d]);
      sorted.dst.push_back(w.dst[d]);
      sorted.src.push_back(w.src[d]);
      for (size_t l = 0; l < w.lists.size(); ++l)
        sorted.lists[l].strides.push_back(w.lists[l].strides[d]);
    }
  }
  w = std::move(sorted);
  return free_dims;
}

struct Meetings {
  std::vector<IndexMeeting> writes;
  std::vector<int64_t> first;
};

// Where each of the writes along the dimensions after the free ones goes, in bytes; none where an
// index is out of range, which the kernel says.
std::vector<IndexMeeting> meeting_writes(const Walk& w, size_t free_dims, const Tensor& target,
                                         FromEnd from_end) {
  const int64_t bytes = int64_t(target.element_size());
  int64_t count = 1;
  for (size_t d = free_dims; d < w.sizes.size(); ++d) count *= w.sizes[d];
  std::vector<IndexMeeting> writes(size_t(count), {0, 0, -1});
  IndexMeeting* const first = writes.data();
  // Dimension by dimension, outermost first: what is there so far is repeated along the next.
  const auto along = [&](auto&& step) {
    int64_t inner = count;
    for (size_t d = free_dims; d < w.sizes.size(); ++d) {
      inner /= w.sizes[d];
      for (int64_t i = 0, at = 0; i < count; i += inner, at = at + 1 == w.sizes[d] ? 0 : at + 1) {
        for (int64_t j = i; j < i + inner; ++j) step(j, d, at);
      }
    }
  };
  along([&](int64_t i, size_t d, int64_t at) {
    first[i].dst += at * w.dst[d] * bytes;
    first[i].src += at * w.src[d] * bytes;
  });
  std::vector<int64_t> places(size_t(count), 0);
  for (const Listed& l : w.lists) {
    std::fill(places.begin(), places.end(), 0);
    along([&, p = places.data()](int64_t i, size_t d, int64_t at) { p[i] += at * l.strides[d]; });
    const int64_t size = target.sizes()[size_t(l.dim)];
    const int64_t step = target.strides()[size_t(l.dim)] * bytes;
    const int64_t* const index = l.index.data_as<int64_t>();
    for (int64_t i = 0; i < count; ++i) {
      const int64_t given = index[places[size_t(i)]];
      const int64_t at = given < 0 && from_end == FromEnd::yes ? given + size : given;
      if (at < 0 || at >= size) return {};
      first[i].dst += at * step;
    }
  }
  return writes;
}

// Those writes by place and in order; none where no two meet.
Meetings meetings_of(const Walk& w, int32_t free_dims, const Tensor& target, FromEnd from_end) {
  Meetings found{meeting_writes(w, size_t(free_dims), target, from_end), {}};
  const size_t count = found.writes.size();
  if (count < 2 || count > size_t(INT32_MAX)) return {};
  int bits = 2;
  while (size_t(1) << bits < 2 * count) ++bits;
  const size_t mask = (size_t(1) << bits) - 1;
  std::vector<int32_t> table(mask + 1, -1);  // the latest write of a place
  found.first.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const int64_t place = found.writes[i].dst;
    size_t slot = uint64_t(place) * 0x9e3779b97f4a7c15u >> (64 - bits);
    while (table[slot] >= 0 && found.writes[size_t(table[slot])].dst != place)
      slot = (slot + 1) & mask;
    if (table[slot] < 0) {
      found.first.push_back(int64_t(i));
    } else {
      found.writes[size_t(table[slot])].next = int64_t(i);
    }
    table[slot] = int32_t(i);
  }
  return found.first.size() < count ? std::move(found) : Meetings{};
}

// Whether writes to one place come in any order, and that shows. A simulated device may run the
// host's kernels, which write in order as they are.
bool order_shows(const Kernel& kernel, Device device, Dtype dtype) {
  if (&kernel == &kIndexRead || kernel_column(device) == KernelColumn::host) return false;
  return &kernel == &kIndexSet || !is_integral(dtype);
}

// Writes of a device in the host's order: their places are found, sorted with where they stood, and
// each of them is written to by one thread.
void run_in_order(const char* op, KernelFn fn, IndexArgs a, const Tensor& target,
                  std::span<const Access> accesses) {
  const Device device = target.device();
  int64_t writes = 1, reach = 0;
  for (int d = a.free_dims; d < a.ndim; ++d) writes *= a.size[d];
  for (int64_t d = 0; d < target.dim(); ++d)
    reach += (target.sizes()[size_t(d)] - 1) * target.strides()[size_t(d)];
  a.narrow_places = reach <= 0x7fffffff;
  const Dims line{writes};
  const Dtype dtype = a.narrow_places ? Dtype::i32 : Dtype::i64;
  const Tensor found = empty(line, dtype, device), sorted = empty(line, dtype, device),
               order = empty(line, Dtype::i64, device);
  a.ordered = found.data();
  SmallVector<Access, 4> all;
  for (const Access& one : accesses.subspan(2)) all.push_back(one);
  all.push_back(flambeau::writes(found));
  launch_kernel(op, fn, device, a, std::span<const Access>(all.data(), all.size()));
  run_sort(op, sorted, order, found, 0, {.count = writes});
  a.ordered = sorted.data();
  a.order = order.data_as<int64_t>();
  launch_kernel(op, fn, device, a, {accesses[0], accesses[1], reads(sorted), reads(order)});
}

bool adds_up(const Kernel& kernel, Dtype dtype) {
  return is_half(dtype) && (&kernel == &kIndexAdd || &kernel == &kIndexMul);
}

// Whether each run along the last dimension writes to a dense row of its own, which is not much
// longer: then halves that meet are added up in a wide copy of the row.
bool fills_rows(const Walk& w, const Tensor& target) {
  constexpr int64_t kLongest = 1 << 15;  // elements, whose copy stays in the second-level cache
  if (w.lists.size() != 1 || w.sizes.empty()) return false;
  const size_t last = w.sizes.size() - 1;
  const Listed& l = w.lists[0];
  const int64_t length = target.sizes()[size_t(l.dim)];
  bool own = w.dst[last] == 0 && l.strides[last] == 1 && target.strides()[size_t(l.dim)] == 1;
  for (size_t d = 0; d < last; ++d) own &= std::abs(w.dst[d]) >= length;
  return own && length <= kLongest && length <= 4 * w.sizes[last];
}

// `target` is the side that the lists move: x of a read, self of a write.
void run_walk(const char* op, const Kernel& kernel, Walk w, const Tensor& dst, const Tensor& src,
              const Tensor& target, FromEnd from_end, Kept kept = Kept::yes) {
  const Device device = dst.device();
  const KernelFn fn = kernel.find(op, device, dst.dtype());
  IndexArgs a{};
  a.numel = std::accumulate(w.sizes.begin(), w.sizes.end(), int64_t{1}, std::multiplies<>());
  if (a.numel == 0) return;
  simplify(w);
  const bool in_order = deterministic_algorithms && order_shows(kernel, device, dst.dtype());
  if (in_order) a.free_dims = free_dims_first(w);
  Meetings meetings;
  a.in_rows = device.is_cpu() && adds_up(kernel, dst.dtype()) && fills_rows(w, target);
  if (device.is_cpu() && adds_up(kernel, dst.dtype()) && !a.in_rows) {
    Walk sorted = w;
    const int32_t free_dims = free_dims_first(sorted);
    meetings = meetings_of(sorted, free_dims, target, from_end);
    if (!meetings.first.empty()) {
      w = std::move(sorted);
      a.free_dims = free_dims;
      a.first = meetings.first.data();
      a.meetings = meetings.writes.data();
      a.places = int64_t(meetings.first.size());
    }
  }
  check(w.sizes.size() <= kIndexDims && w.lists.size() <= kIndexLists, Code::unsupported, op,
        ": more than ", kIndexDims, " separate dimensions or index tensors");
  const int64_t bytes = int64_t(dst.element_size());
  a.ndim = int32_t(w.sizes.size());
  a.lists = int32_t(w.lists.size());
  a.dst = static_cast<char*>(dst.data());
  a.src = static_cast<const char*>(src.data());
  a.op = op;
  a.report = report_of(device);
  a.fresh = kept == Kept::no;
  Access accesses[kIndexLists + 2] = {writes(dst), reads(src)};
  for (size_t d = 0; d < w.sizes.size(); ++d) {
    a.size[d] = w.sizes[d];
    a.dst_stride[d] = w.dst[d] * bytes;
    a.src_stride[d] = w.src[d] * bytes;
  }
  for (size_t l = 0; l < w.lists.size(); ++l) {
    const Listed& from = w.lists[l];
    const size_t dim = size_t(from.dim);
    a.list[l] = {static_cast<const char*>(from.index.data()),
                 {},
                 target.strides()[dim] * bytes,
                 target.sizes()[dim],
                 int32_t(dim),
                 from_end == FromEnd::yes};
    for (size_t d = 0; d < w.sizes.size(); ++d) a.list[l].stride[d] = from.strides[d] * 8;
    accesses[l + 2] = reads(from.index);
  }
  const std::span<const Access> touched(accesses, w.lists.size() + 2);
  if (in_order && a.free_dims < a.ndim) return run_in_order(op, fn, a, target, touched);
  launch_kernel(op, fn, device, a, touched);
}

Tensor as_f32(const Tensor& t) {
  Tensor wide = empty(t.sizes(), Dtype::f32, t.device());
  run_cast(wide, t);
  return wide;
}

// Halves that meet at one place add up in f32 and are rounded once: write(self, values) then works
// on copies. Where the indices are few beside what would be copied, or each of them writes many
// neighbours, the host's kernel goes by places.
template <class Write>
bool wrote_wide(const Kernel& kernel, const Tensor& self, const Tensor& values, int64_t indices,
                int64_t writes, Write&& write) {
  constexpr int64_t kFew = 64;  // elements copied in the time of one index
  if (!adds_up(kernel, self.dtype())) return false;
  if (writes < 2 || writes < self.numel() / kFew) return false;
  if (self.device().is_cpu() && writes / indices >= kFew) return false;
  const Tensor wide = as_f32(self);
  write(wide, as_f32(values));
  run_cast(self, wide);
  return true;
}

struct Layout {
  Dims index_shape;              // of the lists, broadcast together
  size_t at;                     // where those dimensions stand in the result
  SmallVector<size_t, 5> whole;  // dimensions of x without a list
};

Layout layout_of(const char* op, const Tensor& x, const IndexTensors& lists) {
  check(int64_t(lists.size()) <= x.dim(), Code::index, op, ": ", lists.size(),
        " indices for a tensor of ", x.dim(), " dimensions");
  Layout l;
  size_t first = 0, last = 0, listed = 0;
  for (size_t d = 0; d < size_t(x.dim()); ++d) {
    if (d >= lists.size() || !lists[d].defined()) {
      l.whole.push_back(d);
      continue;
    }
    check(lists[d].dtype() == Dtype::i64, Code::dtype, op, ": an index must be int64, not ",
          name_of(lists[d].dtype()));
    l.index_shape =
        listed ? broadcast_shapes(l.index_shape, lists[d].sizes()) : Dims(lists[d].sizes());
    if (!listed++) first = d;
    last = d;
  }
  l.at = listed && last - first + 1 == listed ? first : 0;  // torch: apart, they come first
  return l;
}

// The walk over the result of x[lists]; `moved` gets x's strides along it.
Walk walk_of(const Tensor& x, const IndexTensors& lists, const Layout& layout, Dims& moved) {
  Walk w;
  const size_t count = layout.index_shape.size();
  for (size_t d = 0; d < layout.whole.size() + count; ++d) {
    const bool of_list = d >= layout.at && d < layout.at + count;
    const size_t dim = of_list ? 0 : layout.whole[d < layout.at ? d : d - count];
    w.sizes.push_back(of_list ? layout.index_shape[d - layout.at] : x.sizes()[dim]);
    moved.push_back(of_list ? 0 : x.strides()[dim]);
  }
  for (size_t dim = 0; dim < lists.size(); ++dim) {
    if (!lists[dim].defined()) continue;
    const Dims expanded = expanded_strides(lists[dim], layout.index_shape);
    Dims strides(w.sizes.size(), 0);
    std::copy(expanded.begin(), expanded.end(), strides.begin() + layout.at);
    w.lists.push_back({lists[dim], strides, int64_t(dim)});
  }
  return w;
}

// Places of complex numbers are those of their pairs. What is written is moved or added up; any
// other update is none of pairs.
bool by_pairs(const char* op, const Tensor& t, const Kernel* update = nullptr) {
  if (!is_complex(t.dtype())) [[likely]]
    return false;
  if (update && update != &kIndexSet && update != &kIndexAdd) fail_type(t.dtype(), op);
  return true;
}

// An index of places for both of what is there.
Tensor index_of_pairs(const Tensor& index) {
  Dims sizes(index.sizes()), strides(index.strides());
  sizes.push_back(2);
  strides.push_back(0);
  return alias(index, sizes, strides, index.offset());
}

Dims without(const Tensor& t, size_t dim) {
  Dims strides(t.strides());
  if (dim < strides.size()) strides[dim] = 0;
  return strides;
}

}  // namespace

Dims indexed_shape(const char* op, const Tensor& x, const IndexTensors& lists) {
  Dims moved;
  return walk_of(x, lists, layout_of(op, x, lists), moved).sizes;
}

void run_index_read(const char* op, const Tensor& out, const Tensor& x, const IndexTensors& lists,
                    FromEnd from_end) {
  if (by_pairs(op, x)) return run_index_read(op, pairs_of(out), pairs_of(x), lists, from_end);
  Dims moved;
  Walk w = walk_of(x, lists, layout_of(op, x, lists), moved);
  w.dst = Dims(out.strides());
  w.src = moved;
  run_walk(op, kIndexRead, std::move(w), out, x, x, from_end);
}

void run_index_write(const char* op, const Kernel& kernel, const Tensor& self,
                     const IndexTensors& lists, const Tensor& values, FromEnd from_end) {
  if (by_pairs(op, self, &kernel))
    return run_index_write(op, kernel, pairs_of(self), lists, pairs_of(values), from_end);
  Dims moved;
  const Layout layout = layout_of(op, self, lists);
  Walk w = walk_of(self, lists, layout, moved);
  check(broadcasts_to(values.sizes(), w.sizes), Code::shape, op, ": values of shape ",
        ShapeText{values.sizes()}, " do not broadcast to the indexed shape ", ShapeText{w.sizes});
  const int64_t writes =
      std::accumulate(w.sizes.begin(), w.sizes.end(), int64_t{1}, std::multiplies<>());
  const int64_t indices = std::max<int64_t>(1, numel_of(layout.index_shape));
  if (wrote_wide(kernel, self, values, indices, writes, [&](const Tensor& to, const Tensor& from) {
        run_index_write(op, kernel, to, lists, from, from_end);
      })) {
    return;
  }
  w.dst = moved;
  w.src = expanded_strides(values, w.sizes);
  run_walk(op, kernel, std::move(w), self, values, self, from_end);
}

void run_gather(const char* op, const Tensor& out, const Tensor& x, int64_t dim,
                const Tensor& index) {
  if (index.dim() == 0 || x.dim() == 0) {  // one element is a vector of one
    const auto line = [](const Tensor& t) {
      return t.dim() ? t : alias(t, Dims{1}, Dims{1}, t.offset());
    };
    return run_gather(op, line(out), line(x), 0, line(index));
  }
  const size_t d = size_t(wrap_dim(dim, x.dim()));
  if (by_pairs(op, x))
    return run_gather(op, pairs_of(out), pairs_of(x), int64_t(d), index_of_pairs(index));
  Walk w{Dims(index.sizes()), Dims(out.strides()), without(x, d), {}};
  w.lists.push_back({index, Dims(index.strides()), int64_t(d)});
  run_walk(op, kIndexRead, std::move(w), out, x, x, FromEnd::no);
}

void run_scatter(const char* op, const Kernel& kernel, const Tensor& self, int64_t dim,
                 const Tensor& index, const Tensor& src, Kept kept) {
  if (index.dim() == 0 || self.dim() == 0) {
    const auto line = [](const Tensor& t) {
      return t.dim() ? t : alias(t, Dims{1}, Dims{1}, t.offset());
    };
    return run_scatter(op, kernel, line(self), 0, line(index), line(src), kept);
  }
  const size_t d = size_t(wrap_dim(dim, self.dim()));
  if (by_pairs(op, self, &kernel)) {
    Dims sizes(index.sizes());  // a number goes to every place
    const Tensor all = src.dim() ? src : alias(src, sizes, Dims(sizes.size(), 0), src.offset());
    return run_scatter(op, kernel, pairs_of(self), int64_t(d), index_of_pairs(index), pairs_of(all),
                       kept);
  }
  Walk w{Dims(index.sizes()),
         without(self, d),
         src.dim() ? Dims(src.strides()) : Dims(index.sizes().size(), 0),
         {}};
  w.lists.push_back({index, Dims(index.strides()), int64_t(d)});
  Walk simple = w;
  simplify(simple);
  const bool in_rows = self.device().is_cpu() && fills_rows(simple, self);
  if (!in_rows && wrote_wide(kernel, self, src, index.numel(), index.numel(),
                             [&](const Tensor& to, const Tensor& from) {
                               run_scatter(op, kernel, to, dim, index, from, Kept::no);
                             })) {
    return;
  }
  run_walk(op, kernel, std::move(w), self, src, self, FromEnd::no, kept);
}

Tensor true_positions(const char* op, const Tensor& mask) {
  Tensor dense = mask;
  if (!mask.is_contiguous()) {
    dense = empty(mask.sizes(), mask.dtype(), mask.device());
    run_cast(dense, mask);
  }
  const Device device = dense.device();
  const KernelFn fn = kTruePositions.find(op, device, dense.dtype());
  const int64_t blocks = (dense.numel() + kTrueBlock - 1) / kTrueBlock;
  const Tensor counts = empty(Dims{blocks}, Dtype::i64, device);
  TrueArgs a{dense.numel(), static_cast<const char*>(dense.data()), counts.data_as<int64_t>(),
             nullptr};
  int64_t all = 0;
  if (blocks) {
    launch_kernel(op, fn, device, a, {reads(dense), writes(counts)});
    run_scan(op, kCumsum, counts, counts, 0, false);
    copy_bytes(&all, kCpu, a.counts + blocks - 1, device, sizeof all, false);
  }
  const Tensor positions = empty(Dims{all}, Dtype::i64, device);
  if (all == 0) return positions;
  a.positions = positions.data_as<int64_t>();
  launch_kernel(op, fn, device, a, {reads(dense), reads(counts), writes(positions)});
  return positions;
}

}  // namespace flambeau
