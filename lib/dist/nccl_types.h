// What a call's dtype and reduction are to NCCL. bool is a byte of 0 or 1 there, and reduced so
// that it stays one; a dtype that NCCL does not know is moved as bytes and not reduced.
#pragma once
#include "dist/call.h"
#include "dist/nccl_communicator.h"

namespace flambeau::dist {

struct NcclType {
  nccl::Datatype datatype;
  size_t each;  // of NCCL's elements in one of the call's
};

// Throws NcclFailure(unsupported) where the call reduces what NCCL cannot.
NcclType nccl_type(const flam_dist_call& call);
nccl::Operation nccl_operation(const flam_dist_call& call);  // but premul_sum's

// The factor of premul_sum as a number of the call's dtype.
class NcclScalar {
 public:
  explicit NcclScalar(const flam_dist_call& call);
  void* data() { return bytes_; }

 private:
  alignas(8) unsigned char bytes_[8] = {};
};

}  // namespace flambeau::dist
