// Cuts lists of tensors into launches and checks that they can be walked side by side.
#include "kernels/optimizer/optimizer.h"

#include <algorithm>

#include "base/error.h"
#include "kernels/map/map.h"
#include "kernels/optimizer/clip.h"
#include "kernels/tickets.h"

namespace flambeau {

constinit Kernel kSgd{"SGD"}, kAdam{"Adam"}, kRmsProp{"RMSprop"}, kAdagrad{"Adagrad"},
    kAdadelta{"Adadelta"}, kAdamax{"Adamax"}, kNadam{"NAdam"}, kRadam{"RAdam"}, kAsgd{"ASGD"},
    kRprop{"Rprop"}, kUnscaleList{"unscale"}, kScaleList{"mul"};

namespace {

const float* cell_of(const char* op, const Tensor& t) {
  if (!t.defined()) return nullptr;
  check(t.dtype() == Dtype::f32 && t.numel() == 1, Code::dtype, op, ": a cell is one f32, not ", t);
  return t.data_as<float>();
}

char* side_by_side(const char* op, const Tensor& t, const Tensor& model) {
  if (!t.defined()) return nullptr;
  check(t.dtype() == model.dtype() && t.device() == model.device() && t.numel() == model.numel(),
        Code::invalid_argument, op, ": ", t, " does not match the parameter ", model);
  return static_cast<char*>(t.data());
}

// Parameters as the kernels walk them: what is not contiguous is copied, and copied back after the
// launches.
class DenseList {
 public:
  explicit DenseList(const ParameterList& list) : list_(list) {
    for (Parameter& p : list_) {
      for (const StatePlace place :
           {&Parameter::param, &Parameter::first, &Parameter::second, &Parameter::third}) {
        const Tensor given = p.*place;
        if (make_dense(p.*place)) back_.emplace_back(given, p.*place);
      }
      make_dense(p.grad);
    }
  }
  const ParameterList& list() const { return list_; }
  void copy_back() const {
    for (const auto& [to, from] : back_) run_cast(to, from);
  }

 private:
  static bool make_dense(Tensor& t) {
    if (!t.defined() || t.is_contiguous()) return false;
    const Tensor dense = empty(t.sizes(), t.dtype(), t.device());
    run_cast(dense, t);
    t = dense;
    return true;
  }
  ParameterList list_;
  std::vector<std::pair<Tensor, Tensor>> back_;  // given, dense
};

// Launches over entries that share a dtype and device; `each` adds the accesses of one.
class Launches {
 public:
  Launches(const char* op, const Kernel& kernel, const ListArgs& shared)
      : op_(op), kernel_(kernel), args_(shared) {}

  void read(const Tensor& cell) { shared_.push_back(reads(cell)); }
  void write(const Tensor& cell) { shared_.push_back(writes(cell)); }

  void add(const Tensor& model, ListEntry entry, std::span<const Access> accesses) {
    if (entry.numel == 0) return;
    const bool alike =
        model_.defined() && model.dtype() == model_.dtype() && model.device() == model_.device();
    if (args_.tensors == kListTensors || !alike) flush();
    model_ = model;
    entry.first_chunk = args_.chunks;
    args_.chunks += int32_t((entry.numel + kListChunk - 1) / kListChunk);
    args_.entry[args_.tensors++] = entry;
    accesses_.insert(accesses_.end(), accesses.begin(), accesses.end());
  }

  void flush() {
    if (args_.tensors) {
      const KernelFn fn = kernel_.find(op_, model_.device(), model_.dtype());
      args_.tickets = ticket_stream(model_.device());
      accesses_.insert(accesses_.end(), shared_.begin(), shared_.end());
      launch_kernel(op_, fn, model_.device(), args_, std::span<const Access>(accesses_));
    }
    args_.tensors = args_.chunks = 0;
    accesses_.clear();
  }

 private:
  const char* op_;
  const Kernel& kernel_;
  ListArgs args_;
  Tensor model_;
  std::vector<Access> accesses_, shared_;
};

ListEntry entry_of(const char* op, const Parameter& p) {
  return {side_by_side(op, p.param, p.param),
          side_by_side(op, p.grad, p.param),
          side_by_side(op, p.first, p.param),
          side_by_side(op, p.second, p.param),
          side_by_side(op, p.third, p.param),
          const_cast<float*>(cell_of(op, p.step)),
          const_cast<float*>(cell_of(op, p.cell)),
          const_cast<float*>(cell_of(op, p.cell2)),
          p.param.numel(),
          0,
          p.fresh};
}

ListArgs shared_args(const char* op, const OptimizerCells& cells) {
  ListArgs a{};
  a.lr = cell_of(op, cells.lr);
  a.grad_scale = cell_of(op, cells.grad_scale);
  a.found_inf = cell_of(op, cells.found_inf);
  return a;
}

std::vector<ListEntry> checked_entries(const char* op, const ParameterList& list) {
  std::vector<ListEntry> entries;
  for (const Parameter& p : list) entries.push_back(entry_of(op, p));
  return entries;
}

void run_list(const char* op, const Kernel& kernel, const ParameterList& list, const ListArgs& args,
              const OptimizerCells& cells) {
  const std::vector<ListEntry> entries = checked_entries(op, list);
  Launches launches(op, kernel, args);
  for (const Tensor* cell : {&cells.lr, &cells.grad_scale, &cells.found_inf}) launches.read(*cell);
  for (size_t i = 0; i < list.size(); ++i) {
    const Parameter& p = list[i];
    const Access accesses[] = {writes(p.param), reads(p.grad),  writes(p.first), writes(p.second),
                               writes(p.third), writes(p.step), writes(p.cell),  writes(p.cell2)};
    p.param.writes().add(op);
    launches.add(p.param, entries[i], accesses);
  }
  launches.flush();
}

// Everything is checked before anything changes. A step is a write in place: graphs that saved a
// parameter before cannot be walked after.
template <class F> void step_all(const char* op, const ParameterList& list, F&& launch_list) {
  checked_entries(op, list);
  const DenseList dense(list);
  for (const Parameter& p : list) p.param.writes().add(op);
  launch_list(dense.list());
  dense.copy_back();
}

}  // namespace

void run_rule(const char* op, const Kernel& rule, const ParameterList& list,
              const RuleOptions& options, const OptimizerCells& cells) {
  ListArgs a = shared_args(op, cells);
  std::copy(options.begin(), options.end(), a.options);
  step_all(op, list, [&](const ParameterList& dense) { run_list(op, rule, dense, a, cells); });
}

void run_unscale(const char* op, TensorsView tensors, const Tensor& scale, const Tensor& found_inf,
                 TensorsView marks) {
  ListArgs a{};
  a.grad_scale = cell_of(op, scale);
  a.mark_inf = const_cast<float*>(cell_of(op, found_inf));
  Launches launches(op, kUnscaleList, a);
  launches.read(scale);
  launches.write(found_inf);
  for (const Tensor& t : tensors) {
    check(t.is_contiguous(), Code::unsupported, op, ": ", t, " is not contiguous");
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = tensors[i];
    ListEntry entry{};
    entry.param = static_cast<char*>(t.data());
    entry.step = const_cast<float*>(cell_of(op, marks[i]));
    entry.numel = t.numel();
    const Access accesses[] = {writes(t), writes(marks[i])};
    t.writes().add(op);
    launches.add(t, entry, accesses);
  }
  launches.flush();
}

void run_scale(const char* op, TensorsView tensors, const Tensor& factor) {
  ListArgs a{};
  a.grad_scale = cell_of(op, factor);
  Launches launches(op, kScaleList, a);
  launches.read(factor);
  for (const Tensor& t : tensors) {
    ListEntry entry{};
    entry.param = static_cast<char*>(t.data());
    entry.numel = t.numel();
    const Access accesses[] = {writes(t)};
    t.writes().add(op, "_");
    launches.add(t, entry, accesses);
  }
  launches.flush();
}

}  // namespace flambeau
