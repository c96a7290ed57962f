// Groups, collectives and works at the ABI. See distributed.h.
#include "flambeau/distributed.h"

#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "base/interrupt.h"
#include "capi/callback.h"
#include "capi/gen/targets.h"
#include "dist/collectives.h"
#include "dist/mail.h"
#include "dist/providers.h"
#include "dist/rendezvous.h"
#include "graph/interruption.h"

namespace flambeau::capi {
namespace {

dist::Millis milliseconds(double seconds) {
  check(seconds > 0 && std::isfinite(seconds), Code::invalid_argument,
        "a group's timeout must be a positive number of seconds, got ", seconds);
  return dist::Millis(int64_t(std::ceil(std::min(seconds, 1e9) * 1000)));
}

dist::GroupOptions options_of(std::string_view backend, std::string_view name, double timeout) {
  check(name.find_first_of(" \t\r\n") == name.npos, Code::invalid_argument,
        "a group's name has no white space, got \"", name, '"');
  return {std::string(backend), std::string(name), milliseconds(timeout)};
}

Ref<flam_work> handle(Ref<dist::Work> work) { return make_ref<flam_work>(std::move(work)); }
void check_range(int64_t rank, int64_t size) {
  check(size >= 1 && size <= INT32_MAX, Code::invalid_argument,
        "a group has from 1 to 2147483647 ranks, got a size of ", size);
  check(rank >= 0 && rank < size, Code::invalid_argument, "rank ", rank, " is not in a group of ",
        size);
}

dist::Reduction reduction(int32_t op, double factor) { return {dist::ReduceOp(op), factor}; }
dist::Group& of(const flam_group* group) { return *group->group; }

class CallbackSource final : public InterruptSource {
 public:
  explicit CallbackSource(const flam_interrupt_callback& table)
      : owner_(table.user, table.drop), table_(table) {}
  void check() override {
    const Interruption waiting;
    const HostCall call;
    call.check("an interrupt's function", table_.check(table_.user));
  }

 private:
  Callback owner_;
  flam_interrupt_callback table_;
};

// What bindings tell each other on the engine's own tag is counted as little as its mail.
struct UncountedMail {
  explicit UncountedMail(int64_t tag) {
    if (tag == dist::kMailTag) own.emplace(dist::Purpose::own);
  }
  std::optional<dist::PurposeScope> own;
};

}  // namespace

Ref<flam_group> group_new(const flam_store* store, int64_t rank, int64_t size,
                          std::string_view backend, std::string_view name, double timeout) {
  check_range(rank, size);
  return make_ref<flam_group>(
      dist::Group::join(store->store, int(rank), int(size), options_of(backend, name, timeout)));
}

Ref<flam_group> group_init(std::string_view method, std::string_view backend, double timeout,
                           int64_t rank, int64_t world_size) {
  const dist::GroupOptions options = options_of(backend, "", timeout);
  dist::backend(options.backend, 1);  // a name that is not known needs no other rank to be refused
  const bool by_mpi = backend == "mpi" && rank < 0 && world_size < 0 && method == "env://";
  const auto found =
      by_mpi ? dist::find_others_by_mpi(options.timeout)
             : dist::find_others(std::string(method), rank, world_size, options.timeout);
  check_range(found.rank, found.size);
  return make_ref<flam_group>(
      dist::Group::join(found.store, int(found.rank), int(found.size), options));
}

Ref<flam_group> group_split(const flam_group* group, DimsView ranks, std::string_view backend,
                            std::string_view name, double timeout) {
  for (const int64_t r : ranks) check_range(r, of(group).size());
  const std::vector<int32_t> own(ranks.begin(), ranks.end());
  return make_ref<flam_group>(of(group).split(own, options_of(backend, name, timeout)));
}

bool backend_is_available(std::string_view backend) {
  try {
    dist::backend(std::string(backend), 2);
    return true;
  } catch (const Error&) {
    return false;
  }
}

int64_t group_rank(const flam_group* group) { return of(group).rank(); }
int64_t group_size(const flam_group* group) { return of(group).size(); }
int64_t group_world_rank(const flam_group* group, int64_t rank) {
  const auto& ranks = of(group).world_ranks();
  return rank >= 0 && size_t(rank) < ranks.size() ? ranks[size_t(rank)] : -1;
}
Ref<flam_store> group_store(const flam_group* group) {
  return make_ref<flam_store>(
      dist::prefix_store("program", of(group).world().store_ref()->clone()));
}

const char* group_backend(const flam_group* group) { return of(group).backend_name().c_str(); }
const char* group_name(const flam_group* group) { return of(group).name().c_str(); }
void group_set_timeout(const flam_group* group, double timeout) {
  of(group).set_timeout(milliseconds(timeout));
}
void group_leave(const flam_group* group) { of(group).leave(); }
void group_set_place(std::string_view place) { dist::set_place(place); }

Ref<flam_work> group_all_reduce(const flam_group* group, TensorsView tensors, int32_t op,
                                double factor, bool async_op) {
  return handle(dist::all_reduce(of(group), tensors, reduction(op, factor), async_op));
}
Ref<flam_work> group_reduce(const flam_group* group, const Tensor& tensor, int64_t root, int32_t op,
                            double factor, bool async_op) {
  return handle(dist::reduce(of(group), tensor, root, reduction(op, factor), async_op));
}
Ref<flam_work> group_broadcast(const flam_group* group, TensorsView tensors, int64_t root,
                               bool async_op) {
  return handle(dist::broadcast(of(group), tensors, root, async_op));
}
Ref<flam_work> group_all_gather(const flam_group* group, TensorsView outputs, const Tensor& input,
                                bool async_op) {
  return handle(dist::all_gather(of(group), outputs, input, async_op));
}
Ref<flam_work> group_gather(const flam_group* group, TensorsView outputs, const Tensor& input,
                            int64_t root, bool async_op) {
  return handle(dist::gather(of(group), outputs, input, root, async_op));
}
Ref<flam_work> group_scatter(const flam_group* group, const Tensor& output, TensorsView inputs,
                             int64_t root, bool async_op) {
  return handle(dist::scatter(of(group), output, inputs, root, async_op));
}
Ref<flam_work> group_reduce_scatter(const flam_group* group, const Tensor& output,
                                    TensorsView inputs, int32_t op, double factor, bool async_op) {
  return handle(dist::reduce_scatter(of(group), output, inputs, reduction(op, factor), async_op));
}
Ref<flam_work> group_all_to_all(const flam_group* group, TensorsView outputs, TensorsView inputs,
                                DimsView output_splits, DimsView input_splits, bool async_op) {
  return handle(
      dist::all_to_all(of(group), outputs, inputs, output_splits, input_splits, async_op));
}
Ref<flam_work> group_barrier(const flam_group* group, bool async_op) {
  return handle(dist::barrier(of(group), async_op));
}
Ref<flam_work> group_send(const flam_group* group, const Tensor& tensor, int64_t to, int64_t tag) {
  const UncountedMail scope(tag);
  return handle(dist::send(of(group), tensor, to, tag));
}
Ref<flam_work> group_recv(const flam_group* group, const Tensor& tensor, int64_t from,
                          int64_t tag) {
  const UncountedMail scope(tag);
  return handle(dist::recv(of(group), tensor, from, tag));
}

void group_start_coalescing(const flam_group* group) { of(group).start_coalescing(); }
void group_end_coalescing(const flam_group* group) { of(group).end_coalescing(); }

bool work_done(const flam_work* work) { return work->work->done(); }
bool work_is_stream_ordered(const flam_work* work) { return work->work->stream_ordered(); }
void work_wait(const flam_work* work, double timeout) {
  if (timeout < 0)
    work->work->wait();
  else
    work->work->wait(dist::Millis(int64_t(std::ceil(std::min(timeout, 1e9) * 1000))));
}

void set_interrupt_callback(const flam_interrupt_callback* callback) {
  if (!callback) return set_interrupt_source(nullptr);
  const auto table = sized_copy(callback, "flam_interrupt_callback");
  auto source = std::make_shared<CallbackSource>(table);
  check(table.check, Code::invalid_argument, "flam_interrupt_callback: check is missing");
  set_interrupt_source(std::move(source));
}

int64_t work_source(const flam_work* work) { return work->work->source(); }

}  // namespace flambeau::capi
