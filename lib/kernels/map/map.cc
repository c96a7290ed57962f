// See map.h. Plans are made of sizes and strides alone; what has more dimensions than a launch
// holds becomes several launches.
#include "kernels/map/map.h"

#include <cstring>

#include "base/error.h"
#include "kernels/map/map_plan.h"
#include "tensor/parts.h"

namespace flambeau {

constinit Kernel kCast{"to"};

namespace {

struct Geometry {
  SmallVector<int64_t, 8> size;
  SmallVector<int64_t, 8> stride[kMapOperands];  // bytes
  int operands;
};

Geometry broadcast_geometry(const Tensor& out, std::span<const Tensor* const> inputs) {
  Geometry g;
  g.operands = int(inputs.size()) + 1;
  const DimsView shape = out.sizes();
  Dims expanded[kMapOperands];
  expanded[0] = Dims(out.strides());
  for (size_t i = 0; i < inputs.size(); ++i) expanded[i + 1] = expanded_strides(*inputs[i], shape);

  SmallVector<uint32_t, 8> order;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] != 1) order.push_back(uint32_t(d));
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return expanded[0][a] > expanded[0][b]; });
  for (uint32_t d : order) {
    g.size.push_back(shape[d]);
    for (int i = 0; i < g.operands; ++i) {
      const size_t bytes = i ? inputs[size_t(i) - 1]->element_size() : out.element_size();
      g.stride[i].push_back(expanded[i][d] * int64_t(bytes));
    }
  }
  return g;
}

// Merges dimension d into d - 1 where every operand walks both as one.
void coalesce(Geometry& g) {
  for (size_t d = g.size.size(); d-- > 1;) {
    bool mergeable = true;
    for (int i = 0; i < g.operands; ++i) {
      mergeable &= g.stride[i][d - 1] == g.stride[i][d] * g.size[d];
    }
    if (!mergeable) continue;
    g.size[d - 1] *= g.size[d];
    g.size.erase(d);
    for (int i = 0; i < g.operands; ++i) {
      g.stride[i][d - 1] = g.stride[i][d];
      g.stride[i].erase(d);
    }
  }
}

void launch_map(KernelFn fn, const char* op, const MapArgs& args, const Tensor& out,
                std::span<const Tensor* const> inputs) {
  const Device device = out.device();
  if (device.is_cpu()) return fn(nullptr, &args);
  Access accesses[kMapOperands];
  for (int i = 0; i < args.operands; ++i) {
    int64_t low = 0, high = int64_t(i ? inputs[size_t(i) - 1]->element_size() : out.element_size());
    for (int d = 0; d < args.ndim; ++d) {
      const int64_t reach = (args.size[d] - 1) * args.stride[i][d];
      (reach < 0 ? low : high) += reach;
    }
    accesses[i] = {args.data[i] ? args.data[i] + low : nullptr,
                   args.data[i] ? size_t(high - low) : 0, i == 0};
  }
  launch(current_stream(device), op, fn, &args, sizeof args, {accesses, size_t(args.operands)});
}

// Those from `first` on, which a launch holds.
void set_dimensions(MapArgs& args, const Geometry& g, size_t first) {
  args.ndim = int32_t(g.size.size() - first);
  args.numel = 1;
  for (size_t d = 0; first + d < g.size.size(); ++d) {
    args.size[d] = g.size[first + d];
    args.numel *= args.size[d];
    for (int o = 0; o < args.operands; ++o) args.stride[o][d] = g.stride[o][first + d];
  }
}

// More dimensions than a launch holds: one launch per index of the outermost.
void launch_outer(KernelFn fn, const char* op, MapArgs& args, const Geometry& g, size_t first,
                  const Tensor& out, std::span<const Tensor* const> inputs) {
  const size_t rest = g.size.size() - first;
  if (rest > kMapDims) {
    char* start[kMapOperands];
    std::memcpy(start, args.data, sizeof start);
    for (int64_t i = 0; i < g.size[first]; ++i) {
      for (int o = 0; o < args.operands; ++o) {
        if (start[o]) args.data[o] = start[o] + i * g.stride[o][first];
      }
      launch_outer(fn, op, args, g, first + 1, out, inputs);
    }
    return;
  }
  set_dimensions(args, g, first);
  args.contiguous = 0;
  if (rest <= 1) {
    args.contiguous = 1;
    for (int o = 0; o < args.operands && rest; ++o) {
      const size_t bytes = o ? inputs[size_t(o) - 1]->element_size() : out.element_size();
      args.contiguous &= args.stride[o][0] == int64_t(bytes);
    }
  }
  launch_map(fn, op, args, out, inputs);
}

}  // namespace

void run_map(const char* op, const Kernel& kernel, Dtype dtype, const Tensor& out,
             std::span<const Tensor* const> inputs, MapParams params) {
  const KernelFn fn = kernel.find(op, out.device(), dtype);
  const int64_t numel = out.numel();
  if (numel == 0) return;
  MapArgs args;
  args.operands = int32_t(inputs.size()) + 1;
  args.out_dtype = out.dtype();
  std::copy(params.begin(), params.end(), args.params);
  args.data[0] = static_cast<char*>(out.data());
  bool dense = out.is_contiguous();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& x = *inputs[i];
    args.data[i + 1] = static_cast<char*>(x.data());
    dense &= x.is_contiguous() && x.numel() == numel;
    if (x.device() != out.device()) {  // a 0-d cpu operand beside device tensors travels by value
      // All of it: with what lay there before, a word could look like an address of the simulation.
      std::memset(args.value[i + 1], 0, sizeof args.value[i + 1]);
      std::memcpy(args.value[i + 1], x.data(), x.element_size());
      args.data[i + 1] = nullptr;
    }
  }
  if (dense) {
    args.numel = args.size[0] = numel;
    args.ndim = 1;
    args.contiguous = 1;
    args.stride[0][0] = int64_t(out.element_size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      args.stride[i + 1][0] = int64_t(inputs[i]->element_size());
      args.contiguous &= args.data[i + 1] != nullptr;
      if (!args.data[i + 1]) args.stride[i + 1][0] = 0;
    }
    return launch_map(fn, op, args, out, inputs);
  }
  Geometry g = broadcast_geometry(out, inputs);
  coalesce(g);
  launch_outer(fn, op, args, g, 0, out, inputs);
}

bool plan_copy(const Tensor& out, const Tensor& input, MapArgs& args) {
  const Tensor* in[] = {&input};
  Geometry g = broadcast_geometry(out, in);
  coalesce(g);
  if (g.size.size() > size_t(kMapDims) || out.numel() == 0) return false;
  args.operands = 2;
  args.out_dtype = out.dtype();
  args.contiguous = 0;
  args.data[0] = static_cast<char*>(out.data());
  args.data[1] = static_cast<char*>(input.data());
  set_dimensions(args, g, 0);
  return true;
}

namespace {

void cast_reals(const Tensor& out, const Tensor& input) {
  const Tensor* in[] = {&input};
  run_map("to", kCast, input.dtype(), out, in, {});
}

Tensor as_words(const Tensor& c64) {
  return alias_as(c64, Dtype::i64, c64.sizes(), c64.strides(), c64.offset());
}

// Pairs move as words of 8 bytes where that is what they are, else part by part.
void cast_complex(const Tensor& out, const Tensor& input) {
  if (out.dtype() == Dtype::c64 && input.dtype() == Dtype::c64)
    return cast_reals(as_words(out), as_words(input));
  if (!is_complex(out.dtype())) return cast_reals(out, part_of(input, 0));
  const bool complex = is_complex(input.dtype());
  cast_reals(part_of(out, 0), complex ? part_of(input, 0) : input);
  cast_reals(part_of(out, 1), complex ? part_of(input, 1) : wrapped_number(int64_t{0}));
}

}  // namespace

void run_cast(const Tensor& out, const Tensor& input) {
  if (is_complex(out.dtype()) || is_complex(input.dtype())) [[unlikely]]
    return cast_complex(out, input);
  cast_reals(out, input);
}

}  // namespace flambeau
