// Optimizers that own their state: groups of parameters with options of their own, and a rule that
// steps one group in one launch.
#pragma once
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "optim/rule.h"
#include "tensor/state.h"
#include "tensor/tensor.h"

namespace flambeau::optim {

struct Group {
  ParameterList list;  // gradients are filled in at each step
  RuleOptions options;
  double initial_lr = std::numeric_limits<double>::quiet_NaN();  // set by the first schedule
};

using Closure = std::function<double()>;  // computes the loss and its gradients anew

}  // namespace flambeau::optim

// The ABI's opaque type, hence outside the namespace.
struct flam_optimizer : flambeau::RefCounted {
  using Group = flambeau::optim::Group;

  explicit flam_optimizer(const flambeau::optim::Rule& rule) : rule_(rule) {}

  virtual void add_group(flambeau::TensorsView params, const flambeau::RuleOptions& options);
  // `found_inf` gives each device's cell that says whether the step is to do nothing; the device
  // reads it.
  using FoundInf = std::function<flambeau::Tensor(flambeau::Device)>;
  virtual void step(const FoundInf& found_inf = {});
  // The loss before the step. Rules that look once run the closure, then step.
  virtual double step_closure(const flambeau::optim::Closure& closure);
  flambeau::Tensors parameters() const;
  void zero_grad(bool set_to_none);
  virtual flambeau::Ref<flambeau::State> state_dict() const;
  virtual void load_state_dict(const flambeau::State& state);

  double* option(std::string_view name, size_t group);                 // null where there is none
  double* option_place(std::string_view name, size_t group);           // throws where there is none
  void set_option(std::string_view name, double value, size_t group);  // checked

  std::vector<Group> groups;

 protected:
  void for_each_option(const std::function<void(const std::string&, double&)>& visit,
                       bool unset = false) const;

  const flambeau::optim::Rule& rule_;

 private:
  void make_state(flambeau::Parameter& p, const flambeau::RuleOptions& options) const;
  void forget_fresh(Group& g) const;
};

namespace flambeau::optim {

Ref<flam_optimizer> make_optimizer(const Rule& rule, TensorsView params,
                                   const RuleOptions& options);
double number_of(const Tensor& t);  // waits for the device
Tensor clip_grad_norm(TensorsView params, double max_norm, double norm_type,
                      bool error_if_nonfinite);
void clip_grad_value(TensorsView params, double bound);

}  // namespace flambeau::optim
