// See blas_tuning.h. Candidates write to memory of their own: the product's destination may be its
// addend, and is written once.
#include "device/cuda/blas_tuning.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "device/allocator.h"
#include "device/call.h"
#include "device/cuda/blas_key.h"
#include "device/streams.h"
#include "device/tuning.h"
#include "device/workspace.h"

namespace flambeau::cuda {
namespace {

constexpr int kCandidates = 16;

using hal::Table;

// Results of candidates, as far apart in memory as the product's.
class Scratch {
 public:
  Scratch(Device d, const hal::Matmul& p) {
    const hal::Matmul::Operand& o = p.out;
    const int64_t last = (p.m - 1) * o.row + (p.n - 1) * o.col + (p.batches - 1) * o.batch;
    const OpLabel label("matmul tuning");
    out_ = allocate(d, size_t(last + 1) * size_of(p.dtype));
    try {
      if (p.row_sums) sums_ = allocate(d, size_t(p.m) * size_of(p.dtype));
    } catch (...) {
      deallocate(out_.block);
      throw;
    }
  }
  ~Scratch() {
    deallocate(sums_.block);
    deallocate(out_.block);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  hal::SlopedMatmul redirected(hal::SlopedMatmul p) const {
    if (p.c.data == p.out.data) p.c.data = out_.data;
    p.out.data = out_.data;
    if (p.row_sums) p.row_sums = sums_.data;
    return p;
  }

 private:
  Memory out_, sums_;
};

// The device's time between two places in a stream.
class Watch {
 public:
  explicit Watch(Stream s) : stream_(s) {
    hal::call<&Table::event_create>(s.device, "event create", true, &start_);
    if (hal::try_call<&Table::event_create>(s.device, true, &end_) != hal::Status::ok) {
      hal::try_call<&Table::event_destroy>(s.device, start_);
      fail(Code::internal, "a timer for a product could not be made");
    }
  }
  ~Watch() {
    hal::try_call<&Table::event_destroy>(stream_.device, start_);
    hal::try_call<&Table::event_destroy>(stream_.device, end_);
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  void start() { record(start_); }
  double stop() {
    record(end_);
    hal::call<&Table::event_synchronize>(stream_.device, "event synchronize", end_);
    float ms = 0;
    hal::call<&Table::event_elapsed>(stream_.device, "event elapsed", start_, end_, &ms);
    return ms;
  }

 private:
  void record(void* event) {
    hal::call<&Table::event_record>(stream_.device, "event record", event, native_stream(stream_));
  }
  const Stream stream_;
  void *start_ = nullptr, *end_ = nullptr;
};

// Milliseconds of one product; none where the algorithm does not run here after all.
std::optional<double> measured(Stream s, const hal::SlopedMatmul& p, BlasProduct& product,
                               const lt::Heuristic& by) {
  const Workspace workspace(s, by.workspace, "matmul workspace");
  Watch watch(s);
  const auto times = [&](int64_t n) -> std::optional<double> {
    watch.start();
    for (int64_t i = 0; i < n; ++i) {
      const int status = product.run(p, by, workspace.data(), native_stream(s));
      if (blas_unsupported(status)) return std::nullopt;
      blas_ok(status, "a product to be measured");
    }
    return watch.stop() / double(n);
  };
  if (!times(1)) return std::nullopt;  // the first one loads its code
  const std::optional<double> once = times(1);
  if (!once) return std::nullopt;
  const double fit = double(tuning::milliseconds) / std::max(*once, 1e-6);
  const auto n = int64_t(std::min(double(tuning::iterations), fit));
  return n > 1 ? times(n) : once;
}

std::string name_of_way(const lt::Heuristic& h) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, a word at a time
  for (const uint64_t word : h.algo.data) hash = (hash ^ word) * 0x100000001b3;
  constexpr char digits[] = "0123456789abcdef";
  std::string name = "Gemm_Cublaslt_";
  for (int shift = 60; shift >= 0; shift -= 4) name += digits[hash >> shift & 15];
  return name;
}

tuning::Result kind_of(const hal::SlopedMatmul& p, int device) {
  std::string numbers;
  for (const int64_t v : key_of(p, device))
    numbers += (numbers.empty() ? "" : "_") + std::to_string(v);
  return {cat_text("GemmTunableOp_", name_of(p.dtype)), numbers, {}, 0};
}

const lt::Heuristic* fastest(Stream s, const hal::SlopedMatmul& p, BlasProduct& product,
                             const std::vector<lt::Heuristic>& candidates, tuning::Result kind) {
  const Scratch scratch(s.device, p);
  const lt::Heuristic* best = nullptr;
  for (const lt::Heuristic& candidate : candidates) {
    const auto time = measured(s, scratch.redirected(p), product, candidate);
    if (!time || (best && *time >= kind.milliseconds)) continue;
    best = &candidate;
    kind.milliseconds = *time;
  }
  if (!best) return product.algorithm();
  kind.way = name_of_way(*best);
  tuning::keep(kind);
  return product.tune(*best);
}

}  // namespace

const lt::Heuristic* tuned_algorithm(Stream s, const hal::SlopedMatmul& p, BlasProduct& product) {
  if (!product.algorithm() || (tuning::must_repeat && tuning::must_repeat()))
    return product.algorithm();
  if (const lt::Heuristic* known = product.tuned()) return known;
  if (allocator_of(s.device).capturing()) return product.algorithm();
  tuning::Result kind = kind_of(p, s.device.index);
  const std::optional<tuning::Result> known = tuning::find(kind.operation, kind.parameters);
  if (!known && !tuning::measures) return product.algorithm();
  const std::vector<lt::Heuristic> candidates = product.candidates(kCandidates);
  for (const lt::Heuristic& candidate : candidates)
    if (known && known->way == name_of_way(candidate)) return product.tune(candidate);
  if (!tuning::measures) return product.algorithm();
  try {
    return fastest(s, p, product, candidates, std::move(kind));
  } catch (const Error& e) {
    if (e.code != Code::out_of_device_memory) throw;
    return product.algorithm();  // measured when there is room
  }
}

}  // namespace flambeau::cuda
