// Initialisers at the ABI.
#include "nn/init.h"

#include <cmath>

#include "base/error.h"
#include "capi/gen/targets.h"

namespace flambeau::capi {

static double xavier_std(const Tensor& t, double gain) {
  const nn::Fans f = nn::fans(t);
  return f.in + f.out ? gain * std::sqrt(2 / double(f.in + f.out)) : 0;
}

static double kaiming_std(const Tensor& t, double gain, int32_t mode) {
  check(mode == FLAM_FAN_IN || mode == FLAM_FAN_OUT, Code::invalid_argument, "unknown fan ", mode);
  const nn::Fans f = nn::fans(t);
  const int64_t fan = mode == FLAM_FAN_IN ? f.in : f.out;
  return fan ? gain / std::sqrt(double(fan)) : 0;
}

// A uniform distribution within +-b has the standard deviation b / sqrt(3).
static void uniform_of_std(const Tensor& t, double std, flam_generator* g) {
  const double bound = std::sqrt(3.0) * std;
  nn::init_uniform(t, -bound, bound, g);
}

void init_constant(const Tensor& t, double value) { nn::init_constant(t, value); }
void init_uniform(const Tensor& t, double a, double b, flam_generator* g) {
  nn::init_uniform(t, a, b, g);
}
void init_normal(const Tensor& t, double mean, double std, flam_generator* g) {
  nn::init_normal(t, mean, std, g);
}
void init_xavier_uniform(const Tensor& t, double gain, flam_generator* g) {
  uniform_of_std(t, xavier_std(t, gain), g);
}
void init_xavier_normal(const Tensor& t, double gain, flam_generator* g) {
  nn::init_normal(t, 0, xavier_std(t, gain), g);
}
void init_kaiming_uniform(const Tensor& t, double gain, int32_t mode, flam_generator* g) {
  uniform_of_std(t, kaiming_std(t, gain, mode), g);
}
void init_kaiming_normal(const Tensor& t, double gain, int32_t mode, flam_generator* g) {
  nn::init_normal(t, 0, kaiming_std(t, gain, mode), g);
}

}  // namespace flambeau::capi
