// See join.h.
#include "kernels/map/join.h"

#include <vector>

#include "kernels/access.h"
#include "kernels/map/map.h"

namespace flambeau {

constinit Kernel kJoin{"cat"};

namespace {

// From one index of the dimensions before dim to the next, in elements, where these are one and
// those from dim on are dense; else -1.
int64_t row_stride(const Tensor& t, size_t dim) {
  int64_t dense = 1, rows = 1, stride = 0;
  bool plain = true;
  for (size_t d = t.sizes().size(); d-- > 0;) {
    const int64_t n = t.sizes()[d], step = t.strides()[d];
    if (n == 1) continue;
    if (d >= dim) {
      plain &= step == dense;
      dense *= n;
    } else {
      if (rows == 1) stride = step;
      plain &= step == stride * rows;
      rows *= n;
    }
  }
  return plain ? stride : -1;
}

int64_t rows_of(const Tensor& t, size_t dim) {
  int64_t rows = 1;
  for (size_t d = 0; d < dim; ++d) rows *= t.sizes()[d];
  return rows;
}

// Whether the parts are rows of bytes; of the host's, long enough to be copied one by one.
bool plan(std::span<const Joined> parts, size_t dim, JoinArgs& a) {
  constexpr int64_t kWorthwhile = 64;                  // bytes of a part, on average
  constexpr int64_t kMostOnDevice = int64_t{1} << 31;  // which counts in 32 bits
  if (parts.size() < 2 || parts.size() > kJoinParts) return false;
  const Device device = parts[0].to.device();
  a.rows = rows_of(parts[0].to, dim);
  a.bytes = 0;
  a.parts = 0;
  if (a.rows < 2 && device.is_cpu()) return false;
  for (const Joined& p : parts) {
    if (p.to.numel() == 0) continue;
    if (p.to.device() != device || p.from.device() != device || p.to.dtype() != p.from.dtype())
      return false;
    const int64_t width = int64_t(p.to.element_size()), bytes = p.to.numel() / a.rows * width;
    const int64_t to = row_stride(p.to, dim), from = row_stride(p.from, dim);
    if (to < 0 || from < 0) return false;
    a.part[a.parts++] = {static_cast<char*>(p.to.data()), static_cast<const char*>(p.from.data()),
                         to * width, from * width, bytes};
    a.bytes += bytes;
  }
  if (a.parts < 2) return false;
  return device.is_cpu() ? a.bytes >= kWorthwhile * a.parts : a.rows * a.bytes < kMostOnDevice;
}

}  // namespace

void run_join(std::span<const Joined> parts, size_t dim) {
  const size_t most = kJoinParts;
  if (parts.size() > most && !parts[0].to.device().is_cpu()) {
    run_join(parts.first(most), dim);
    return run_join(parts.subspan(most), dim);
  }
  JoinArgs a;
  if (plan(parts, dim, a)) {
    std::vector<Access> accesses;
    for (const Joined& p : parts) {
      accesses.push_back(writes(p.to));
      accesses.push_back(reads(p.from));
    }
    const Device device = parts[0].to.device();
    return launch_kernel("cat", kJoin.find("cat", device, Dtype::u8), device, a,
                         std::span<const Access>(accesses));
  }
  for (const Joined& p : parts) run_cast(p.to, p.from);
}

}  // namespace flambeau
