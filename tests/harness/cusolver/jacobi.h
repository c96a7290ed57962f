// Eigenvalues and singular values by Jacobi's rotations, as the stand-in for cuSOLVER finds them:
// dense matrices of f64, column by column.
#pragma once
#include <cstdint>
#include <vector>

namespace cusolver {

// Of a symmetric matrix [n, n], rising, and its vectors [n, n].
void syevd(std::vector<double> a, int64_t n, std::vector<double>& values,
           std::vector<double>& vectors);

// Of a matrix [m, n] with m >= n, falling; u [m, m] and vt [n, n].
void gesvd(std::vector<double> a, int64_t m, int64_t n, std::vector<double>& values,
           std::vector<double>& u, std::vector<double>& vt);

}  // namespace cusolver
