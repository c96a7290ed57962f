// Optimizer steps and gradient scaling over whole lists of tensors, in one launch per 64 of them.
// The order of operations is that of torch.optim's single-tensor loops; arithmetic is in f32 for
// half types.
//
//   ParameterList list: per parameter {param, grad, and the state the rule names}, all dense, of
//       one shape and dtype
//   run_sgd("SGD", list, {.lr = ..., .momentum = ...}, cells)       momentum buffer in `first`;
//       `fresh` where it is new
//   run_adam("AdamW", list, {.lr = ..., .decoupled = true}, cells)  exp_avg, exp_avg_sq,
//       max_exp_avg_sq; step: 0-d f32
//   run_unscale("unscale_", tensors, scale, found_inf, marks)       t /= scale; found_inf = 1 and
//       the tensor's own mark = 1 where not finite
//
// `cells` are 0-d f32 tensors on the parameters' device, read at the launch's turn, so that a step
// needs no synchronisation and can be replayed: a learning rate, the gradients' scale (divided
// out), and found_inf (not 0: the whole step does nothing, the step count included).
#pragma once
#include <vector>

#include "kernels/access.h"

namespace flambeau {

struct Parameter {
  Tensor param, grad, first, second, greatest;  // state: as the rule needs
  Tensor step;         // Adam: 0-d f32, on the parameter's device; advanced by the launch
  bool fresh = false;  // SGD: `first` holds nothing yet
};
using ParameterList = std::vector<Parameter>;

struct OptimizerCells {
  Tensor lr, grad_scale, found_inf;  // undefined: the option, 1, 0
};

struct SgdOptions {
  double lr = 1e-3, momentum = 0, dampening = 0, weight_decay = 0;
  bool nesterov = false, maximize = false;
};
struct AdamOptions {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
  bool decoupled = false, maximize = false;  // decoupled: AdamW
};

void run_sgd(const char* op, const ParameterList& list, const SgdOptions& options,
             const OptimizerCells& cells = {});
void run_adam(const char* op, const ParameterList& list, const AdamOptions& options,
              const OptimizerCells& cells = {});  // amsgrad where `greatest` is defined
void run_unscale(const char* op, TensorsView tensors, const Tensor& scale, const Tensor& found_inf,
                 TensorsView marks);

// ---- one launch ---------------------------------------------------------------------------------

inline constexpr int kListTensors = 56;
inline constexpr int64_t kListChunk = 4096;  // elements that one thread or block takes at once

struct ListEntry {
  char *param, *grad, *first, *second, *greatest;
  float* step;  // the count of steps, or the tensor's mark
  int64_t numel;
  int32_t first_chunk;
  int32_t fresh;
};

struct ListArgs {
  int32_t tensors, chunks;
  const float *lr, *grad_scale, *found_inf;
  float* mark_inf;
  double options[8];
  ListEntry entry[kListTensors];
};

extern constinit Kernel kSgd, kAdam, kAdvance, kUnscaleList;

}  // namespace flambeau
