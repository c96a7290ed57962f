// The kernels' side of report.h: a checked index, on every target.
#pragma once
#include "kernels/report/report.h"
#include "kernels/types.h"
#if defined(FLAM_DEVICE_SOURCE)
#include "kernels/cuda_launch.h"
#endif

namespace flambeau::FLAM_TARGET {

#if defined(FLAM_DEVICE_SOURCE)
#define FLAM_KERNEL_FN __device__ inline

// `at`; 0 and a report of `index` where it is out of range.
FLAM_KERNEL_FN int64_t in_range(const char* op, Report* report, int64_t at, int64_t index, int dim,
                                int64_t size) {
  if (at >= 0 && at < size) return at;
  if (atomicCAS(&report->state, Report::none, Report::claimed) == Report::none) {
    report->dim = dim;
    report->index = index;
    report->size = size;
    report->op = op;
    __threadfence_system();  // the host sees none of it before all of it
    atomicExch(&report->state, Report::published);
  }
  return 0;
}

#else
#define FLAM_KERNEL_FN FLAM_FN

FLAM_KERNEL_FN int64_t in_range(const char* op, Report*, int64_t at, int64_t index, int dim,
                                int64_t size) {
  if (at < 0 || at >= size) [[unlikely]]
    throw_index(op, index, dim, size);
  return at;
}

#endif

}  // namespace flambeau::FLAM_TARGET
