// Optimizer steps and gradient scaling over whole lists of tensors, in one launch per 48 of them,
// which counts its steps. The order of operations is that of torch.optim's single-tensor loops;
// arithmetic is in f32 for half types.
//
//   ParameterList list: per parameter {param, grad, and the state the rule names}, all of one
//       shape and dtype; what is not contiguous is copied there and back
//   RuleOptions options{}; options[kOptLr] = ...;      each rule reads the places named for it
//   run_rule("SGD", kSgd, list, options, cells)    `fresh` where the momentum buffer is new
//   run_unscale("unscale_", tensors, scale, found_inf, marks)  t /= scale; found_inf = 1 and the
//       tensor's own mark = 1 where not finite
//
// `cells` are 0-d f32 tensors on the parameters' device, read at the launch's turn, so that a step
// needs no synchronisation and can be replayed: a learning rate, the gradients' scale (divided
// out), and found_inf (not 0: the whole step does nothing, the step count included).
#pragma once
#include <array>
#include <vector>

#include "kernels/access.h"

namespace flambeau {

struct Parameter {
  Tensor param, grad, first, second, third;  // state: as the rule needs
  Tensor step, cell, cell2;  // 0-d f32, on the parameter's device; advanced by the launch
  bool fresh = false;        // SGD: `first` holds nothing yet
};
using ParameterList = std::vector<Parameter>;
using StatePlace = Tensor Parameter::*;  // nvcc's host code is refused without a name for it

struct OptimizerCells {
  Tensor lr, grad_scale, found_inf;  // undefined: the option, 1, 0
};

inline constexpr int kRuleOptions = 12;
using RuleOptions = std::array<double, kRuleOptions>;

// Where a rule finds its options; the first four are every rule's.
enum : int {
  kOptLr,
  kOptWeightDecay,
  kOptMaximize,
  kOptEps,
  kOptOwn,                 // and on: the rule's own
  kOptMomentum = kOptOwn,  // SGD
  kOptDampening,
  kOptNesterov,
  kOptBeta1 = kOptOwn,  // Adam, Adamax, NAdam, RAdam
  kOptBeta2,
  kOptDecoupled,                    // Adam, NAdam, RAdam: decay past the moments
  kOptAmsgrad,                      // Adam: with `third`
  kOptMomentumDecay = kOptAmsgrad,  // NAdam
  kOptAlpha = kOptOwn,              // RMSprop
  kOptRmsMomentum,
  kOptCentered,           // with `third`
  kOptLrDecay = kOptOwn,  // Adagrad
  kOptAccumulator,        // what `first` begins with
  kOptRho = kOptOwn,      // Adadelta
  kOptLambd = kOptOwn,    // ASGD
  kOptAsgdAlpha,
  kOptT0,
  kOptEtaMinus = kOptOwn,  // Rprop
  kOptEtaPlus,
  kOptStepMin,
  kOptStepMax,
  kOptEps1 = kOptOwn,  // Adafactor; NaN for the machine epsilon of the parameter's dtype
  kOptEps2,
  kOptBeta2Decay,
  kOptClip,
  kOptMuonMomentum = kOptOwn,
  kOptMuonNesterov,
  kOptNsA,
  kOptNsB,
  kOptNsC,
  kOptNsSteps,
  kOptAdjustLr,
};

// The rules, and the state that each of them has.
extern constinit Kernel kSgd;       // first: momentum buffer
extern constinit Kernel kAdam;      // exp_avg, exp_avg_sq, max_exp_avg_sq for amsgrad; step
extern constinit Kernel kRmsProp;   // square_avg, momentum_buffer, grad_avg for centered; step
extern constinit Kernel kAdagrad;   // sum; step
extern constinit Kernel kAdadelta;  // square_avg, acc_delta; step
extern constinit Kernel kAdamax;    // exp_avg, exp_inf; step
extern constinit Kernel kNadam;     // exp_avg, exp_avg_sq; step, mu_product
extern constinit Kernel kRadam;     // exp_avg, exp_avg_sq; step
extern constinit Kernel kAsgd;      // ax; step, eta, mu
extern constinit Kernel kRprop;     // prev, step_size; step

void run_rule(const char* op, const Kernel& rule, const ParameterList& list,
              const RuleOptions& options, const OptimizerCells& cells = {});
void run_unscale(const char* op, TensorsView tensors, const Tensor& scale, const Tensor& found_inf,
                 TensorsView marks);

// ---- one launch ---------------------------------------------------------------------------------

inline constexpr int kListTensors = 48;
inline constexpr int64_t kListChunk = 4096;  // elements that one thread or block takes at once

struct ListEntry {
  char *param, *grad, *first, *second, *third;
  float *step, *cell, *cell2;  // step: the count of steps, or the tensor's mark
  int64_t numel;
  int32_t first_chunk;
  int32_t fresh;
};

struct ListArgs {
  int32_t tensors, chunks, tickets;
  const float *lr, *grad_scale, *found_inf;
  float* mark_inf;
  double options[kRuleOptions];
  ListEntry entry[kListTensors];
};

extern constinit Kernel kUnscaleList;

}  // namespace flambeau
