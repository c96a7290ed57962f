// torch.distributed's collectives over tensors: each checks its operands before anything is sent,
// so that a rank that is wrong says so instead of leaving the others waiting.
#pragma once
#include <span>

#include "dist/group.h"

namespace flambeau::dist {

struct Reduction {
  ReduceOp op = ReduceOp::sum;
  double factor = 1;
};

Ref<Work> all_reduce(Group& g, TensorsView tensors, Reduction by, bool async);
Ref<Work> reduce(Group& g, const Tensor& tensor, int64_t root, Reduction by, bool async);
Ref<Work> broadcast(Group& g, TensorsView tensors, int64_t root, bool async);
Ref<Work> all_gather(Group& g, TensorsView outputs, const Tensor& input, bool async);
Ref<Work> gather(Group& g, TensorsView outputs, const Tensor& input, int64_t root, bool async);
Ref<Work> scatter(Group& g, const Tensor& output, TensorsView inputs, int64_t root, bool async);
Ref<Work> reduce_scatter(Group& g, const Tensor& output, TensorsView inputs, Reduction by,
                         bool async);
// Splits are rows of a single tensor by rank; empty: alike.
Ref<Work> all_to_all(Group& g, TensorsView outputs, TensorsView inputs,
                     std::span<const int64_t> output_splits, std::span<const int64_t> input_splits,
                     bool async);
Ref<Work> barrier(Group& g, bool async);
Ref<Work> send(Group& g, const Tensor& tensor, int64_t to, int64_t tag);
Ref<Work> recv(Group& g, const Tensor& tensor, int64_t from, int64_t tag);  // -1: any

}  // namespace flambeau::dist
