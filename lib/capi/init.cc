// Initialisers at the ABI.
#include "nn/init.h"

#include "capi/gen/targets.h"

namespace flambeau::capi {

std::tuple<int64_t, int64_t> init_fans(const Tensor& t) {
  const nn::Fans f = nn::fans(t);
  return {f.in, f.out};
}
double init_gain(int32_t nonlinearity, std::optional<double> param) {
  return nn::gain_of(nn::Nonlinearity(nonlinearity), param);
}
void init_constant(const Tensor& t, double value) { nn::init_constant(t, value); }
void init_uniform(const Tensor& t, double a, double b, flam_generator* g) {
  nn::init_uniform(t, a, b, g);
}
void init_normal(const Tensor& t, double mean, double std, flam_generator* g) {
  nn::init_normal(t, mean, std, g);
}
void init_trunc_normal(const Tensor& t, double mean, double std, double a, double b,
                       flam_generator* g) {
  nn::init_trunc_normal(t, mean, std, a, b, g);
}
void init_xavier_uniform(const Tensor& t, double gain, flam_generator* g) {
  nn::init_xavier_uniform(t, gain, g);
}
void init_xavier_normal(const Tensor& t, double gain, flam_generator* g) {
  nn::init_xavier_normal(t, gain, g);
}
void init_kaiming_uniform(const Tensor& t, double gain, int32_t mode, flam_generator* g) {
  nn::init_kaiming_uniform(t, gain, nn::Fan(mode), g);
}
void init_kaiming_normal(const Tensor& t, double gain, int32_t mode, flam_generator* g) {
  nn::init_kaiming_normal(t, gain, nn::Fan(mode), g);
}
void init_eye(const Tensor& t) { nn::init_eye(t); }
void init_dirac(const Tensor& t, int64_t groups) { nn::init_dirac(t, groups); }
void init_orthogonal(const Tensor& t, double gain, flam_generator* g) {
  nn::init_orthogonal(t, gain, g);
}
void init_sparse(const Tensor& t, double sparsity, double std, flam_generator* g) {
  nn::init_sparse(t, sparsity, std, g);
}
void init_affine(const Tensor& weight, const Tensor& bias, flam_generator* g) {
  nn::init_affine(weight, bias, g);
}

}  // namespace flambeau::capi
