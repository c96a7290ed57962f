// Gamma, Poisson and binomial variables, computed in double and rounded once.
//
// Sources: Marsaglia and Tsang, "A simple method for generating gamma variables", 2000; Knuth,
// Seminumerical Algorithms, 3.4.1; Hoermann, "The transformed rejection method for generating
// Poisson random variables" (PTRS), 1993, and "The generation of binomial random variates" (BTRS),
// 1993; Devroye, Non-Uniform Random Variate Generation, X.4.3.
#include "kernels/random/random_counts.h"

#include "kernels/math.h"
#include "kernels/random/philox.h"
#include "kernels/report/report_device.h"
#if !defined(FLAM_DEVICE_SOURCE)
#include "base/thread_pool.h"
#endif

namespace flambeau::FLAM_TARGET {

// The uniform numbers of one element, two of 53 bits from each counter.
struct Stream {
  RandomState state;
  uint64_t position;
  uint64_t drawn = 0;
  Words words{};

  // (0, 1): never an end, so that logarithms are finite.
  FLAM_FN double uniform() {
    const int half = int(drawn & 1);
    if (half == 0) words = philox(state.seed, state.offset, position | (drawn >> 1) << 40);
    ++drawn;
    const uint64_t high = words.word[2 * half], low = words.word[2 * half + 1];
    return (double(int64_t(high << 20 | low >> 12)) + 0.5) * 0x1p-52;
  }
  FLAM_FN double normal() {
    const double radius = ::sqrt(-2 * ::log(uniform()));
    return radius * ::cos(6.283185307179586 * uniform());
  }
};

// `scale` times a gamma variable of a concentration from 1 on.
FLAM_FN double scaled_gamma(Stream& s, double scale, double alpha) {
  const double d = alpha - 1.0 / 3, c = 1 / ::sqrt(9 * d);
  while (true) {
    const double x = s.normal(), root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root, u = s.uniform();
    if (::log(u) < 0.5 * x * x + d * (1 - v + ::log(v))) return scale * d * v;
  }
}

// Below 1 a variable of concentration + 1 times a power of a uniform number.
struct Gamma {
  FLAM_FN double operator()(Stream& s, double alpha, double) const {
    if (!(alpha > 0)) return alpha == 0 ? 0.0 : NAN;
    if (alpha - alpha != 0) return alpha;
    const double scale = alpha < 1 ? ::pow(s.uniform(), 1 / alpha) : 1;
    return scaled_gamma(s, scale, alpha < 1 ? alpha + 1 : alpha);
  }
};

// Its logarithm, which is finite where the variable itself is too small for a number.
struct LogGamma {
  FLAM_FN double operator()(Stream& s, double alpha, double) const {
    if (!(alpha > 0)) return alpha == 0 ? -INFINITY : NAN;
    if (alpha - alpha != 0) return alpha;
    const double more = alpha < 1 ? ::log(s.uniform()) / alpha : 0;
    return more + ::log(scaled_gamma(s, 1, alpha < 1 ? alpha + 1 : alpha));
  }
};

// Uniform numbers are multiplied until they fall below e^-mean; rejection where that takes long.
struct Poisson {
  FLAM_FN double operator()(Stream& s, double mean, double) const {
    if (!(mean >= 0)) return NAN;
    if (mean < 10) {
      const double least = ::exp(-mean);
      double count = 0, product = s.uniform();
      while (product > least) {
        product *= s.uniform();
        count += 1;
      }
      return count;
    }
    const double log_mean = ::log(mean), b = 0.931 + 2.53 * ::sqrt(mean);
    const double a = -0.059 + 0.02483 * b, inverse = 1.1239 + 1.1328 / (b - 3.4);
    const double inner = 0.9277 - 3.6224 / (b - 2);
    while (true) {
      const double u = s.uniform() - 0.5, v = s.uniform(), us = 0.5 - ::fabs(u);
      const double k = ::floor((2 * a / us + b) * u + mean + 0.43);
      if (us >= 0.07 && v <= inner) return k;
      if (k < 0 || (us < 0.013 && v > us)) continue;
      const double accepted = -mean + k * log_mean - ::lgamma(k + 1);
      if (::log(v * inverse / (a / (us * us) + b)) <= accepted) return k;
    }
  }
};

// What Stirling's formula leaves of log k!.
FLAM_FN double stirling_rest(double k) {
  const double z = k + 1;
  return ::lgamma(z) - ((k + 0.5) * ::log(z) - z + 0.9189385332046727);
}

struct Binomial {
  FLAM_FN double operator()(Stream& s, double n, double p) const {
    if (!(n >= 0) || !(p >= 0 && p <= 1) || n - n != 0) return NAN;
    const bool mirrored = p > 0.5;
    const double q = mirrored ? 1 - p : p;
    if (q == 0 || n == 0) return mirrored ? n : 0.0;
    const double count = n * q < 10 ? by_waiting(s, n, q) : by_rejection(s, n, q);
    return mirrored ? n - count : count;
  }
  // Geometric waiting times until they exceed n.
  static FLAM_FN double by_waiting(Stream& s, double n, double q) {
    const double rate = ::log1p(-q);
    double waited = 0, count = 0;
    while (true) {
      waited += ::ceil(::log(s.uniform()) / rate);
      if (waited > n) return count;
      count += 1;
    }
  }
  static FLAM_FN double by_rejection(Stream& s, double n, double q) {
    const double spread = ::sqrt(n * q * (1 - q)), b = 1.15 + 2.53 * spread;
    const double a = -0.0873 + 0.0248 * b + 0.01 * q, centre = n * q + 0.5;
    const double inner = 0.92 - 4.2 / b, alpha = (2.83 + 5.1 / b) * spread;
    const double odds = q / (1 - q), mode = ::floor((n + 1) * q);
    while (true) {
      const double u = s.uniform() - 0.5, us = 0.5 - ::fabs(u);
      double v = s.uniform();
      const double k = ::floor((2 * a / us + b) * u + centre);
      if (us >= 0.07 && v <= inner) return k;
      if (k < 0 || k > n) continue;
      v = ::log(v * alpha / (a / (us * us) + b));
      const double bound = (mode + 0.5) * ::log((mode + 1) / (odds * (n - mode + 1))) +
                           (n + 1) * ::log((n - mode + 1) / (n - k + 1)) +
                           (k + 0.5) * ::log(odds * (n - k + 1) / (k + 1)) + stirling_rest(mode) +
                           stirling_rest(n - mode) - stirling_rest(k) - stirling_rest(n - k);
      if (v <= bound) return k;
    }
  }
};

template <class F, class T> FLAM_FN void draw(const VariableArgs& a, int64_t i) {
  using V = Compute<T>;
  Stream s{a.state, uint64_t(i)};
  const double first = double(load(reinterpret_cast<const T*>(a.first) + i));
  const double second = a.second ? double(load(reinterpret_cast<const T*>(a.second) + i)) : 0;
  reinterpret_cast<T*>(a.out)[i] = narrow<T>(V(F{}(s, first, second)));
}

#if defined(FLAM_DEVICE_SOURCE)

template <class F, class T> __global__ void variable_kernel(VariableArgs a) {
  const int64_t step = int64_t(gridDim.x) * blockDim.x;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < a.numel; i += step)
    draw<F, T>(a, i);
}

template <class F, class T> void variable_entry(void* stream, const void* p) {
  const VariableArgs& a = *static_cast<const VariableArgs*>(p);
  const int64_t blocks = (a.numel + 255) / 256;
  FLAM_LAUNCH((variable_kernel<F, T>), dim3(unsigned(blocks < 65535 ? blocks : 65535)), dim3(256),
              0, stream, a);
}

#else

template <class F, class T> void variable_entry(void*, const void* p) {
  const VariableArgs& a = *static_cast<const VariableArgs*>(p);
  parallel_for(a.numel, 1024, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) draw<F, T>(a, i);
  });
}

#endif

template <class F, class... T> bool register_variable(Kernel& k, TypeList<T...>) {
  (k.add(kColumn, FLAM_ISA_RANK, dtype_of<T>, &variable_entry<F, T>), ...);
  return true;
}

[[maybe_unused]] static const bool registered_variables =
    register_variable<Gamma>(kGamma, FloatTypes{}) &&
    register_variable<LogGamma>(kLogGamma, TypeList<double>{}) &&
    register_variable<Poisson>(kPoisson, FloatTypes{}) &&
    register_variable<Binomial>(kBinomial, FloatTypes{});

}  // namespace flambeau::FLAM_TARGET
