// math_test.cc's sweeps over the functions as a processor with fused multiply-add has them, in
// float arithmetic.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>

#if defined(__x86_64__)
#pragma GCC target("avx2,fma")
#if !defined(__FMA__)
#define __FMA__ 1  // which the pragma does for C++ from GCC 13 on
#endif
#define FLAM_TARGET tested_fma
#define MATH MathWithFusedMultiplyAdd
#define MATH_RUNS (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
#include "math_test.cc"
static_assert(flambeau::tested_fma::kHasUsual);
#endif
