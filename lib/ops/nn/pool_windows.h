// What the pooling ops share: options of one, two or three spatial dimensions, given once for all
// of them or once for each, and inputs with or without a batch.
#pragma once
#include "base/checked.h"
#include "kernels/pool/pool.h"
#include "ops/formula.h"

namespace flambeau::ops {

struct Windows {
  const Op& op;
  size_t spatial;

  Dims each(const char* what, DimsView v, DimsView fallback, int64_t least) const {
    if (v.empty()) v = fallback;
    check(v.size() == 1 || v.size() == spatial, Code::invalid_argument, op, ": ", what,
          " must either be one number or ", spatial, ", got ", ShapeText{v});
    Dims out(spatial, v[0]);
    if (v.size() == spatial) out = Dims(v);
    for (int64_t n : out) {
      check(n != 0 || least != 1, Code::invalid_argument, op, ": ", what,
            " should not be zero, got ", ShapeText{out});
      check(n >= least, Code::invalid_argument, op, ": ", what, " should not be less than ", least,
            ", got ", ShapeText{out});
      check_extent(op, what, n);
    }
    return out;
  }

  PoolParams params(DimsView kernel, DimsView stride, DimsView padding, DimsView dilation,
                    bool ceil_mode) const {
    const int64_t none = 0, one = 1;
    PoolParams p;
    p.kernel = each("kernel_size", kernel, {}, 1);
    p.stride = each("stride", stride, p.kernel, 1);
    p.padding = each("pad", padding, {&none, 1}, 0);
    p.dilation = each("dilation", dilation, {&one, 1}, 1);
    p.ceil_mode = ceil_mode;
    for (size_t d = 0; d < spatial; ++d) {
      window_reach(op, p.kernel[d], p.dilation[d]);
      check(2 * p.padding[d] <= p.kernel[d], Code::invalid_argument, op,
            ": pad should be at most half of effective kernel size, but got pad=", p.padding[d],
            ", kernel_size=", p.kernel[d]);
    }
    return p;
  }

  bool is_batched(const Tensor& x) const {
    const int64_t n = int64_t(spatial);
    check(x.dim() == n + 1 || x.dim() == n + 2, Code::shape, op, ": Expected ", n + 1, "D or ",
          n + 2, "D (batch mode) tensor, got ", x);
    return x.dim() == n + 2;
  }

  // Only a batch may be empty.
  void check_filled(const Tensor& x) const {
    for (int64_t d = is_batched(x) ? 1 : 0; d < x.dim(); ++d) {
      check(x.size(d) > 0, Code::shape, op,
            ": Expected input to have non-zero size for non-batch dimensions of a ", spatial + 1,
            "D or ", spatial + 2, "D (batch mode) tensor, but got ", ShapeText{x.sizes()});
    }
  }

  void check_floating(const Tensor& x) const {
    check(is_floating(x.dtype()), Code::dtype, "\"", op, "\" not implemented for '",
          name_of(x.dtype()), "'");
  }

  // f of images with a batch; the batch is taken away again.
  template <class F> Tensor batched(const Tensor& x, F&& f) const {
    return is_batched(x) ? f(x) : squeeze(f(unsqueeze(x, 0)), Dims{0});
  }
};

// Of adaptive windows, none of which makes an element where the result has none.
inline void check_gradient_filled(const char* op, const Tensor& dy) {
  for (int64_t d = 1; d < dy.dim(); ++d) {
    check(dy.size(d) > 0, Code::shape, op,
          "_backward(): Expected grad_output to have non-zero size for non-batch dimensions, but "
          "grad_output has sizes ",
          ShapeText{dy.sizes()}, " with dimension ", d, " being empty");
  }
}

// Planes [n, c, size].
inline Tensor flat_planes(const Tensor& x) {
  return reshape(x, Dims{x.size(0), x.size(1), numel_of(x.sizes().subspan(2))});
}

}  // namespace flambeau::ops
