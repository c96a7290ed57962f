// What moves bytes for a group, by its name: threads of this process, Gloo by its adaptor library,
// MPI and NCCL, which are opened when they are first asked for.
#pragma once
#include <string>

#include "dist/provider.h"

namespace flambeau::dist {

const flam_dist_provider& local_provider();
const flam_dist_provider& gloo_provider();  // throws Error(library missing)
const flam_dist_provider& mpi_provider();
const flam_dist_provider& nccl_provider();

// What a group's backend names, by kind of device: "gloo" and "mpi" move tensors of all, "nccl"
// those of GPUs, "cpu:gloo,cuda:nccl" says it for each, and the empty text is that.
struct Backend {
  const flam_dist_provider* provider = nullptr;  // through host memory
  const flam_dist_provider* streams = nullptr;   // on streams, for GPUs; null: `provider` has them
  bool cpu = false, gpu = false;                 // whose tensors are moved
  std::string why_no_gpu;                        // a GPU's backend was named, and is not there
};

// Simulated GPUs have no NCCL: Gloo answers for it. A group of one rank needs no library. Of two
// names at most one moves the tensors of GPUs on their streams. Throws
// Error(invalid argument) for other names, and of a backend that is not there what is missing.
Backend backend(const std::string& name, int size);

}  // namespace flambeau::dist
