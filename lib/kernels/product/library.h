// Products by a vendor's library (cuBLASLt), where a device has one. It takes matrices that lie in
// rows or in columns and a batch of one stride; what does not lie so is copied once, so that one
// path has the library's choice of algorithms.
#pragma once
#include "kernels/product/batch.h"

namespace flambeau {

// Whether the device has a library for this dtype. That it has an algorithm is not said.
bool library_multiplies(const Tensor& out);

// The same product of operands that the library takes: those that were given, or copies of them.
class LibraryOperands {
 public:
  LibraryOperands(GemmTensors given, double beta, bool b_transposed);
  GemmTensors tensors() const { return all_; }
  const GemmArgs& matrices() const { return matrices_; }
  void finish() const;  // brings the product to its place, where it was computed elsewhere

 private:
  void replace(int operand, Tensor by);
  void point(int operand, const Tensor& to);
  void lay_matrices();
  void merge_batches();
  void lay_addend(double beta);

  const bool b_transposed_;
  const Tensor& out_;
  const Tensor* all_[4];
  Tensor made_[4];
  GemmArgs matrices_;  // of all_, without batches
};

// One product, with at most one batch dimension; false, and nothing is done, where the library
// cannot compute it. `row_sums`: null, or where those of a go.
bool launch_library(const GemmArgs& g, const Tensor& out, void* row_sums = nullptr);

}  // namespace flambeau
