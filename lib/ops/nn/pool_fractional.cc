// Fractional maximum pooling (Graham, 2014): windows of one size at steps that are drawn, so that
// the result has any size. Places are computed with ops and the elements gathered from them, which
// is the gradient, too.
#include <tuple>

#include "ops/nn/pool_windows.h"

namespace flambeau::ops {

namespace {

using Two = std::tuple<Tensor, Tensor>;

Tensor range(int64_t n, Dtype dtype, Device device) {
  return arange(num(int64_t{0}), num(n), num(int64_t{1}), dtype, device);
}

// Where the windows of one dimension begin, [n, c, out] i64; sample [n, c, 1] from 0 to 1.
Tensor starts_of(const Tensor& sample, int64_t in, int64_t window, int64_t out) {
  Dims sizes(sample.sizes());
  sizes[2] = 1;
  const Tensor end = expand(to(wrapped_number(in - window), sample.device(), Dtype::i64), sizes);
  if (out < 2) return narrow(end, 2, 0, out);
  const double step = double(in - window) / double(out - 1);
  const Tensor at = range(out - 1, sample.dtype(), sample.device());
  const auto whole = [&](const Tensor& t) { return to_dtype(mul(t, num(step)), Dtype::i64); };
  const Tensor parts[] = {sub(whole(add(at, sample)), whole(sample)), end};
  return cat(parts, 2);
}

// Positions in a plane of all elements of all windows, [n, c, out..., window...] i64.
Tensor places(const Tensor& samples, DimsView in, DimsView window, DimsView out) {
  const size_t spatial = in.size();
  Tensor sum;
  for (size_t d = 0; d < spatial; ++d) {
    // Of an image the last dimension takes the first sample, of a volume the first one.
    const int64_t own = int64_t(spatial == 2 ? 1 - d : d);
    const Tensor starts = starts_of(narrow(samples, 2, own, 1), in[d], window[d], out[d]);
    Dims across(2 + 2 * spatial, 1), along(2 + 2 * spatial, 1);
    across[0] = starts.size(0);
    across[1] = starts.size(1);
    across[2 + d] = out[d];
    along[2 + spatial + d] = window[d];
    const Tensor at =
        add(reshape(starts, across), reshape(range(window[d], Dtype::i64, starts.device()), along));
    sum = sum ? add(mul(sum, num(in[d])), at) : at;
  }
  return sum;
}

void check_fits(const Windows& w, DimsView in, DimsView window, DimsView out) {
  constexpr const char* kSides[] = {"time", "height", "width"};
  for (size_t d = 0; d < in.size(); ++d) {
    const char* const side = kSides[d + std::size(kSides) - in.size()];
    check(out[d] + window[d] - 1 <= in[d], Code::shape, w.op, "(): pool ", side, " ", window[d],
          " too large relative to input ", side, " ", in[d], " for an output of ", out[d]);
  }
}

Two pool(const Windows& w, const Tensor& x, DimsView kernel_size, DimsView output_size,
         const Tensor& samples) {
  if (!w.is_batched(x)) {
    auto [y, at] = pool(w, unsqueeze(x, 0), kernel_size, output_size, samples);
    return {squeeze(y, Dims{0}), alias(squeeze(at, Dims{0}))};
  }
  for (const auto& [what, v] :
       {std::pair{"kernel_size", kernel_size}, {"output_size", output_size}}) {
    check(v.size() == w.spatial, Code::invalid_argument, w.op, ": ", what,
          " must either be a single Int or tuple of Ints, ", w.spatial, " of them, got ",
          ShapeText{v});
  }
  const Dims window = w.each("kernel_size", kernel_size, {}, 1),
             out = w.each("output_size", output_size, {}, 0);
  w.check_floating(x);
  w.check_filled(x);
  const DimsView in = x.sizes().subspan(2);
  check_fits(w, in, window, out);
  const Call c{w.op, {x, samples}};
  const int64_t n = x.size(0), channels = x.size(1), spatial = int64_t(w.spatial);
  Tensor drawn = samples;
  if (drawn) {
    check(drawn.dim() == 3 && drawn.size(0) >= n && drawn.size(1) == channels &&
              drawn.size(2) == spatial,
          Code::shape, w.op, ": Expect _random_samples to be random samples of shape [", n, ", ",
          channels, ", ", spatial, "], got ", drawn);
    drawn = narrow(drawn, 0, 0, n);
  }
  Dims sizes{n, channels};
  for (int64_t size : out) sizes.push_back(size);
  Tensor at;
  {
    const GradMode off(false);
    const Dtype wide = x.dtype() == Dtype::f64 ? Dtype::f64 : Dtype::f32;
    drawn = drawn ? to_dtype(drawn, wide)
                  : rand(Dims{n, channels, spatial}, nullptr, wide, x.device(), false);
    const Tensor all = places(drawn, in, window, out);
    const int64_t count = numel_of(out), each = numel_of(window);
    const Tensor rows = reshape(all, Dims{n, channels, count, each});
    const Tensor values = reshape(
        gather(flat_planes(detach(c[0])), 2, reshape(rows, Dims{n, channels, count * each})),
        rows.sizes());
    at = n * count == 0 ? flambeau::empty(Dims{n, channels, count}, Dtype::i64, x.device())
                        : squeeze(gather(rows, 3, argmax(values, int64_t{3}, true)), Dims{3});
  }
  // No view of what the first one keeps.
  return {reshape(gather(flat_planes(c[0]), 2, at), sizes), alias(reshape(at, sizes))};
}

}  // namespace

Two fractional_max_pool2d(const Tensor& x, DimsView kernel_size, DimsView output_size,
                          const Tensor& random_samples) {
  return pool({op::fractional_max_pool2d, 2}, x, kernel_size, output_size, random_samples);
}

Two fractional_max_pool3d(const Tensor& x, DimsView kernel_size, DimsView output_size,
                          const Tensor& random_samples) {
  return pool({op::fractional_max_pool3d, 3}, x, kernel_size, output_size, random_samples);
}

}  // namespace flambeau::ops
