// Optimizer steps and gradient scaling over whole lists of tensors, in one launch per 48 of them.
// The order of operations is that of torch.optim's single-tensor loops; arithmetic is in f32 for
// half types.
//
//   ParameterList list: per parameter {param, grad, and the state the rule names}, all of one
//       shape and dtype; what is not contiguous is copied there and back
//   RuleOptions options{}; options[kOptLr] = ...;      each rule reads the places named for it
//   run_rule("SGD", kSgdRule, list, options, cells)    `fresh` where the momentum buffer is new
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

// A rule: the kernel over elements, the one that advances the cells, and which of them goes first.
struct UpdateRule {
  const Kernel* update;
  const Kernel* count = nullptr;
  bool count_after = false;
};
extern const UpdateRule kSgdRule;       // first: momentum buffer
extern const UpdateRule kAdamRule;      // exp_avg, exp_avg_sq, max_exp_avg_sq for amsgrad; step
extern const UpdateRule kRmsPropRule;   // square_avg, momentum_buffer, grad_avg for centered; step
extern const UpdateRule kAdagradRule;   // sum; step
extern const UpdateRule kAdadeltaRule;  // square_avg, acc_delta; step
extern const UpdateRule kAdamaxRule;    // exp_avg, exp_inf; step
extern const UpdateRule kNadamRule;     // exp_avg, exp_avg_sq; step, mu_product
extern const UpdateRule kRadamRule;     // exp_avg, exp_avg_sq; step
extern const UpdateRule kAsgdRule;      // ax; step, eta, mu
extern const UpdateRule kRpropRule;     // prev, step_size; step

void run_rule(const char* op, const UpdateRule& rule, const ParameterList& list,
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
  int32_t tensors, chunks;
  const float *lr, *grad_scale, *found_inf;
  float* mark_inf;
  double options[kRuleOptions];
  ListEntry entry[kListTensors];
};

extern constinit Kernel kSgd, kAdam, kRmsProp, kAdagrad, kAdadelta, kAdamax, kNadam, kRadam, kAsgd,
    kRprop, kCountSteps, kCountNadam, kCountAsgd, kUnscaleList;

}  // namespace flambeau
