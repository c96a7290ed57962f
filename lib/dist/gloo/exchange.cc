// Sums made where all terms have come, and parts that go to and come from everywhere. See
// exchange.h.
#include "dist/gloo/exchange.h"

#include <algorithm>
#include <cstring>
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

// Whom a rank sends to in its k-th turn, and from whom it receives: everyone else in one of them.
int after(const Communicator& c, int k) { return (c.rank() + k) % c.size(); }
int before(const Communicator& c, int k) { return (c.rank() + c.size() - k) % c.size(); }

struct Piece {
  uint8_t* data = nullptr;
  size_t bytes = 0;
};
using Pieces = std::vector<Piece>;  // by rank

Pieces pieces(const Communicator& c, const flam_dist_call& call, const void* whole,
              const void* const* parts, const uint64_t* counts) {
  Pieces all(c.size());
  auto* at = const_cast<uint8_t*>(static_cast<const uint8_t*>(whole));
  for (int r = 0; r < c.size(); r++) {
    all[r].bytes = (counts ? counts[r] : call.count) * call.element_size;
    all[r].data = parts ? const_cast<uint8_t*>(static_cast<const uint8_t*>(parts[r])) : at;
    if (!parts) at += all[r].bytes;
  }
  return all;
}

// Gives each rank its piece and takes one of each, all under way at once. Pieces whose sizes two
// ranks see differently have different slots: they never meet, and the call ends at its deadline
// instead of with a piece that is short.
void move(Communicator& c, const flam_dist_call& call, const Pieces& give, const Pieces& take) {
  const auto where = [&](const Piece& piece) {
    return slot(Slots::parts, call.tag ^ piece.bytes * 0x9e3779b97f4a7c15);
  };
  std::vector<Buffer> sent, received;
  for (int k = 1; k < c.size(); k++) {
    if (const Piece& piece = take[before(c, k)]; piece.bytes) {
      received.push_back(c.buffer(piece.data, piece.bytes));
      received.back()->recv(before(c, k), where(piece), 0, piece.bytes);
    }
    if (const Piece& piece = give[after(c, k)]; piece.bytes) {
      sent.push_back(c.buffer(piece.data, piece.bytes));
      sent.back()->send(after(c, k), where(piece), 0, piece.bytes);
    }
  }
  const Piece &from = give[c.rank()], &to = take[c.rank()];
  if (to.bytes && to.data != from.data) std::memmove(to.data, from.data, to.bytes);
  const std::chrono::milliseconds limit(call.timeout_ms);
  for (const Buffer& buffer : received) buffer->waitRecv(nullptr, limit);
  for (const Buffer& buffer : sent) buffer->waitSend(nullptr, limit);
}

}  // namespace

void exchange_and_sum(Communicator& c, const flam_dist_call& call) {
  c.within(call, [&] {
    const auto terms = c.eager()->exchange(call.tag, call.in, call.count * call.element_size);
    sum(c, call, static_cast<uint8_t*>(call.out), terms.own, terms.first, terms.stride, call.count);
  });
}

void reduce_scatter(Communicator& c, const flam_dist_call& call) {
  const size_t part = call.count * call.element_size, stride = std::min(part, kSegment);
  const uint64_t step = kSegment / call.element_size;
  const Pieces in = pieces(c, call, call.in, call.in_parts, nullptr);
  std::vector<uint8_t> terms(c.size() * stride);
  std::vector<Buffer> sent;
  for (const Piece& piece : in) sent.push_back(c.buffer(piece.data, part));
  const Buffer received = c.buffer(terms.data(), terms.size());
  const std::chrono::milliseconds limit(call.timeout_ms);
  const uint64_t where = slot(Slots::parts, call.tag);
  for (uint64_t begin = 0; begin < call.count; begin += step) {
    const uint64_t n = std::min(step, call.count - begin);
    const size_t at = begin * call.element_size, bytes = n * call.element_size;
    for (int k = 1; k < c.size(); k++) {
      received->recv(before(c, k), where, before(c, k) * stride, bytes);
      sent[after(c, k)]->send(after(c, k), where, at, bytes);
    }
    for (int k = 1; k < c.size(); k++) received->waitRecv(nullptr, limit);
    for (int k = 1; k < c.size(); k++) sent[after(c, k)]->waitSend(nullptr, limit);
    sum(c, call, static_cast<uint8_t*>(call.out) + at, in[c.rank()].data + at, terms.data(), stride,
        n);
  }
}

// Gloo has these with one piece of memory for all parts. Here ranks may differ in whether theirs
// are apart.
void all_gather(Communicator& c, const flam_dist_call& call) {
  const Pieces own(c.size(), {const_cast<uint8_t*>(static_cast<const uint8_t*>(call.in)),
                              call.count * call.element_size});
  move(c, call, own, pieces(c, call, call.out, call.out_parts, nullptr));
}

void gather(Communicator& c, const flam_dist_call& call) {
  Pieces own(c.size()), all(c.size());
  own[call.peer] = {const_cast<uint8_t*>(static_cast<const uint8_t*>(call.in)),
                    call.count * call.element_size};
  if (c.rank() == call.peer) all = pieces(c, call, call.out, call.out_parts, nullptr);
  move(c, call, own, all);
}

void all_to_all(Communicator& c, const flam_dist_call& call) {
  move(c, call, pieces(c, call, call.in, call.in_parts, call.in_counts),
       pieces(c, call, call.out, call.out_parts, call.out_counts));
}

}  // namespace flambeau::gloo_adaptor
