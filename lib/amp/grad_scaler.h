// A factor on losses, so that small gradients survive in f16, and its inverse on gradients. The
// factor and the marks of gradients that are not finite live on the device: a step reads them
// there. The host waits only where the program asks for a number.
#pragma once
#include <unordered_map>
#include <vector>

#include "flambeau/amp.h"
#include "tensor/state.h"

namespace flambeau::amp {

struct ScalerOptions {
  double growth_factor = 2, backoff_factor = 0.5;
  int64_t growth_interval = 2000;
};

struct StepReport {
  bool skipped;
  int64_t parameter;  // the first whose gradient was not finite, or -1
};

}  // namespace flambeau::amp

// The ABI's opaque type, hence outside the namespace. An owner is an optimizer, as a number.
struct flam_grad_scaler final : flambeau::RefCounted {
  flam_grad_scaler(double init_scale, const flambeau::amp::ScalerOptions& o, bool enable);

  flambeau::Tensor scale(const flambeau::Tensor& loss);
  void unscale(uint64_t owner, flambeau::TensorsView params);
  void begin_step(uint64_t owner, flambeau::TensorsView params);
  flambeau::Tensor found_inf(uint64_t owner, flambeau::Device device) const;
  flambeau::amp::StepReport report(uint64_t owner) const;  // waits
  void update();

  double current_scale() const;  // waits
  const flambeau::Tensor& factor() const { return scale_; }
  void set_scale(double value);
  void configure(const flambeau::amp::ScalerOptions& o);
  flambeau::Ref<flambeau::State> state_dict() const;  // waits
  void load_state_dict(const flambeau::State& state);

  const bool enabled;

 private:
  enum class Stage : int8_t { ready, unscaled, stepped };
  // On each device that has gradients: [0] whether any on any device is not finite, then one mark
  // per parameter.
  struct Owner {
    Stage stage = Stage::ready;
    std::vector<flambeau::Tensor> marks;
  };

  const flambeau::Tensor& scale_on(flambeau::Device device);
  void check_scaled(const char* attempt) const;  // throws before the first loss
  const Owner& known(uint64_t owner) const;

  flambeau::amp::ScalerOptions options_;
  double init_scale_;
  int64_t init_steps_ = 0;
  flambeau::Tensor scale_, finite_steps_;    // made on the device of the first loss
  std::vector<flambeau::Tensor> elsewhere_;  // copies of scale_, until it is written to
  uint32_t copied_ = 0;                      // its version when they were made
  std::unordered_map<uint64_t, Owner> owners_;
};
