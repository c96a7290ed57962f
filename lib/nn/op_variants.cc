// Layers that are one operation with other arguments than the operation's own.
#include "base/checked.h"
#include "base/error.h"
#include "flambeau/pad.h"
#include "nn/layers.h"
#include "nn/op_layer.h"
#include "nn/parts.h"

namespace flambeau::nn {

namespace {

void check_spatial(const char* layer, int64_t spatial) {
  check(spatial >= 1 && spatial <= 3, Code::invalid_argument, layer,
        ": spatial must be 1, 2 or 3, got ", spatial);
}

std::string pad_name(int32_t mode, double value, int64_t spatial) {
  const char* name = mode == FLAM_PADDING_REFLECT     ? "Reflection"
                     : mode == FLAM_PADDING_REPLICATE ? "Replication"
                     : mode == FLAM_PADDING_CIRCULAR  ? "Circular"
                     : value == 0                     ? "Zero"
                                                      : "Constant";
  return cat_text(name, "Pad", spatial, "d");
}

using Unpool = Tensor (*)(const Tensor&, const Tensor&, DimsView);
constexpr Unpool kUnpools[] = {ops::max_unpool1d, ops::max_unpool2d, ops::max_unpool3d};

}  // namespace

Ref<Module> flatten(int64_t start_dim, int64_t end_dim) {
  return op_layer({"Flatten", cat_text("start_dim=", start_dim, ", end_dim=", end_dim), {"input"}},
                  [start_dim, end_dim](const Module&, TensorsView x) {
                    return ops::flatten(x[0], start_dim, end_dim);
                  });
}

Ref<Module> identity() {
  return op_layer({"Identity", "", {"input"}}, [](const Module&, TensorsView x) { return x[0]; });
}

Ref<Module> softmin(int64_t dim) {
  return op_layer(
      {"Softmin", cat_text("dim=", dim), {"input"}},
      [dim](const Module&, TensorsView x) { return ops::softmax(ops::neg(x[0]), dim); });
}

Ref<Module> rrelu(double lower, double upper) {
  check(lower <= upper, Code::invalid_argument, "RReLU: lower (", lower,
        ") must not be greater than upper (", upper, ")");
  const std::string shown = cat_text("lower=", python_text(lower), ", upper=", python_text(upper));
  return op_layer({"RReLU", shown, {"input"}}, [lower, upper](const Module& m, TensorsView x) {
    return ops::rrelu(x[0], lower, upper, m.training);
  });
}

Ref<Module> feature_dropout(int64_t spatial, double p) {
  check_spatial("Dropout", spatial);
  check(p >= 0 && p <= 1, Code::invalid_argument, "Dropout", spatial,
        "d: p must be in [0, 1], got ", p);
  return op_layer(
      {cat_text("Dropout", spatial, "d"),
       cat_text("p=", python_text(p), ", inplace=False"),
       {"input"}},
      [p](const Module& m, TensorsView x) { return ops::feature_dropout(x[0], p, m.training); });
}

Ref<Module> pad(int64_t spatial, DimsView padding, int32_t mode, double value) {
  check_spatial("padding", spatial);
  const std::string name = pad_name(mode, value, spatial);
  check(padding.size() == 1 || padding.size() == size_t(2 * spatial), Code::invalid_argument, name,
        ": padding takes one number or ", 2 * spatial, ", got ", padding.size());
  const bool constant = mode == FLAM_PADDING_UNSPECIFIED || mode == FLAM_PADDING_CONSTANT;
  check(constant || value == 0, Code::invalid_argument, name, ": takes no value");
  Dims sides(padding);
  if (sides.size() == 1) sides = Dims(2 * spatial, padding[0]);
  const std::string shown = tuple_text(sides);
  const bool valued = constant && value != 0;
  return op_layer({name,
                   valued ? cat_text("padding=", shown, ", value=", python_text(value)) : shown,
                   {"input"}},
                  [sides, mode, value, constant](const Module&, TensorsView x) {
                    return ops::pad(x[0], sides, mode,
                                    constant ? std::optional(value) : std::nullopt);
                  });
}

Ref<Module> max_unpool(DimsView kernel_size, DimsView stride, DimsView padding) {
  const size_t n = kernel_size.size();
  check_spatial("MaxUnpool", int64_t(n));
  const std::string name = cat_text("MaxUnpool", n, "d");
  const Dims kernel = each_of(name, "kernel_size", kernel_size, n, 1, 1);
  const Dims steps = stride.empty() ? kernel : each_of(name, "stride", stride, n, 1, 1);
  const Dims cut = each_of(name, "padding", padding, n, 0, 0);
  return op_layer(
      {name,
       cat_text("kernel_size=", tuple_text(kernel), ", stride=", tuple_text(steps),
                ", padding=", tuple_text(cut)),
       {"input", "indices"}},
      [kernel, steps, cut, n](const Module& m, TensorsView x) {
        const int64_t first = x[0].dim() - int64_t(n);
        check(first > 0, Code::shape, m.type, ": input ", x[0], " must have more than ", n,
              " dimensions");
        Dims sizes;
        for (size_t d = 0; d < n; ++d) {
          const int64_t reach =
              checked_mul(x[0].size(first + int64_t(d)) - 1, steps[d], m.type, ": stride");
          sizes.push_back(checked_add(reach, kernel[d] - 2 * cut[d], m.type, ": kernel_size"));
        }
        return kUnpools[n - 1](x[0], x[1], sizes);
      });
}

}  // namespace flambeau::nn
