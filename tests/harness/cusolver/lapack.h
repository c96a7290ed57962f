// LAPACK's factorizations as the stand-in for cuSOLVER computes them, by plain loops over columns,
// one matrix at a time; `info` as LAPACK's.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace cusolver {

template <class T> struct Columns {
  T* data;
  int64_t rows, cols, ld;
  T& operator()(int64_t i, int64_t j) const { return data[j * ld + i]; }
};

template <class T> int potrf(Columns<T> a) {
  for (int64_t j = 0; j < a.cols; ++j) {
    T pivot = a(j, j);
    for (int64_t k = 0; k < j; ++k) pivot -= a(j, k) * a(j, k);
    if (!(pivot > 0)) return int(j + 1);
    a(j, j) = std::sqrt(pivot);
    for (int64_t i = j + 1; i < a.rows; ++i) {
      T sum = a(i, j);
      for (int64_t k = 0; k < j; ++k) sum -= a(i, k) * a(j, k);
      a(i, j) = sum / a(j, j);
    }
  }
  return 0;
}

template <class T> void swap_rows(Columns<T> a, int64_t one, int64_t other) {
  for (int64_t j = 0; j < a.cols; ++j) std::swap(a(one, j), a(other, j));
}

template <class T> int getrf(Columns<T> a, int64_t* pivots) {
  int info = 0;
  for (int64_t j = 0; j < std::min(a.rows, a.cols); ++j) {
    int64_t pivot = j;
    for (int64_t i = j; i < a.rows; ++i)
      if (std::abs(a(i, j)) > std::abs(a(pivot, j))) pivot = i;
    pivots[j] = pivot + 1;
    swap_rows(a, j, pivot);
    if (a(j, j) == 0) {
      if (!info) info = int(j + 1);
      continue;
    }
    for (int64_t i = j + 1; i < a.rows; ++i) {
      a(i, j) /= a(j, j);
      for (int64_t c = j + 1; c < a.cols; ++c) a(i, c) -= a(i, j) * a(j, c);
    }
  }
  return info;
}

// op(a) x = b in place of b.
template <class T> void trsm(Columns<T> a, Columns<T> b, bool upper, bool transposed, bool unit) {
  const bool from_last = upper != transposed;
  const auto at = [&](int64_t i, int64_t j) { return transposed ? a(j, i) : a(i, j); };
  for (int64_t c = 0; c < b.cols; ++c)
    for (int64_t step = 0; step < b.rows; ++step) {
      const int64_t i = from_last ? b.rows - 1 - step : step;
      T sum = b(i, c);
      for (int64_t j = from_last ? i + 1 : 0; j < (from_last ? b.rows : i); ++j)
        sum -= at(i, j) * b(j, c);
      b(i, c) = unit ? sum : sum / at(i, i);
    }
}

// Reflection of column j: beta in place of a(j, j), its vector below.
template <class T> T reflect(Columns<T> a, int64_t j) {
  T below = 0;
  for (int64_t i = j + 1; i < a.rows; ++i) below += a(i, j) * a(i, j);
  if (below == 0) return 0;
  const T alpha = a(j, j), beta = -std::copysign(std::sqrt(alpha * alpha + below), alpha);
  for (int64_t i = j + 1; i < a.rows; ++i) a(i, j) /= alpha - beta;
  a(j, j) = beta;
  return (beta - alpha) / beta;
}

// x - tau v (v^T x) for column c of x, where v is column j of a below a 1.
template <class T> void turn(Columns<T> a, int64_t j, T tau, Columns<T> x, int64_t c) {
  T sum = x(j, c);
  for (int64_t i = j + 1; i < a.rows; ++i) sum += a(i, j) * x(i, c);
  x(j, c) -= tau * sum;
  for (int64_t i = j + 1; i < a.rows; ++i) x(i, c) -= tau * sum * a(i, j);
}

template <class T> void geqrf(Columns<T> a, T* tau) {
  for (int64_t j = 0; j < std::min(a.rows, a.cols); ++j) {
    tau[j] = reflect(a, j);
    for (int64_t c = j + 1; c < a.cols; ++c) turn(a, j, tau[j], a, c);
  }
}

template <class T> void orgqr(Columns<T> a, int64_t reflections, const T* tau) {
  std::vector<T> made(size_t(a.rows * a.cols), T(0));
  const Columns<T> q{made.data(), a.rows, a.cols, a.rows};
  for (int64_t c = 0; c < a.cols; ++c) q(c, c) = 1;
  for (int64_t j = reflections; j-- > 0;)
    for (int64_t c = 0; c < a.cols; ++c) turn(a, j, tau[j], q, c);
  for (int64_t c = 0; c < a.cols; ++c) std::copy_n(&q(0, c), a.rows, &a(0, c));
}

}  // namespace cusolver
