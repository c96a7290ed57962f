// Gloo's collectives called with bytes; what Gloo has no call for is made of its sends in
// exchange.cc. Ranks' terms are added in the order of the ranks, so that a result does not depend
// on who came first and is the same on all of them.
#include "dist/gloo/transfers.h"

#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/reduce.h>
#include <gloo/scatter.h>

#include "dist/gloo/exchange.h"

namespace flambeau::gloo_adaptor {
namespace {

using Bytes = uint8_t;

std::chrono::milliseconds limit(const flam_dist_call& call) {
  return std::chrono::milliseconds(call.timeout_ms);
}

template <class Options> Options options_of(const Communicator& c, const flam_dist_call& call) {
  Options o(c.mesh());
  o.setTag(uint32_t(call.tag ^ call.tag >> 32));
  o.setTimeout(limit(call));
  return o;
}

Bytes* input(const flam_dist_call& call) {  // Gloo takes what it only reads without const
  return const_cast<Bytes*>(static_cast<const Bytes*>(call.in));
}
Bytes* output(const flam_dist_call& call) { return static_cast<Bytes*>(call.out); }
size_t bytes(const flam_dist_call& call) { return call.count * call.element_size; }

// Gloo learns the size of an element from a type.
template <class F> void with_element(const flam_dist_call& call, F f) {
  switch (call.element_size) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    case 8:
      return f(uint64_t{});
    default:
      throw ::gloo::InvalidOperationException("elements of an unknown size");
  }
}

template <class Options> void set_reduction(Options& o, const flam_dist_call& call) {
  o.setReduceFunction([&call](void* out, const void* a, const void* b, size_t n) {
    call.reduce(&call, out, a, b, n);
  });
}

}  // namespace

void all_reduce(Communicator& c, const flam_dist_call& call) {
  if (c.eager() && bytes(call) <= c.eager()->most()) return exchange_and_sum(c, call);
  auto o = options_of<::gloo::AllreduceOptions>(c, call);
  with_element(call, [&]<class T>(T) {
    if (call.in != call.out) o.setInput(reinterpret_cast<T*>(input(call)), call.count);
    o.setOutput(reinterpret_cast<T*>(output(call)), call.count);
  });
  set_reduction(o, call);
  ::gloo::allreduce(o);
}

void reduce(Communicator& c, const flam_dist_call& call) {
  // Gloo's needs an output on every rank, for what passes through.
  std::vector<Bytes> passing(c.rank() == call.peer ? 0 : bytes(call));
  Bytes* out = c.rank() == call.peer ? output(call) : passing.data();
  auto o = options_of<::gloo::ReduceOptions>(c, call);
  with_element(call, [&]<class T>(T) {
    o.setInput(reinterpret_cast<T*>(input(call)), call.count);
    o.setOutput(reinterpret_cast<T*>(out), call.count);
  });
  o.setRoot(call.peer);
  set_reduction(o, call);
  ::gloo::reduce(o);
}

void broadcast(Communicator& c, const flam_dist_call& call) {
  auto o = options_of<::gloo::BroadcastOptions>(c, call);
  o.setOutput(output(call), bytes(call));
  o.setRoot(call.peer);
  ::gloo::broadcast(o);
}

void scatter(Communicator& c, const flam_dist_call& call) {
  auto o = options_of<::gloo::ScatterOptions>(c, call);
  if (c.rank() == call.peer) {
    std::vector<Bytes*> parts(c.size());
    for (int r = 0; r < c.size(); r++)
      parts[r] = call.in_parts ? static_cast<Bytes*>(const_cast<void*>(call.in_parts[r]))
                               : input(call) + r * bytes(call);
    o.setInputs(parts, bytes(call));
  }
  o.setOutput(output(call), bytes(call));
  o.setRoot(call.peer);
  ::gloo::scatter(o);
}

void barrier(Communicator& c, const flam_dist_call& call) {
  if (c.eager()) return c.within(call, [&] { c.eager()->exchange(call.tag, nullptr, 0); });
  auto o = options_of<::gloo::BarrierOptions>(c, call);
  ::gloo::barrier(o);
}

}  // namespace flambeau::gloo_adaptor
