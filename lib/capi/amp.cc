// Targets of amp.h: autocast's state is the thread's, changed as a scope that is popped or for
// good; only the cpu and accelerators have one, every other type is refused by name.
#include "amp/grad_scaler.h"

#include "base/error.h"
#include "capi/gen/targets.h"
#include "capi/scope_stack.h"
#include "graph/mode.h"
#include "ops/autocast.h"

namespace flambeau::capi {

namespace {

bool has_autocast(int32_t type) {
  return type == FLAM_CPU || type == FLAM_CUDA || type == FLAM_SIM;
}

Autocast& autocast_named(const char* function, int32_t type) {
  check(has_autocast(type), Code::invalid_argument, function, ": unsupported autocast device_type ",
        type, "; there is autocast for cpu, cuda and sim");
  return autocast_of(type == FLAM_CPU);
}

void set_autocast(const char* function, int32_t type, Dtype dtype, bool enabled) {
  Autocast& state = autocast_named(function, type);
  check(dtype == Dtype::none || dtype == Dtype::f32 || is_half(dtype), Code::dtype, function,
        ": autocast lowers to float16, bfloat16 or float32, not to ", name_of(dtype));
  if (dtype != Dtype::none) state.dtype = dtype;
  state.enabled = enabled;
  modes.autocast = modes.autocast_cpu.enabled || modes.autocast_device.enabled;
}

amp::ScalerOptions options_of(double growth, double backoff, int64_t interval) {
  return {growth, backoff, interval};
}

uint64_t owner_of(const flam_optimizer* o) { return reinterpret_cast<uintptr_t>(o); }

}  // namespace

flam_scope autocast_push(int32_t type, Dtype dtype, bool enabled, bool cache_enabled) {
  const Modes before = modes;
  set_autocast("autocast_push", type, dtype, enabled);
  modes.autocast_cache = cache_enabled;
  ++modes.autocast_depth;
  return push_scope([before] {
    modes.autocast = before.autocast;
    modes.autocast_cache = before.autocast_cache;
    modes.autocast_cpu = before.autocast_cpu;
    modes.autocast_device = before.autocast_device;
    if (--modes.autocast_depth == 0) clear_cast_cache();
  });
}

void set_autocast_enabled(int32_t type, bool enabled) {
  set_autocast("set_autocast_enabled", type, Dtype::none, enabled);
}

void set_autocast_dtype(int32_t type, Dtype dtype) {
  check(dtype != Dtype::none, Code::dtype, "set_autocast_dtype: no dtype is given");
  set_autocast("set_autocast_dtype", type, dtype, autocast_enabled(type));
}

bool autocast_enabled(int32_t type) {
  return has_autocast(type) && autocast_of(type == FLAM_CPU).enabled;
}

Dtype autocast_dtype(int32_t type) {
  return has_autocast(type) ? autocast_of(type == FLAM_CPU).dtype : Dtype::none;
}

bool autocast_cache_enabled() { return modes.autocast_cache; }
void set_autocast_cache_enabled(bool enabled) { modes.autocast_cache = enabled; }
void autocast_clear_cache() { clear_cast_cache(); }

// ---- gradient scaling ---------------------------------------------------------------------------

Ref<flam_grad_scaler> grad_scaler_new(double init_scale, double growth_factor,
                                      double backoff_factor, int64_t growth_interval,
                                      bool enabled) {
  return make_ref<flam_grad_scaler>(
      init_scale, options_of(growth_factor, backoff_factor, growth_interval), enabled);
}

Tensor grad_scaler_scale(flam_grad_scaler* s, const Tensor& loss) { return s->scale(loss); }

void grad_scaler_unscale(flam_grad_scaler* s, flam_optimizer* o) {
  s->unscale(owner_of(o), o->parameters());
}

void grad_scaler_step(flam_grad_scaler* s, flam_optimizer* o) {
  if (!s->enabled) return o->step();
  s->begin_step(owner_of(o), o->parameters());
  o->step([&](Device device) { return s->found_inf(owner_of(o), device); });
}

std::tuple<bool, int64_t> grad_scaler_skipped(const flam_grad_scaler* s, const flam_optimizer* o) {
  return grad_scaler_owner_skipped(s, owner_of(o));
}

void grad_scaler_update(flam_grad_scaler* s) { s->update(); }
double grad_scaler_get_scale(const flam_grad_scaler* s) { return s->current_scale(); }
Tensor grad_scaler_cell(const flam_grad_scaler* s) { return s->factor(); }
void grad_scaler_set_scale(flam_grad_scaler* s, double scale) { s->set_scale(scale); }

void grad_scaler_configure(flam_grad_scaler* s, double growth_factor, double backoff_factor,
                           int64_t growth_interval) {
  s->configure(options_of(growth_factor, backoff_factor, growth_interval));
}

bool grad_scaler_enabled(const flam_grad_scaler* s) { return s->enabled; }
Ref<flam_state> grad_scaler_state_dict(const flam_grad_scaler* s) { return s->state_dict(); }
void grad_scaler_load_state_dict(flam_grad_scaler* s, const flam_state* state) {
  s->load_state_dict(*state);
}

void grad_scaler_unscale_params(flam_grad_scaler* s, uint64_t owner, TensorsView params) {
  s->unscale(owner, params);
}

void grad_scaler_begin_step(flam_grad_scaler* s, uint64_t owner, TensorsView params) {
  s->begin_step(owner, params);
}

Tensor grad_scaler_found_inf(const flam_grad_scaler* s, uint64_t owner, Device device) {
  return s->found_inf(owner, resolve(device));
}

std::tuple<bool, int64_t> grad_scaler_owner_skipped(const flam_grad_scaler* s, uint64_t owner) {
  if (!s->enabled) return {false, -1};
  const amp::StepReport r = s->report(owner);
  return {r.skipped, r.parameter};
}

}  // namespace flambeau::capi
