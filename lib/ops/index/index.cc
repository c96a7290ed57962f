// Python's x[...]: integers, slices, ellipsis and new axes make a view; tensors and truth values
// become one list of indices per dimension of that view, which index_lists.cc reads and writes.
#include "flambeau/index.h"
#include "base/error.h"
#include "kernels/index/index.h"
#include "ops/call.h"
#include "ops/fits.h"
#include "ops/index/indices.h"
#include "ops/scalar_name.h"

namespace flambeau::ops {

namespace {

struct Selection {
  Tensor view;         // of the tensor, by everything that is no tensor
  IndexTensors lists;  // one per dimension of view; empty: the view is all
};

bool is_mask(const Tensor& t) { return t.dtype() == Dtype::boolean || t.dtype() == Dtype::u8; }

class Selector {
 public:
  Selector(const Tensor& x, DimsView kinds, DimsView bounds, TensorsView tensors)
      : x_(x), kinds_(kinds), bounds_(bounds), tensors_(tensors) {
    check(bounds.size() == 3 * kinds.size(), Code::invalid_argument, "index: ", kinds.size(),
          " items need three bounds each, got ", bounds.size());
    out_.view = x;
  }

  Selection run() {
    const int64_t taken = count_taken();
    check(taken <= x_.dim(), Code::index, "too many indices for tensor of dimension ", x_.dim());
    int64_t rest = x_.dim() - taken;
    size_t next = 0;
    for (size_t i = 0; i < kinds_.size(); ++i) {
      const int64_t* b = &bounds_[3 * i];
      switch (kinds_[i]) {
        case FLAM_INDEX_INT:
          pick(b[0]);
          break;
        case FLAM_INDEX_SLICE:
          cut(b[0], b[1], b[2]);
          break;
        case FLAM_INDEX_ELLIPSIS:  // of several, the first takes all
          skip(rest);
          rest = 0;
          break;
        case FLAM_INDEX_NEWAXIS:
          out_.view = unsqueeze(out_.view, dim_++);
          break;
        case FLAM_INDEX_BOOL:
          truth(b[0] != 0);
          break;
        default:
          tensor(tensors_[next++]);
      }
    }
    if (listed_) out_.lists.resize(size_t(out_.view.dim()));
    return std::move(out_);
  }

 private:
  int64_t count_taken() const {
    int64_t taken = 0;
    size_t next = 0;
    for (int64_t kind : kinds_) {
      check(kind >= FLAM_INDEX_INT && kind <= FLAM_INDEX_TENSOR, Code::invalid_argument,
            "index: unknown kind of item ", kind);
      taken += kind == FLAM_INDEX_INT || kind == FLAM_INDEX_SLICE;
      if (kind != FLAM_INDEX_TENSOR) continue;
      check(next < tensors_.size() && tensors_[next], Code::invalid_argument,
            "index: fewer tensors than items of kind tensor");
      const Tensor& t = tensors_[next++];
      check(!is_floating(t.dtype()), Code::dtype,
            "tensors used as indices must be long, int, byte or bool tensors, got ", t);
      taken += is_mask(t) ? t.dim() : 1;
    }
    return taken;
  }

  void skip(int64_t n) {
    dim_ += n;
    original_ += n;
  }

  void pick(int64_t index) {
    const int64_t n = out_.view.sizes()[size_t(dim_)];
    check(index >= -n && index < n, Code::index, "index ", index,
          " is out of bounds for dimension ", original_, " with size ", n);
    out_.view = select(out_.view, dim_, index);
    ++original_;
  }

  void cut(int64_t start, int64_t stop, int64_t step) {
    check(step > 0, Code::invalid_argument, "step must be greater than zero, got ", step);
    const bool whole = start == 0 && step == 1 && stop >= out_.view.sizes()[size_t(dim_)];
    if (!whole) out_.view = slice(out_.view, dim_, start, stop, step);
    skip(1);
  }

  void list(Tensor index) {
    out_.lists.resize(size_t(dim_) + 1);
    out_.lists[size_t(dim_++)] = std::move(index);
  }

  void truth(bool value) {
    out_.view = unsqueeze(out_.view, dim_);
    ++listed_;
    list(zeros(Dims{int64_t(value)}, Dtype::i64, x_.device()));
  }

  void tensor(const Tensor& given) {
    if (is_mask(given)) return mask(given);
    if (given.dim() == 0) {  // torch: a number, so that other lists keep their place
      const Tensor host = to(given, kCpu, Dtype::i64);
      wait_for_host_access(host.storage()->block());
      return pick(*host.data_as<int64_t>());
    }
    ++listed_;
    ++original_;
    check_reachable(given);
    list(to(given, x_.device(), Dtype::i64));
  }

  void check_reachable(const Tensor& given) {
    check(given.device().is_cpu() || given.device() == x_.device(), Code::device_mismatch,
          "Expected all tensors to be on the same device: an index should be either on cpu or on "
          "the same device as the indexed tensor (",
          to_string(x_.device()), "), got index ", given, ". Move it: index.to(\"",
          to_string(x_.device()), "\")");
  }

  // Whether the next dimensions of the view are one in memory.
  bool merges(int64_t count) const {
    const DimsView sizes = out_.view.sizes(), strides = out_.view.strides();
    for (size_t d = size_t(dim_); d + 1 < size_t(dim_ + count); ++d)
      if (strides[d] != strides[d + 1] * sizes[d + 1]) return false;
    return true;
  }

  void mask(const Tensor& given) {
    check_reachable(given);
    if (given.dim() == 0) {
      out_.view = unsqueeze(out_.view, dim_);
    } else {
      for (int64_t d = 0; d < given.dim(); ++d) {
        check(given.sizes()[size_t(d)] == out_.view.sizes()[size_t(dim_ + d)], Code::index,
              "The shape of the mask ", ShapeText{given.sizes()}, " at index ", d,
              " does not match the shape of the indexed tensor ", ShapeText{x_.sizes()},
              " at index ", original_ + d);
      }
    }
    ++listed_;
    Tensor mask = to(given.dim() ? given : reshape(given, Dims{1}), x_.device());
    if (mask.dim() > 1 && merges(mask.dim())) {  // one list, and no division of positions
      mask = reshape(mask, Dims{-1});
      const DimsView whole = out_.view.sizes();
      Dims sizes(whole.first(size_t(dim_)));
      sizes.push_back(mask.numel());
      for (size_t d = size_t(dim_ + given.dim()); d < whole.size(); ++d) sizes.push_back(whole[d]);
      out_.view = view(out_.view, sizes);
    }
    for (Tensor& at : mask_coordinates(op::index, mask)) list(std::move(at));
    original_ += given.dim();
  }

  const Tensor& x_;
  DimsView kinds_, bounds_;
  TensorsView tensors_;
  Selection out_;
  int64_t dim_ = 0;       // of the view
  int64_t original_ = 0;  // of x, for error texts
  int listed_ = 0;
};

void check_lists(const IndexTensors& lists) {
  std::string shapes;
  for (const Tensor& t : lists) {
    if (t) shapes += (shapes.empty() ? "" : ", ") + to_string(t.sizes());
  }
  Dims all;
  for (const Tensor& t : lists) {
    if (!t) continue;
    try {
      all = broadcast_shapes(all, t.sizes());
    } catch (const Error&) {
      fail(Code::index,
           "shape mismatch: indexing tensors could not be broadcast together with shapes ", shapes);
    }
  }
}

// torch lets leading ones of the values go.
Tensor without_leading_ones(Tensor values, int64_t dims) {
  while (values.dim() > dims && values.sizes()[0] == 1) values = select(values, 0, 0);
  return values;
}

// Places that tensors name take values of their dtype only, but for one value under masks.
void check_same_dtype(const Tensor& x, TensorsView tensors, const Tensor& values) {
  if (values.dtype() == x.dtype() || values.is_wrapped_number()) return;
  bool named = false, masks = true;
  for (const Tensor& t : tensors) {
    named |= t.dim() > 0;
    masks &= t.dim() == 0 || is_mask(t);
  }
  check(!named || (masks && values.numel() == 1), Code::dtype,
        "Index put requires the source and destination dtypes match, got ", scalar_name(x.dtype()),
        " for the destination and ", scalar_name(values.dtype()), " for the source.");
}

}  // namespace

Tensor index(const Tensor& x, DimsView kinds, DimsView bounds, TensorsView tensors) {
  const Selection s = Selector(x, kinds, bounds, tensors).run();
  if (s.lists.empty()) return s.view.is_same(x) ? view(x, x.sizes()) : s.view;
  check_lists(s.lists);
  return read_lists(s.view, s.lists);
}

Tensor index_put_(const Tensor& x, DimsView kinds, DimsView bounds, TensorsView tensors,
                  const Tensor& values, bool accumulate) {
  const Selection s = Selector(x, kinds, bounds, tensors).run();
  // One place takes a float that its dtype makes infinite, and what is copied is cast, as in torch.
  const bool one = s.lists.empty() && s.view.dim() == 0 && is_floating(x.dtype());
  const bool copied = s.lists.empty() && !accumulate && !values.is_wrapped_number();
  if (!copied && (!one || is_complex(values.dtype()))) check_fits(values, x.dtype());
  if (s.lists.empty()) {
    const Tensor source = without_leading_ones(values, s.view.dim());
    if (accumulate) {
      add_(s.view, to_dtype(source, x.dtype()));
    } else {
      // A part is spread first, so that it may be written over what it is a part of.
      const bool part = source.storage() == s.view.storage() && source.numel() < s.view.numel() &&
                        broadcasts_to(source.sizes(), s.view.sizes());
      copy_(s.view, part ? expand(source, s.view.sizes()) : source);
    }
    return x;
  }
  check_lists(s.lists);
  check_unshared(s.view, tensors, values);
  const Dims shape = indexed_shape("index_put", s.view, s.lists);
  const Tensor source = without_leading_ones(values, int64_t(shape.size()));
  check(broadcasts_to(source.sizes(), shape), Code::shape, "shape mismatch: value tensor of shape ",
        ShapeText{values.sizes()}, " cannot be broadcast to indexing result of shape ",
        ShapeText{shape});
  check_same_dtype(x, tensors, values);
  write_lists(s.view, s.lists, source, accumulate);
  return x;
}

}  // namespace flambeau::ops
