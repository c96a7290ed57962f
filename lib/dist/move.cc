// One collective through a group's provider: operands as host memory, the call, results back.
#include "device/streams.h"
#include "dist/arithmetic.h"
#include "dist/group.h"
#include "dist/provided.h"
#include "dist/staging.h"
#include "engine/pass_time.h"
#include "ops/ops.h"

namespace flambeau::dist {
namespace {

void scale(void* data, int64_t count, Dtype dtype, double by) {
  if (count) ops::mul_(over(data, count, dtype), wrapped_number(by));
}

// Whether a call's outputs, or its inputs, are a part for each rank.
bool has_parts(Kind kind, bool output) {
  if (kind == Kind::all_to_all) return true;
  return output ? kind == Kind::all_gather || kind == Kind::gather
                : kind == Kind::scatter || kind == Kind::reduce_scatter;
}

// Whether what is written lies in what is read, which parts that are written as they come forbid.
bool overlap(const Call& call) {
  const auto begin = [](const Tensor& t) { return static_cast<const uint8_t*>(t.data()); };
  const auto end = [&](const Tensor& t) { return begin(t) + t.nbytes(); };
  for (const Tensor& in : call.in)
    for (const Tensor& out : call.out)
      if (begin(in) < end(out) && begin(out) < end(in)) return true;
  return false;
}

// The operations that are sums with one factor more, before or after.
struct Factors {
  double before = 1, after = 1;
  Factors(const Call& call, int size) {
    if (call.what.op == ReduceOp::premul_sum) before = call.factor;
    if (call.what.op == ReduceOp::avg) after = 1.0 / size;
  }
};

}  // namespace

// On a stream of its own where the caller goes on, so that what it enqueues next need not wait.
std::optional<Event> Group::move(Task& task) {
  Call& call = task.call;
  const Tensor* first = !call.in.empty() ? &call.in[0] : !call.out.empty() ? &call.out[0] : nullptr;
  const bool on_device = first && !first->device().is_cpu();
  std::optional<StreamScope> stream;
  if (on_device && task.before) {
    const Stream side = create_stream(first->device());
    task.before->wait(side);
    for (const auto* list : {&call.in, &call.out})
      for (const Tensor& t : *list) record_stream(t.storage()->block(), side);
    stream.emplace(side);
  }
  const What& what = call.what;
  const Factors factors(call, size());
  const bool own = !call.in.empty();
  const auto as = [&](const std::vector<Tensor>& list, bool output) {
    const bool apart = provider_->takes_parts && list.size() > 1 && has_parts(what.kind, output) &&
                       factors.before == 1 && !on_device && !overlap(call);
    return apart ? Staged::As::host_parts : Staged::As::host;
  };
  const Staged out(call.out, reads_results(call), as(call.out, true));
  const Staged in(call.in, true, as(call.in, false));
  flam_dist_call c = described(call, what.tag(task.sequence), task.timeout);
  c.in = own ? in.data() : out.data();
  c.out = out.data();
  c.in_parts = in.parts();
  c.out_parts = out.parts();
  if (what.op != ReduceOp::none) c.reduce = reduction(what.op, what.dtype);
  std::vector<uint8_t> scaled;
  if (factors.before != 1) {
    const int64_t all = what.count * (what.kind == Kind::reduce_scatter ? size() : 1);
    if (own) {
      const auto* bytes = static_cast<const uint8_t*>(c.in);
      scaled.assign(bytes, bytes + all * c.element_size);
      c.in = scaled.data();
    }
    scale(const_cast<void*>(c.in), all, what.dtype, factors.before);
  }
  flam_dist_text why{};
  {
    const pass_time::Waiting waiting;
    const Begun begun;
    const auto result = function_of(*provider_, what.kind)(communicator_, &c, &why);
    if (result != FLAM_DIST_OK) explain(task.sequence, what, task.timeout, result, why.text);
    task.ended_ns = account_->add(call, task.sequence, task.origin, begun, true);
  }
  const bool receives = what.kind != Kind::reduce || what.peer == rank_;
  if (factors.after != 1 && receives) scale(c.out, what.count, what.dtype, factors.after);
  out.write_back();
  if (!stream) return {};
  Event ready(first->device());
  ready.record(current_stream(first->device()));
  return ready;
}

}  // namespace flambeau::dist
