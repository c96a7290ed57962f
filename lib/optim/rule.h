// Update rules as rows of one table: a rule's options and state by the names that torch.optim gives
// them, its bounds, and how it steps. Optimizers that own their state, steps over the caller's
// lists and, through these, Python's optimizers read the same rows.
#pragma once
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/optimizer/optimizer.h"

namespace flambeau::optim {

// A state beside its parameter: in its shape, one f32 number, or the sums over a matrix's columns
// and rows, and for what is no matrix the whole.
enum class StateShape : int8_t { like, cell, rows, columns, vector };

// State names of a rule, where a parameter keeps them and what they begin with.
struct Slot {
  const char* name;
  StatePlace place;
  StateShape shape = StateShape::like;
  int only_with = -1;     // the option that must not be 0 for this state to exist
  int start_option = -1;  // the option whose value it begins with
  double start = 0;
};

struct Rule {
  const char* name;
  const Kernel* update;                                // null where it steps by `formula`
  std::array<std::string_view, kRuleOptions> options;  // empty: not used
  std::vector<Slot> slots;
  void (*check)(const RuleOptions&);  // throws torch's text for a value out of range
  // Whether a first step that did nothing differs from one that found gradients of 0.
  bool (*first_step_differs)(const RuleOptions&) = nullptr;
  void (*formula)(const Parameter&, const RuleOptions&) = nullptr;  // one parameter, by operations
  void (*check_param)(const Tensor&) = nullptr;  // throws for one that the rule cannot step
};

extern const Rule kSgdTable, kAdamTable, kAdamWTable, kRmsPropTable, kAdagradTable, kAdadeltaTable,
    kAdamaxTable, kNadamTable, kRadamTable, kAsgdTable, kRpropTable, kAdafactorTable, kMuonTable;

// The shape of a state; none where the rule keeps it for parameters of another dimension.
std::optional<Dims> state_shape(const Slot& slot, const Tensor& param);
bool is_kept(const Slot& slot, const RuleOptions& options);
// What a state begins with; undefined where the rule keeps none for this parameter.
Tensor begun_state(const Slot& slot, const Tensor& param, const RuleOptions& options);

// One step over a list of parameters of any layout on one device, whose state is there. State that
// the rule does not keep by these options is passed over.
void step_list(const Rule& rule, ParameterList list, const RuleOptions& options,
               const OptimizerCells& cells = {});

}  // namespace flambeau::optim
