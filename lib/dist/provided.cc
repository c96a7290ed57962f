// See provided.h.
#include "dist/provided.h"

#include "base/error.h"

namespace flambeau::dist {

flam_dist_collective function_of(const flam_dist_provider& p, Kind kind) {
  switch (kind) {
    case Kind::all_reduce:
      return p.all_reduce;
    case Kind::reduce:
      return p.reduce;
    case Kind::broadcast:
      return p.broadcast;
    case Kind::all_gather:
      return p.all_gather;
    case Kind::gather:
      return p.gather;
    case Kind::scatter:
      return p.scatter;
    case Kind::reduce_scatter:
      return p.reduce_scatter;
    case Kind::all_to_all:
      return p.all_to_all;
    case Kind::barrier:
      return p.barrier;
    case Kind::send:
    case Kind::recv:
      break;
  }
  fail(Code::internal, "a transfer between two is no collective");
}

flam_dist_call described(const Call& call, uint64_t tag, Millis timeout) {
  const What& what = call.what;
  flam_dist_call c{};
  c.count = uint64_t(what.count);
  c.in_counts = call.in_counts.empty() ? nullptr : call.in_counts.data();
  c.out_counts = call.out_counts.empty() ? nullptr : call.out_counts.data();
  c.element_size = uint32_t(size_of(what.dtype));
  c.dtype = int32_t(what.dtype);
  c.op = int32_t(what.op);
  c.factor = call.factor;
  c.peer = what.peer;
  c.tag = tag;
  c.timeout_ms = timeout.count();
  return c;
}

bool reads_results(const Call& call) {
  return call.in.empty() && (call.what.kind == Kind::all_reduce || call.what.kind == Kind::reduce ||
                             call.what.kind == Kind::broadcast);
}

}  // namespace flambeau::dist
