// Data parallel training at the ABI. See ddp.h.
#include "flambeau/ddp.h"

#include <cmath>

#include "capi/callback.h"
#include "capi/gen/targets.h"
#include "capi/scope_stack.h"
#include "dist/agreement.h"
#include "dist/reducer.h"
#include "nn/module.h"

flam_ddp::flam_ddp(flambeau::Ref<flambeau::dist::Reducer> r) : reducer(std::move(r)) {}
flam_ddp::~flam_ddp() = default;

namespace flambeau::capi {
namespace {

class ProgramHookOfDdp final : public dist::CommHook {
 public:
  explicit ProgramHookOfDdp(const flam_ddp_hook* given)
      : table_(sized_copy(given, "flam_ddp_hook")), owner_(table_.user, table_.drop) {
    check(table_.begin && table_.finish, Code::invalid_argument,
          "ddp_register_hook: the hook has no begin or no finish function");
  }

  Ref<dist::PendingReduction> begin(dist::Reducer& reducer, size_t bucket) override {
    auto begun = make_ref<Pending>(Ref<ProgramHookOfDdp>::share(this));
    const Tensor buffer = reducer.bucket(bucket).flat;
    HostCall call;
    const flam_status status = table_.begin(table_.user, bucket, handle(buffer), &begun->pending);
    call.let_go();
    call.check("a communication hook", status);
    return begun;
  }

 private:
  class Pending final : public dist::PendingReduction {
   public:
    explicit Pending(Ref<ProgramHookOfDdp> hook) : hook_(std::move(hook)) {}
    ~Pending() override {
      const auto drop = hook_->table_.drop_pending;
      if (!drop || !pending) return;
      HostCall call;
      drop(hook_->table_.user, pending);
      call.let_go();
    }
    Tensor wait() override {
      const flam_ddp_hook& table = hook_->table_;
      return call_back(
          "a communication hook",
          [&](flam_tensor** out) { return table.finish(table.user, pending, out); },
          Result::optional);
    }

    void* pending = nullptr;

   private:
    const Ref<ProgramHookOfDdp> hook_;
  };

  const flam_ddp_hook table_;
  Callback owner_;
};

size_t bytes_of(const char* name, double mib) {
  check(mib > 0 && std::isfinite(mib), Code::invalid_argument, "ddp_new: ", name,
        " must be a positive number of MiB, got ", mib);
  return size_t(std::min(mib, 1e9) * (1 << 20));
}

dist::Reducer::Named named(const State& state) {
  dist::Reducer::Named n;
  for (const auto& [name, t] : state.entries) {
    n.names.push_back(name);
    n.tensors.push_back(t);
  }
  return n;
}

dist::Reducer& of(const flam_ddp* ddp) { return *ddp->reducer; }

}  // namespace

Ref<flam_ddp> ddp_of(const flam_group* group, const flam_state* parameters,
                     const flam_state* buffers, bool init_sync, bool broadcast_buffers,
                     bool find_unused_parameters, bool static_graph, bool gradient_as_bucket_view,
                     double bucket_cap_mb, double first_bucket_mb) {
  dist::ReducerOptions options;
  options.limits = {bytes_of("first_bucket_mb", first_bucket_mb),
                    bytes_of("bucket_cap_mb", bucket_cap_mb)};
  options.init_sync = init_sync;
  options.broadcast_buffers = broadcast_buffers;
  options.find_unused_parameters = find_unused_parameters;
  options.static_graph = static_graph;
  options.gradient_as_bucket_view = gradient_as_bucket_view;
  const std::vector<Tensor> none;
  return make_ref<flam_ddp>(make_ref<dist::Reducer>(
      group->group, named(*parameters), buffers ? buffers->entries.tensors() : none, options));
}

Ref<flam_ddp> ddp_new(const flam_group* group, const flam_module* module, bool init_sync,
                      bool broadcast_buffers, bool find_unused_parameters, bool static_graph,
                      bool gradient_as_bucket_view, double bucket_cap_mb, double first_bucket_mb) {
  return ddp_of(group, nn::named_parameters(*module, true).get(),
                nn::named_buffers(*module, true).get(), init_sync, broadcast_buffers,
                find_unused_parameters, static_graph, gradient_as_bucket_view, bucket_cap_mb,
                first_bucket_mb);
}

void ddp_prepare_forward(flam_ddp* ddp) { of(ddp).prepare_forward(); }
void ddp_prepare_backward(flam_ddp* ddp, TensorsView outputs) { of(ddp).prepare_backward(outputs); }

flam_scope ddp_no_sync_push(flam_ddp* ddp) {
  const Ref<dist::Reducer> reducer = ddp->reducer;
  const bool before = reducer->synchronizing();
  const flam_scope scope = push_scope([reducer, before] { reducer->set_synchronizing(before); });
  reducer->set_synchronizing(false);
  return scope;
}

void ddp_set_sync(flam_ddp* ddp, bool enabled) { of(ddp).set_synchronizing(enabled); }
void ddp_set_static_graph(flam_ddp* ddp) { of(ddp).set_static_graph(); }

void ddp_set_divisor(flam_ddp* ddp, double divisor) {
  check(divisor > 0 && std::isfinite(divisor), Code::invalid_argument,
        "ddp_set_divisor: expected a positive number, got ", divisor);
  of(ddp).set_divisor(divisor);
}

void ddp_shadow(flam_ddp* ddp) { of(ddp).shadow(); }

void ddp_broadcast(flam_ddp* ddp, TensorsView tensors, int64_t root) {
  of(ddp).broadcast(tensors, int(std::clamp<int64_t>(root, -1, INT32_MAX)));
}

size_t ddp_bucket_count(const flam_ddp* ddp) { return of(ddp).bucket_count(); }

Tensor ddp_bucket_buffer(const flam_ddp* ddp, size_t bucket) { return of(ddp).bucket(bucket).flat; }

void ddp_bucket_set_buffer(flam_ddp* ddp, size_t bucket, const Tensor& buffer) {
  of(ddp).bucket(bucket).set_flat(buffer, of(ddp).parameters());
}

Ref<flam_tensor_list> ddp_bucket_gradients(const flam_ddp* ddp, size_t bucket) {
  return make_list(of(ddp).bucket(bucket).views);
}

Ref<flam_tensor_list> ddp_bucket_parameters(const flam_ddp* ddp, size_t bucket) {
  std::vector<Tensor> parameters;
  for (const size_t i : of(ddp).bucket(bucket).members)
    parameters.push_back(of(ddp).parameters()[i]);
  return make_list(std::move(parameters));
}

void ddp_register_hook(flam_ddp* ddp, const flam_ddp_hook* hook) {
  of(ddp).set_hook(make_ref<ProgramHookOfDdp>(hook));
}

void ddp_compress(flam_ddp* ddp, Dtype dtype) { of(ddp).set_hook(dist::compressing_hook(dtype)); }

}  // namespace flambeau::capi
