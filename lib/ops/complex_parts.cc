// See complex_parts.h.
#include "ops/complex_parts.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "tensor/parts.h"

namespace flambeau {

void run_map_by_parts(const char* op, const Kernel& kernel, const Tensor& out,
                      std::span<const Tensor* const> inputs, MapParams params) {
  constexpr std::string_view alike[] = {"add", "neg", "sub", "where"};
  if (std::ranges::find(alike, kernel.name) == std::end(alike)) fail_type(out.dtype(), op);
  for (int part : {0, 1}) {
    Tensor of[kMapOperands];
    const Tensor* each[kMapOperands];
    for (size_t i = 0; i < inputs.size(); ++i) {
      of[i] = is_complex(inputs[i]->dtype()) ? part_of(*inputs[i], part) : *inputs[i];
      each[i] = &of[i];
    }
    run_map(op, kernel, to_real(out.dtype()), part_of(out, part), {each, inputs.size()}, params);
  }
}

void run_map_of_parts(const char* op, const Kernel& real, const Kernel& imag, const Tensor& out,
                      std::span<const Tensor* const> inputs) {
  Tensor of[kMapOperands];
  const Tensor* each[kMapOperands];
  for (size_t i = 0; i < 2 * inputs.size(); ++i) {
    of[i] = part_of(*inputs[i / 2], int(i % 2));
    each[i] = &of[i];
  }
  const Dtype dtype = to_real(out.dtype());
  run_map(op, real, dtype, part_of(out, 0), {each, 2 * inputs.size()}, {});
  run_map(op, imag, dtype, part_of(out, 1), {each, 2 * inputs.size()}, {});
}

}  // namespace flambeau
