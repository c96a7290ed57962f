// Rotations until the columns of a matrix are orthogonal; see jacobi.h. Those of a symmetric one
// with a shift that makes it positive are its vectors times its values.
#include "jacobi.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lapack.h"

namespace cusolver {
namespace {

constexpr int kMostSweeps = 60;

using Matrix = Columns<double>;

double dot(const Matrix& a, int64_t p, int64_t q) {
  double sum = 0;
  for (int64_t i = 0; i < a.rows; ++i) sum += a(i, p) * a(i, q);
  return sum;
}

void rotate(const Matrix& a, int64_t p, int64_t q, double c, double s) {
  for (int64_t i = 0; i < a.rows; ++i) {
    const double x = a(i, p), y = a(i, q);
    a(i, p) = c * x - s * y;
    a(i, q) = s * x + c * y;
  }
}

// Turns columns of a, and of v with them, until they are orthogonal.
void orthogonalize(const Matrix& a, const Matrix& v) {
  bool turned = true;
  for (int sweep = 0; turned && sweep < kMostSweeps; ++sweep) {
    turned = false;
    for (int64_t p = 0; p < a.cols; ++p)
      for (int64_t q = p + 1; q < a.cols; ++q) {
        const double pp = dot(a, p, p), qq = dot(a, q, q), pq = dot(a, p, q);
        if (std::abs(pq) <= 1e-16 * std::sqrt(pp * qq)) continue;
        const double zeta = (qq - pp) / (2 * pq);
        const double t = std::copysign(1, zeta) / (std::abs(zeta) + std::sqrt(1 + zeta * zeta));
        const double c = 1 / std::sqrt(1 + t * t);
        rotate(a, p, q, c, c * t);
        rotate(v, p, q, c, c * t);
        turned = true;
      }
  }
}

std::vector<double> unit(int64_t n) {
  std::vector<double> all(size_t(n * n));
  for (int64_t i = 0; i < n; ++i) all[size_t(i * n + i)] = 1;
  return all;
}

// What is left of column j beside those before it, twice for its digits; whether it is much.
bool stands_out(const Matrix& u, int64_t j) {
  for (int round = 0; round < 2; ++round)
    for (int64_t p = 0; p < j; ++p) {
      const double along = dot(u, p, j);
      for (int64_t i = 0; i < u.rows; ++i) u(i, j) -= along * u(i, p);
    }
  const double length = std::sqrt(dot(u, j, j));
  for (int64_t i = 0; i < u.rows; ++i) u(i, j) /= length;
  return length > 1e-3;
}

// Columns j ... of an orthonormal basis whose first j are there.
void complete(const Matrix& u, int64_t j) {
  for (int64_t axis = 0; j < u.cols && axis < u.rows; ++axis) {
    for (int64_t i = 0; i < u.rows; ++i) u(i, j) = i == axis;
    if (stands_out(u, j)) ++j;
  }
}

}  // namespace

void gesvd(std::vector<double> a, int64_t m, int64_t n, std::vector<double>& values,
           std::vector<double>& u, std::vector<double>& vt) {
  const Matrix columns{a.data(), m, n, m};
  std::vector<double> v = unit(n);
  orthogonalize(columns, {v.data(), n, n, n});
  std::vector<double> lengths;
  for (int64_t j = 0; j < n; ++j) lengths.push_back(std::sqrt(dot(columns, j, j)));
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t x, int64_t y) { return lengths[size_t(x)] > lengths[size_t(y)]; });
  values.clear();
  u.assign(size_t(m * m), 0);
  vt.assign(size_t(n * n), 0);
  const Matrix left{u.data(), m, m, m};
  int64_t known = 0;
  for (int64_t j = 0; j < n; ++j) {
    const int64_t from = order[size_t(j)];
    const double length = lengths[size_t(from)];
    values.push_back(length);
    for (int64_t i = 0; i < n; ++i) vt[size_t(i * n + j)] = v[size_t(from * n + i)];
    if (length <= 1e-15 * values[0]) continue;
    for (int64_t i = 0; i < m; ++i) left(i, j) = columns(i, from) / length;
    known = j + 1;
  }
  complete(left, known);
}

void syevd(std::vector<double> a, int64_t n, std::vector<double>& values,
           std::vector<double>& vectors) {
  double shift = 0;  // at least the greatest value's size
  for (int64_t j = 0; j < n; ++j) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += std::abs(a[size_t(j * n + i)]);
    shift = std::max(shift, sum);
  }
  for (int64_t j = 0; j < n; ++j) a[size_t(j * n + j)] += 2 * shift;
  std::vector<double> falling, u, vt;
  gesvd(std::move(a), n, n, falling, u, vt);
  values.clear();
  vectors.clear();
  for (int64_t j = n - 1; j >= 0; --j) {
    values.push_back(falling[size_t(j)] - 2 * shift);
    vectors.insert(vectors.end(), u.begin() + j * n, u.begin() + (j + 1) * n);
  }
}

}  // namespace cusolver
