// A product as its objects describe it: whether they fit together, what it is told apart by, and
// how much memory each operand spans.
#pragma once
#include <string>

#include "objects.h"

namespace cublaslt {

struct Problem {
  int device;
  flambeau::cuda::lt::DescTag desc;
  flambeau::cuda::lt::LayoutTag a, b, c, d;
};

std::string misfit(const Problem& p);    // empty: none
uint64_t fingerprint(const Problem& p);  // of all but the bias' address

bool sums(const Problem& p);               // over k, of a's rows or of b's columns
size_t bytes_of_vector(const Problem& p);  // of the bias or of the sums
size_t bytes_of_aux(const Problem& p);
size_t bytes_of(int type);
// From the first to the last element that is read or written.
size_t bytes_of(const flambeau::cuda::lt::LayoutTag& l);

}  // namespace cublaslt
