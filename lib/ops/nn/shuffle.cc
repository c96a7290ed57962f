// Images rearranged: channels into pixels and back, windows into columns and back. All are views
// and copies, or reads of a list of places whose transpose is an addition at those places.
#include "base/checked.h"
#include "ops/formula.h"

namespace flambeau::ops {

namespace {

// [..., c, h, w] as [n, c, h, w].
Tensor as_images(const char* op, const Tensor& x) {
  check(x.dim() >= 3, Code::shape, op,
        " expects input to have at least 3 dimensions, but got input with ", x.dim(),
        " dimension(s)");
  return reshape(
      x, Dims{numel_of(x.sizes().first(x.sizes().size() - 3)), x.size(-3), x.size(-2), x.size(-1)});
}

Dims leading(const Tensor& x, int64_t c, int64_t h, int64_t w) {
  Dims sizes(x.sizes().first(x.sizes().size() - 3));
  for (int64_t n : {c, h, w}) sizes.push_back(n);
  return sizes;
}

struct Columns {
  int64_t kernel[2], dilation[2], padding[2], stride[2], image[2], windows[2];
};

std::string pair_text(const int64_t (&pair)[2]) {
  return cat_text("(", pair[0], ", ", pair[1], ")");
}

std::string options(const Columns& g) {
  return cat_text("kernel_size=", pair_text(g.kernel), ", dilation=", pair_text(g.dilation),
                  ", padding=", pair_text(g.padding), ", stride=", pair_text(g.stride));
}

// `size` is what the operation calls `sized`.
Columns columns_of(const char* op, const char* sized, DimsView size, DimsView kernel,
                   DimsView dilation, DimsView padding, DimsView stride) {
  Columns g{};
  const auto pair = [&](int64_t* to, const char* what, DimsView v, int64_t fallback,
                        int64_t least) {
    check(v.size() <= 2, Code::invalid_argument, op, ": ", what, " takes one or two values, got ",
          v.size());
    to[0] = v.empty() ? fallback : v[0];
    to[1] = v.empty() ? fallback : v[v.size() - 1];
    check(to[0] >= least && to[1] >= least, Code::invalid_argument, op, ": ", what,
          " should not be less than ", least, ", got ", to[0], " and ", to[1]);
    check_extent(op, what, std::max(to[0], to[1]));
  };
  pair(g.kernel, "kernel_size", kernel, 0, 1);
  pair(g.dilation, "dilation", dilation, 1, 1);
  pair(g.padding, "padding", padding, 0, 0);
  pair(g.stride, "stride", stride, 1, 1);
  pair(g.image, "size", size, 0, 0);
  for (int d = 0; d < 2; ++d) {
    g.image[d] += 2 * g.padding[d];
    const int64_t room = g.image[d] - window_reach(op, g.kernel[d], g.dilation[d]);
    g.windows[d] = room >= 0 ? room / g.stride[d] + 1 : 1 - (-room + g.stride[d] - 1) / g.stride[d];
  }
  check(g.windows[0] > 0 && g.windows[1] > 0, Code::shape, "Given ", sized, "=", ShapeText{size},
        ", ", options(g), ", calculated shape of the array of sliding blocks as ",
        pair_text(g.windows), ", but its components must be at least one");
  checked_mul(g.kernel[0], g.kernel[1], op, ": kernel_size");  // products that are taken below
  checked_mul(g.windows[0], g.windows[1], op, ": the number of windows");
  checked_mul(g.image[0], g.image[1], op, ": the padded size");
  return g;
}

// Places in the padded plane: [kh kw windows], a window element's places together.
Tensor places(const Columns& g, Device device) {
  const int64_t windows = g.windows[0] * g.windows[1];
  const Dims count{g.kernel[0], g.kernel[1], windows};
  const Tensor at = flambeau::empty(Dims{numel_of(count)}, Dtype::i64, kCpu);
  int64_t* p = at.data_as<int64_t>();
  for (int64_t i = 0; i < g.kernel[0]; ++i) {
    for (int64_t j = 0; j < g.kernel[1]; ++j) {
      for (int64_t h = 0; h < g.windows[0]; ++h) {
        for (int64_t w = 0; w < g.windows[1]; ++w) {
          *p++ = (h * g.stride[0] + i * g.dilation[0]) * g.image[1] + w * g.stride[1] +
                 j * g.dilation[1];
        }
      }
    }
  }
  return to(at, device);
}

// A result of its own, where all that was asked for is a view.
Tensor owned(const Tensor& y, const Tensor& x) { return y.storage() == x.storage() ? clone(y) : y; }

}  // namespace

Tensor pixel_shuffle(const Tensor& x, int64_t r) {
  check(r > 0, Code::invalid_argument, "pixel_shuffle expects a positive upscale_factor, but got ",
        r);
  const Tensor t = as_images(op::pixel_shuffle, x);
  const int64_t square = checked_mul(r, r, "pixel_shuffle: upscale_factor ", r);
  const int64_t c = t.size(1) / square, h = t.size(2), w = t.size(3);
  check(c * square == t.size(1), Code::shape,
        "pixel_shuffle expects its input's 'channel' dimension "
        "to be divisible by the square of upscale_factor, but input.size(-3)=",
        t.size(1), " is not divisible by ", square);
  const Dims order{0, 1, 4, 2, 5, 3};
  const Tensor y = reshape(permute(reshape(t, Dims{t.size(0), c, r, r, h, w}), order),
                           leading(x, c, checked_mul(h, r, "pixel_shuffle: upscale_factor ", r),
                                   checked_mul(w, r, "pixel_shuffle: upscale_factor ", r)));
  return owned(in_order(y, is_channels_last(x)), x);
}

Tensor pixel_unshuffle(const Tensor& x, int64_t r) {
  check(r > 0, Code::invalid_argument,
        "pixel_unshuffle expects a positive downscale_factor, but got ", r);
  const Tensor t = as_images(op::pixel_unshuffle, x);
  const int64_t c = t.size(1), h = t.size(2) / r, w = t.size(3) / r;
  const int64_t square = checked_mul(r, r, "pixel_unshuffle: downscale_factor ", r);
  check(h * r == t.size(2) && w * r == t.size(3), Code::shape,
        "pixel_unshuffle expects height and "
        "width to be divisible by downscale_factor, but ",
        x, " is not divisible by ", r);
  const Dims order{0, 1, 3, 5, 2, 4};
  const Tensor y =
      reshape(permute(reshape(t, Dims{t.size(0), c, h, r, w, r}), order),
              leading(x, checked_mul(c, square, "pixel_unshuffle: downscale_factor ", r), h, w));
  return owned(in_order(y, is_channels_last(x, false)), x);
}

Tensor channel_shuffle(const Tensor& x, int64_t groups) {
  check(x.dim() > 2, Code::shape,
        "channel_shuffle expects input with > 2 dims, but got input with "
        "sizes ",
        ShapeText{x.sizes()});
  check(groups > 0 && x.size(1) % groups == 0, Code::invalid_argument,
        "Number of channels must be divisible by groups. Got ", x.size(1), " channels and ", groups,
        " groups.");
  const int64_t rest = numel_of(x.sizes().subspan(2));
  const Dims grouped{x.size(0), groups, x.size(1) / groups, rest};
  const Tensor y = reshape(transpose(reshape(x, grouped), 1, 2), x.sizes());
  return owned(in_order(y, is_channels_last(x)), x);
}

// Windows of images as columns, and columns added up to images: each is the other's way back.
static Tensor folded(const Tensor& x, const Columns& g);

static Tensor unfolded(const Tensor& x, const Columns& g) {
  const auto forward = [&](const Tensor& t) {
    const bool padded = g.padding[0] || g.padding[1];
    const Tensor wide =
        padded ? pad(t, Dims{g.padding[1], g.padding[1], g.padding[0], g.padding[0]}) : t;
    const Tensor flat = reshape(wide, Dims{t.size(0), t.size(1), g.image[0] * g.image[1]});
    const int64_t area = g.kernel[0] * g.kernel[1];
    return reshape(index_select(flat, 2, places(g, t.device())),
                   Dims{t.size(0), checked_mul(t.size(1), area, "unfold: kernel_size"),
                        g.windows[0] * g.windows[1]});
  };
  return linear<"Im2ColBackward0">(op::im2col, x, forward,
                                   [g](const Tensor& dy) { return folded(dy, g); });
}

static Tensor folded(const Tensor& x, const Columns& g) {
  const auto forward = [&](const Tensor& t) {
    const int64_t windows = g.windows[0] * g.windows[1], area = g.kernel[0] * g.kernel[1];
    const int64_t n = t.size(0), c = t.size(1) / area;
    const Tensor none = zeros(Dims{n, c, g.image[0] * g.image[1]}, t.dtype(), t.device());
    const Tensor sum =
        index_add(none, 2, places(g, t.device()), reshape(t, Dims{n, c, area * windows}));
    const Tensor image = reshape(sum, Dims{n, c, g.image[0], g.image[1]});
    if (!g.padding[0] && !g.padding[1]) return image;
    return pad(image, Dims{-g.padding[1], -g.padding[1], -g.padding[0], -g.padding[0]});
  };
  return linear<"Col2ImBackward0">(op::col2im, x, forward,
                                   [g](const Tensor& dy) { return unfolded(dy, g); });
}

Tensor im2col(const Tensor& x, DimsView kernel_size, DimsView dilation, DimsView padding,
              DimsView stride) {
  check((x.dim() == 3 || x.dim() == 4) && numel_of(x.sizes().subspan(size_t(x.dim() - 3))) > 0,
        Code::shape,
        "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero "
        "dimensions for input, but got: ",
        ShapeText{x.sizes()});
  if (x.dim() == 3) {
    return squeeze(im2col(unsqueeze(x, 0), kernel_size, dilation, padding, stride), Dims{0});
  }
  const Columns g = columns_of("unfold", "input with spatial size", x.sizes().subspan(2),
                               kernel_size, dilation, padding, stride);
  return unfolded(x, g);
}

Tensor col2im(const Tensor& x, DimsView output_size, DimsView kernel_size, DimsView dilation,
              DimsView padding, DimsView stride) {
  check(x.dim() == 2 || x.dim() == 3, Code::shape,
        "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size, but got: ",
        ShapeText{x.sizes()});
  if (x.dim() == 2) {
    return squeeze(col2im(unsqueeze(x, 0), output_size, kernel_size, dilation, padding, stride),
                   Dims{0});
  }
  const Columns g =
      columns_of("fold", "output_size", output_size, kernel_size, dilation, padding, stride);
  const int64_t windows = g.windows[0] * g.windows[1], area = g.kernel[0] * g.kernel[1];
  check(x.size(1) % area == 0, Code::shape,
        "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but "
        "got input.size(1)=",
        x.size(1), " and kernel_size=", pair_text(g.kernel));
  check(x.size(2) == windows, Code::shape, "Given output_size=", ShapeText{output_size}, ", ",
        options(g),
        ", expected size of input's dimension 2 to match the calculated number of "
        "sliding blocks ",
        g.windows[0], " * ", g.windows[1], " = ", windows, ", but got input.size(2)=", x.size(2));
  return folded(x, g);
}

}  // namespace flambeau::ops
