// Scaling, unscaling, and what is known of each optimizer's latest gradients.
#include "amp/grad_scaler.h"

#include <cmath>
#include <utility>

#include "base/error.h"
#include "graph/autograd_data.h"
#include "graph/mode.h"
#include "kernels/optimizer/loss_scale.h"
#include "kernels/optimizer/optimizer.h"
#include "ops/ops.h"

using namespace flambeau;
using amp::ScalerOptions;

namespace {

void check_options(const ScalerOptions& o) {
  check(o.growth_factor > 1, Code::invalid_argument, "The growth factor must be > 1.0, got ",
        o.growth_factor);
  check(o.backoff_factor < 1, Code::invalid_argument, "The backoff factor must be < 1.0, got ",
        o.backoff_factor);
  check(o.growth_interval > 0, Code::invalid_argument, "The growth interval must be > 0, got ",
        o.growth_interval);
}

template <class T> Tensor cell(T value, Dtype dtype, Device device) {
  return ops::full(Dims{}, wrapped_number(value), dtype, device);
}

Tensor found_of(const Tensor& marks) { return alias(marks, Dims{}, Dims{}, marks.offset()); }
Tensor mark_of(const Tensor& marks, size_t i) {
  return alias(marks, Dims{}, Dims{}, marks.offset() + 1 + int64_t(i));
}

// The gradients of one device; those that are not contiguous are copied for the launch.
struct Gradients {
  Device device;
  Tensors dense, marked;
  std::vector<std::pair<Tensor, Tensor>> copied;  // the gradient, its copy
  Tensor marks;
};

Gradients& gradients_on(std::vector<Gradients>& all, Device device, size_t params) {
  for (Gradients& g : all) {
    if (g.device == device) return g;
  }
  all.push_back({device, {}, {}, {}, ops::zeros(Dims{int64_t(params) + 1}, Dtype::f32, device)});
  return all.back();
}

std::vector<Gradients> gather(TensorsView params) {
  std::vector<Gradients> all;
  for (size_t i = 0; i < params.size(); ++i) {
    const AutogradData* data = params[i].impl()->autograd.get();
    if (!data || !data->grad) continue;
    const Tensor& grad = data->grad;
    check(grad.dtype() != Dtype::f16, Code::invalid_argument,
          "Attempting to unscale FP16 gradients. Parameter ", i, " is ", params[i],
          "; keep parameters in float32 and let autocast lower them");
    Gradients& g = gradients_on(all, grad.device(), params.size());
    Tensor dense = ops::contiguous(grad);
    if (!dense.is_same(grad)) g.copied.emplace_back(grad, dense);
    g.dense.push_back(std::move(dense));
    g.marked.push_back(mark_of(g.marks, i));
  }
  return all;
}

// What one device found holds on all.
void share_findings(const std::vector<Gradients>& all) {
  if (all.size() < 2) return;
  const Device first = all[0].device;
  const Tensor any = found_of(all[0].marks);
  for (size_t i = 1; i < all.size(); ++i) {
    ops::copy_(any, ops::maximum(any, ops::to_device(found_of(all[i].marks), first, true)));
  }
  for (size_t i = 1; i < all.size(); ++i) ops::copy_(found_of(all[i].marks), any, true);
}

double read(const Tensor& t) {
  const Tensor host = ops::to(t, kCpu, Dtype::f64, false, false);
  return *host.data_as<double>();
}

}  // namespace

flam_grad_scaler::flam_grad_scaler(double init_scale, const ScalerOptions& o, bool enable)
    : enabled(enable), options_(o), init_scale_(init_scale) {
  if (enabled) check_options(o);
}

const Tensor& flam_grad_scaler::scale_on(Device device) {
  if (scale_.device() == device) return scale_;
  if (std::exchange(copied_, scale_.version()) != scale_.version()) elsewhere_.clear();
  for (const Tensor& t : elsewhere_) {
    if (t.device() == device) return t;
  }
  elsewhere_.push_back(ops::to_device(scale_, device, true));
  return elsewhere_.back();
}

Tensor flam_grad_scaler::scale(const Tensor& loss) {
  if (!enabled) return loss;
  if (!scale_) {
    scale_ = cell(init_scale_, Dtype::f32, loss.device());
    finite_steps_ = cell(init_steps_, Dtype::i64, loss.device());
  }
  return ops::mul(loss, scale_on(loss.device()));
}

void flam_grad_scaler::check_scaled(const char* attempt) const {
  check(scale_.defined(), Code::invalid_argument, "Attempted ", attempt,
        " but _scale is None.  This may indicate your script did not use scaler.scale(loss or "
        "outputs) earlier in the iteration.");
}

void flam_grad_scaler::unscale(uint64_t id, TensorsView params) {
  if (!enabled) return;
  check_scaled("unscale_");
  const auto found = owners_.find(id);
  if (found != owners_.end()) {
    check(found->second.stage != Stage::unscaled, Code::invalid_argument,
          "unscale_() has already been called on this optimizer since the last update().");
    check(found->second.stage != Stage::stepped, Code::invalid_argument,
          "unscale_() is being called after step().");
  }
  const GradMode no_grad(false);
  std::vector<Gradients> all = gather(params);
  Owner owner{Stage::unscaled, {}};
  for (const Gradients& g : all) {
    run_unscale("unscale_", g.dense, scale_on(g.device), found_of(g.marks), g.marked);
    for (const auto& [grad, copy] : g.copied) ops::copy_(grad, copy);
    owner.marks.push_back(g.marks);
  }
  share_findings(all);
  owners_.insert_or_assign(id, std::move(owner));
}

void flam_grad_scaler::begin_step(uint64_t id, TensorsView params) {
  if (!enabled) return;
  check_scaled("step");
  const auto found = owners_.find(id);
  const Stage stage = found == owners_.end() ? Stage::ready : found->second.stage;
  check(stage != Stage::stepped, Code::invalid_argument,
        "step() has already been called since the last update().");
  if (stage == Stage::ready) unscale(id, params);
  Owner& owner = owners_.at(id);
  check(!owner.marks.empty(), Code::invalid_argument,
        "No inf checks were recorded for this optimizer: none of its parameters has a gradient.");
  owner.stage = Stage::stepped;
}

const flam_grad_scaler::Owner& flam_grad_scaler::known(uint64_t id) const {
  const auto found = owners_.find(id);
  check(found != owners_.end(), Code::invalid_argument,
        "nothing is known of this optimizer: scaler.step(optimizer) comes first");
  return found->second;
}

Tensor flam_grad_scaler::found_inf(uint64_t id, Device device) const {
  const Owner& owner = known(id);
  for (const Tensor& marks : owner.marks) {
    if (marks.device() == device) return found_of(marks);
  }
  check(!owner.marks.empty(), Code::invalid_argument,
        "No inf checks were recorded for this optimizer: none of its parameters has a gradient.");
  return ops::to_device(found_of(owner.marks[0]), device, true);
}

amp::StepReport flam_grad_scaler::report(uint64_t id) const {
  const GradMode no_grad(false);
  amp::StepReport r{false, -1};
  for (const Tensor& marks : known(id).marks) {
    const Tensor host = ops::to_device(marks, kCpu, false);
    const float* at = host.data_as<float>();
    r.skipped |= at[0] != 0;
    for (int64_t i = 1; i < host.numel(); ++i) {
      if (at[i] != 0 && (r.parameter < 0 || i - 1 < r.parameter)) r.parameter = i - 1;
    }
  }
  return r;
}

void flam_grad_scaler::update() {
  if (!enabled) return;
  check_scaled("update");
  const GradMode no_grad(false);
  Tensor found;
  for (const auto& [id, owner] : owners_) {
    if (owner.stage == Stage::ready || owner.marks.empty()) continue;
    const Tensor own = ops::to_device(found_of(owner.marks[0]), scale_.device(), true);
    found = found ? ops::maximum(found, own) : own;
  }
  check(found.defined(), Code::invalid_argument, "No inf checks were recorded prior to update.");
  run_update_scale(scale_, finite_steps_, found, options_.growth_factor, options_.backoff_factor,
                   options_.growth_interval);
  elsewhere_.clear();
  // What was not stepped this time is an optimizer of the past.
  std::erase_if(owners_, [](const auto& o) { return o.second.stage == Stage::ready; });
  for (auto& [id, owner] : owners_) owner.stage = Stage::ready;
}

double flam_grad_scaler::current_scale() const {
  return !enabled ? 1 : scale_ ? read(scale_) : init_scale_;
}

void flam_grad_scaler::set_scale(double value) {
  if (!enabled) return;
  const GradMode no_grad(false);
  init_scale_ = value;
  if (scale_) ops::fill_(scale_, wrapped_number(value));
  for (auto& [id, owner] : owners_) owner.stage = Stage::ready;
}

void flam_grad_scaler::configure(const ScalerOptions& o) {
  check_options(o);
  options_ = o;
}

Ref<State> flam_grad_scaler::state_dict() const {
  auto state = make_ref<State>();
  if (!enabled) return state;
  const int64_t steps = finite_steps_ ? int64_t(read(finite_steps_)) : init_steps_;
  state->set("scale", cell(current_scale(), Dtype::f64, kCpu));
  state->set("growth_factor", cell(options_.growth_factor, Dtype::f64, kCpu));
  state->set("backoff_factor", cell(options_.backoff_factor, Dtype::f64, kCpu));
  state->set("growth_interval", cell(options_.growth_interval, Dtype::i64, kCpu));
  state->set("_growth_tracker", cell(steps, Dtype::i64, kCpu));
  return state;
}

void flam_grad_scaler::load_state_dict(const State& state) {
  if (!enabled) return;
  check(!state.entries.empty(), Code::invalid_argument,
        "The source state dict is empty, possibly because it was saved from a disabled instance "
        "of GradScaler.");
  const auto entry = [&](const char* name) {
    const Tensor* t = state.find(name);
    check(t && t->numel() == 1, Code::invalid_argument, "the state of a scaler has one number \"",
          name, "\"");
    return read(*t);
  };
  const ScalerOptions o{entry("growth_factor"), entry("backoff_factor"),
                        int64_t(entry("growth_interval"))};
  const double factor = entry("scale");
  const int64_t steps = int64_t(entry("_growth_tracker"));
  configure(o);
  const GradMode no_grad(false);
  init_scale_ = factor;
  init_steps_ = steps;
  if (!scale_) return;
  ops::fill_(scale_, wrapped_number(factor));
  ops::fill_(finite_steps_, wrapped_number(steps));
}
