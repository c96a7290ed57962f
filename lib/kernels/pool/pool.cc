// The front door of pooling: shapes, and the arguments of its launches.
#include "kernels/pool/pool.h"

#include "base/checked.h"
#include "kernels/access.h"

namespace flambeau {

constinit Kernel kMaxPool{"max_pool"}, kMaxPoolBackward{"max_pool_backward"}, kAvgPool{"avg_pool"},
    kAvgPoolBackward{"avg_pool_backward"};

Dims pool_sizes(const char* op, const Tensor& x, const PoolParams& p) {
  const int64_t space = x.dim() - 2;
  check(space >= 1 && space <= kConvDims, Code::shape, op,
        ": the input is [n, c, ...] with 1 to 3 spatial dimensions");
  const size_t nd = size_t(space);
  check(p.kernel.size() == nd && p.stride.size() == nd && p.padding.size() == nd &&
            p.dilation.size() == nd,
        Code::invalid_argument, op, ": kernel, stride, padding and dilation need ", nd,
        " values each");
  Dims sizes{x.sizes()[0], x.sizes()[1]};
  for (size_t d = 0; d < nd; ++d) {
    check_extent(op, "stride", p.stride[d]);
    check_extent(op, "kernel_size", p.kernel[d]);
    const int64_t in = x.sizes()[d + 2], kernel = p.kernel[d], stride = p.stride[d],
                  padding = p.padding[d];
    check(kernel > 0 && stride > 0 && p.dilation[d] > 0, Code::invalid_argument, op,
          ": kernel, stride and dilation must be positive");
    check(padding >= 0 && padding <= kernel / 2, Code::invalid_argument, op,
          ": padding must be at most half the kernel's size, but padding is ", padding,
          " and the kernel ", kernel);
    const int64_t reach = window_reach(op, kernel, p.dilation[d]), room = in + 2 * padding - reach;
    int64_t out =
        room < 0 && !p.ceil_mode ? 0 : (room + (p.ceil_mode ? stride - 1 : 0)) / stride + 1;
    if (p.ceil_mode && (out - 1) * stride >= in + padding) --out;  // a window must start inside
    check(out > 0 && in > 0, Code::shape, op, ": Output size is too small, a window of ", reach,
          " does not fit spatial dimension ", d, " with padding ", padding);
    sizes.push_back(out);
  }
  return sizes;
}

namespace {

void check_result(const char* op, const Tensor& x, const Tensor& y, const Dims& sizes) {
  check(
      y.sizes().size() == sizes.size() && std::equal(sizes.begin(), sizes.end(), y.sizes().begin()),
      Code::shape, op, ": the result is ", ShapeText{sizes}, ", not ", ShapeText{y.sizes()});
  check(x.dtype() == y.dtype(), Code::dtype, op, ": ", x, " and ", y, " differ in dtype");
}

// `params` null: adaptive.
PoolArgs args_of(const char* op, const Tensor& x, const Tensor& y, const PoolParams* params) {
  const bool shaped = x.dim() == y.dim() && x.dim() >= 3 && x.dim() <= 2 + kConvDims &&
                      x.sizes()[0] == y.sizes()[0] && x.sizes()[1] == y.sizes()[1];
  check(shaped, Code::shape, op, ": ", x, " does not pool to ", y);
  check_result(op, x, y, params ? pool_sizes(op, x, *params) : Dims(y.sizes()));
  PoolArgs g{};
  g.images = x.sizes()[0];
  g.channels = x.sizes()[1];
  g.adaptive = !params;
  g.count_include_pad = params && params->count_include_pad;
  g.divisor = params ? params->divisor : 0;
  const int space = int(x.dim()) - 2, first = kConvDims - space;
  for (int d = 0; d < kConvDims; ++d) {
    g.in[d] = g.out[d] = g.kernel[d] = g.stride[d] = g.dilation[d] = 1;
    if (d < first) continue;
    const size_t at = size_t(d - first);
    g.in[d] = x.sizes()[at + 2];
    g.out[d] = y.sizes()[at + 2];
    check(g.in[d] > 0 || g.out[d] == 0, Code::shape, op, ": nothing to pool");
    if (!params) continue;
    g.kernel[d] = params->kernel[at];
    g.stride[d] = params->stride[at];
    g.padding[d] = params->padding[at];
    g.dilation[d] = params->dilation[at];
  }
  g.x = operand_of(x);
  g.y = operand_of(y);
  return g;
}

// What a launch receives, when its windows are known.
void launch_pool(const char* op, KernelFn fn, PoolArgs g, const Tensor& written,
                 std::initializer_list<Access> accesses) {
  if (written.numel() == 0) return;
  for (int d = 0; d < kConvDims; ++d) {
    if (g.adaptive) {
      g.by_in[d] = FarDivide(g.in[d]);
      if (g.out[d]) g.by_out[d] = FarDivide(g.out[d]);
    } else {
      g.by_stride[d] = FarDivide(g.stride[d]);
      g.by_dilation[d] = FarDivide(g.dilation[d]);
    }
  }
  launch_kernel(op, fn, written.device(), g, accesses);
}

void check_indices(const char* op, const Tensor& indices, const Tensor& y) {
  const bool same = indices.sizes().size() == y.sizes().size() &&
                    std::equal(y.sizes().begin(), y.sizes().end(), indices.sizes().begin());
  check(same && indices.dtype() == Dtype::i64, Code::shape, op, ": the indices must be i64",
        ShapeText{y.sizes()}, ", not ", indices);
}

void average(const char* op, const Tensor& y, const Tensor& x, const PoolParams* params) {
  const PoolArgs g = args_of(op, x, y, params);
  const KernelFn fn = kAvgPool.find(op, y.device(), y.dtype());
  launch_pool(op, fn, g, y, {writes(y), reads(x)});
}

void average_backward(const char* op, const Tensor& dx, const Tensor& dy,
                      const PoolParams* params) {
  const PoolArgs g = args_of(op, dx, dy, params);
  const KernelFn fn = kAvgPoolBackward.find(op, dx.device(), dx.dtype());
  launch_pool(op, fn, g, dx, {writes(dx), reads(dy)});
}

// Adaptive windows of one size that follow one another are regular ones, which are seen faster.
void make_regular(PoolArgs& g) {
  for (int d = 0; d < kConvDims; ++d)
    if (!g.adaptive || g.out[d] == 0 || g.in[d] % g.out[d] != 0) return;
  g.adaptive = false;
  for (int d = 0; d < kConvDims; ++d) g.kernel[d] = g.stride[d] = g.in[d] / g.out[d];
}

void maximum(const char* op, const Tensor& y, const Tensor& indices, const Tensor& x,
             const PoolParams* params) {
  PoolArgs g = args_of(op, x, y, params);
  make_regular(g);
  if (indices) {
    check_indices(op, indices, y);
    g.indices = operand_of(indices);
  }
  const KernelFn fn = kMaxPool.find(op, y.device(), y.dtype());
  launch_pool(op, fn, g, y, {writes(y), writes(indices), reads(x)});
}

void maximum_backward(const char* op, const Tensor& dx, const Tensor& dy, const Tensor& indices,
                      const PoolParams* params) {
  PoolArgs g = args_of(op, dx, dy, params);
  make_regular(g);
  check_indices(op, indices, dy);
  g.indices = operand_of(indices);
  const KernelFn fn = kMaxPoolBackward.find(op, dx.device(), dx.dtype());
  launch_pool(op, fn, g, dx, {writes(dx), reads(dy), reads(indices)});
}

}  // namespace

void run_max_pool(const char* op, const Tensor& y, const Tensor& indices, const Tensor& x,
                  const PoolParams& params) {
  maximum(op, y, indices, x, &params);
}
void run_max_pool_backward(const char* op, const Tensor& dx, const Tensor& dy,
                           const Tensor& indices, const PoolParams& params) {
  maximum_backward(op, dx, dy, indices, &params);
}
void run_adaptive_max_pool(const char* op, const Tensor& y, const Tensor& indices,
                           const Tensor& x) {
  maximum(op, y, indices, x, nullptr);
}
void run_adaptive_max_pool_backward(const char* op, const Tensor& dx, const Tensor& dy,
                                    const Tensor& indices) {
  maximum_backward(op, dx, dy, indices, nullptr);
}

void run_avg_pool(const char* op, const Tensor& y, const Tensor& x, const PoolParams& params) {
  average(op, y, x, &params);
}
void run_avg_pool_backward(const char* op, const Tensor& dx, const Tensor& dy,
                           const PoolParams& params) {
  average_backward(op, dx, dy, &params);
}
void run_adaptive_avg_pool(const char* op, const Tensor& y, const Tensor& x) {
  average(op, y, x, nullptr);
}
void run_adaptive_avg_pool_backward(const char* op, const Tensor& dx, const Tensor& dy) {
  average_backward(op, dx, dy, nullptr);
}

}  // namespace flambeau
