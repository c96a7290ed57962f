// Sums made where all terms have come, and parts of different sizes. See exchange.h.
#include "dist/gloo/exchange.h"

#include <algorithm>
#include <vector>

#include "dist/gloo/transfers.h"

namespace flambeau::gloo_adaptor {
namespace {

using Buffer = std::unique_ptr<::gloo::transport::UnboundBuffer>;

// How much of each rank's part is under way at a time: what is added has just come and is still in
// a cache.
constexpr size_t kSegment = 256 * 1024;

// Adds up one term per rank in the order of the ranks; `own` is this rank's.
void sum(const Communicator& c, const flam_dist_call& call, uint8_t* out, const uint8_t* own,
         const uint8_t* terms, size_t stride, uint64_t n) {
  const auto term = [&](int r) { return r == c.rank() ? own : terms + r * stride; };
  const size_t bytes = n * call.element_size;
  if (c.size() == 1) {
    if (out != own) std::copy_n(own, bytes, out);
    return;
  }
  call.reduce(&call, out, term(0), term(1), n);
  for (int r = 2; r < c.size(); r++) call.reduce(&call, out, out, term(r), n);
}

}  // namespace

void exchange_and_sum(Communicator& c, const flam_dist_call& call) {
  const size_t bytes = call.count * call.element_size;
  uint8_t* const terms = c.scratch(c.size() * bytes);
  auto* const own = static_cast<uint8_t*>(const_cast<void*>(call.in));
  const Buffer sent = c.buffer(own, bytes), received = c.buffer(terms, c.size() * bytes);
  const std::chrono::milliseconds limit(call.timeout_ms);
  const uint64_t where = slot(Slots::exchange, call.tag);
  for (int k = 1; k < c.size(); k++) {
    const int to = (c.rank() + k) % c.size(), from = (c.rank() + c.size() - k) % c.size();
    received->recv(from, where, from * bytes, bytes);
    sent->send(to, where, 0, bytes);
  }
  for (int k = 1; k < c.size(); k++) received->waitRecv(nullptr, limit);
  // The sum may be made over what is sent; of more than two terms it would be before its turn.
  for (int k = 1; k < c.size(); k++) sent->waitSend(nullptr, limit);
  const uint8_t* mine = own;
  if (c.size() > 2) mine = std::copy_n(own, bytes, terms + c.rank() * bytes) - bytes;
  sum(c, call, static_cast<uint8_t*>(call.out), mine, terms, bytes, call.count);
}

void reduce_scatter(Communicator& c, const flam_dist_call& call) {
  const size_t part = call.count * call.element_size;
  const uint64_t step = kSegment / call.element_size;
  const auto* in = static_cast<const uint8_t*>(call.in);
  std::vector<uint8_t> terms(c.size() * std::min(part, kSegment));
  const size_t stride = std::min(part, kSegment);
  const Buffer sent = c.buffer(const_cast<uint8_t*>(in), part * c.size());
  const Buffer received = c.buffer(terms.data(), terms.size());
  const std::chrono::milliseconds limit(call.timeout_ms);
  const uint64_t where = slot(Slots::parts, call.tag);
  for (uint64_t begin = 0; begin < call.count; begin += step) {
    const uint64_t n = std::min(step, call.count - begin);
    const size_t at = begin * call.element_size, bytes = n * call.element_size;
    for (int k = 1; k < c.size(); k++) {
      const int to = (c.rank() + k) % c.size(), from = (c.rank() + c.size() - k) % c.size();
      received->recv(from, where, from * stride, bytes);
      sent->send(to, where, to * part + at, bytes);
    }
    for (int k = 1; k < c.size(); k++) received->waitRecv(nullptr, limit);
    for (int k = 1; k < c.size(); k++) sent->waitSend(nullptr, limit);
    sum(c, call, static_cast<uint8_t*>(call.out) + at, in + c.rank() * part + at, terms.data(),
        stride, n);
  }
}

// Parts whose sizes two ranks see differently have different slots: they never meet, and the call
// ends at its deadline instead of with a part that is short.
void all_to_all(Communicator& c, const flam_dist_call& call) {
  struct Part {
    size_t at, bytes;
  };
  const auto parts = [&](const uint64_t* counts) {
    std::vector<Part> all;
    size_t at = 0;
    for (int r = 0; r < c.size(); r++) {
      all.push_back({at, (counts ? counts[r] : call.count) * call.element_size});
      at += all.back().bytes;
    }
    return all;
  };
  const auto where = [&](const Part& part) {
    return slot(Slots::parts, call.tag ^ part.bytes * 0x9e3779b97f4a7c15);
  };
  const std::vector<Part> out = parts(call.out_counts), in = parts(call.in_counts);
  auto* from_here = static_cast<uint8_t*>(const_cast<void*>(call.in));
  auto* into = static_cast<uint8_t*>(call.out);
  const Buffer sent = c.buffer(from_here, in.back().at + in.back().bytes);
  const Buffer received = c.buffer(into, out.back().at + out.back().bytes);
  const std::chrono::milliseconds limit(call.timeout_ms);
  int sends = 0, receives = 0;
  for (int k = 1; k < c.size(); k++) {
    const int to = (c.rank() + k) % c.size(), from = (c.rank() + c.size() - k) % c.size();
    if (const Part& part = out[from]; part.bytes) {
      received->recv(from, where(part), part.at, part.bytes);
      receives++;
    }
    if (const Part& part = in[to]; part.bytes) {
      sent->send(to, where(part), part.at, part.bytes);
      sends++;
    }
  }
  std::copy_n(from_here + in[c.rank()].at, in[c.rank()].bytes, into + out[c.rank()].at);
  while (receives--) received->waitRecv(nullptr, limit);
  while (sends--) sent->waitSend(nullptr, limit);
}

}  // namespace flambeau::gloo_adaptor
