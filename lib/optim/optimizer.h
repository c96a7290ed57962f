// Optimizers that own their state: groups of parameters, and a rule that steps one group in one
// launch.
#pragma once
#include <functional>
#include <vector>

#include "kernels/optimizer.h"
#include "tensor/state.h"
#include "tensor/tensor.h"

namespace flambeau::optim {

struct Group {
  ParameterList list;  // gradients are filled in at each step
  double lr, weight_decay;
};

}  // namespace flambeau::optim

// The ABI's opaque types, hence outside the namespace.
struct flam_optimizer : flambeau::RefCounted {
  using Group = flambeau::optim::Group;

  void add_group(flambeau::TensorsView params, double lr, double weight_decay);
  // `found_inf` gives each device's cell that says whether the step is to do nothing; the device
  // reads it.
  using FoundInf = std::function<flambeau::Tensor(flambeau::Device)>;
  void step(const FoundInf& found_inf = {});
  flambeau::Tensors parameters() const;
  void zero_grad(bool set_to_none);
  flambeau::Ref<flambeau::State> state_dict() const;
  void load_state_dict(const flambeau::State& state);

  std::vector<Group> groups;

 protected:
  // State names of this rule and where a parameter keeps them.
  struct Slot {
    const char* name;
    flambeau::Tensor flambeau::Parameter::* place;
    bool counter;  // 0-d f32 rather than the parameter's shape
  };
  virtual std::vector<Slot> slots() const = 0;
  // All on one device.
  virtual void update(const Group& g, const flambeau::ParameterList& with_grad,
                      const flambeau::OptimizerCells& cells) = 0;
  // Whether a first step that did nothing differs from one that found gradients of 0.
  virtual bool first_step_differs() const { return false; }

 private:
  void make_state(flambeau::Parameter& p) const;
  void forget_fresh(Group& g) const;
};

struct flam_scheduler : flambeau::RefCounted {
  explicit flam_scheduler(flambeau::Ref<flam_optimizer> o);
  void step();

 protected:
  // The rate of a group whose first one was `base`, after `steps` steps; `now` is the present one.
  virtual double rate(double base, double now, int64_t steps) const = 0;

 private:
  flambeau::Ref<flam_optimizer> optimizer_;
  std::vector<double> base_;
  int64_t steps_ = 0;
};

namespace flambeau::optim {

Ref<flam_optimizer> sgd(TensorsView params, const SgdOptions& options);
Ref<flam_optimizer> adam(TensorsView params, const AdamOptions& options, bool amsgrad);
Ref<flam_scheduler> step_lr(Ref<flam_optimizer> optimizer, int64_t step_size, double gamma);
Ref<flam_scheduler> cosine_annealing_lr(Ref<flam_optimizer> optimizer, int64_t t_max,
                                        double eta_min);
Tensor clip_grad_norm(TensorsView params, double max_norm, double norm_type,
                      bool error_if_nonfinite);

}  // namespace flambeau::optim
