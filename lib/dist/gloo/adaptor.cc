// libflambeau_gloo.so: Gloo's collectives behind the table of dist/provider.h. A library of its
// own, so that libflambeau.so needs neither Gloo nor the C++ library that it was built with. It
// sees nothing of the engine; reductions come with each call.
#include <cstdio>
#include <string>

#include "dist/gloo/communicator.h"
#include "dist/gloo/transfers.h"
#include "dist/provider.h"

namespace {

using flambeau::gloo_adaptor::Communicator;

void say(flam_dist_text* why, const char* text) {
  if (why) std::snprintf(why->text, sizeof why->text, "%s", text);
}

// What a failure of Gloo's is to the caller: it names the two kinds by text only.
flam_dist_result kind_of(const std::exception& e) {
  const std::string text = e.what();
  const auto says = [&](const char* part) { return text.find(part) != text.npos; };
  if (says("pair closure")) return FLAM_DIST_LOST;  // by a wait of somebody else's
  if (says("Timed out") || says("timed out") || says("timeout")) return FLAM_DIST_TIMEOUT;
  if (dynamic_cast<const gloo::IoException*>(&e)) return FLAM_DIST_LOST;
  return FLAM_DIST_FAILED;
}

template <class F> flam_dist_result guarded(flam_dist_text* why, F f) {
  try {
    return f();
  } catch (const std::exception& e) {
    say(why, e.what());
    return kind_of(e);
  } catch (...) {
    say(why, "an exception of unknown type");
    return FLAM_DIST_FAILED;
  }
}

flam_dist_result make(const flam_dist_members* members, void** communicator, flam_dist_text* why) {
  return guarded(why, [&] {
    *communicator = new Communicator(*members);
    return FLAM_DIST_OK;
  });
}

Communicator& of(void* communicator) { return *static_cast<Communicator*>(communicator); }

template <void (*Run)(Communicator&, const flam_dist_call&)>
flam_dist_result collective(void* communicator, const flam_dist_call* call, flam_dist_text* why) {
  return guarded(why, [&] {
    Run(of(communicator), *call);
    return FLAM_DIST_OK;
  });
}

template <void* (*Begin)(Communicator&, const flam_dist_call&)>
flam_dist_result begin(void* communicator, const flam_dist_call* call, void** request,
                       flam_dist_text* why) {
  return guarded(why, [&] {
    *request = Begin(of(communicator), *call);
    return FLAM_DIST_OK;
  });
}

flam_dist_result wait(void* communicator, void* request, int64_t timeout_ms, int32_t stays,
                      int32_t* peer, flam_dist_text* why) {
  bool is_over = true;
  const auto result = guarded(why, [&] {
    is_over = flambeau::gloo_adaptor::wait(of(communicator), request, timeout_ms, stays, peer);
    return is_over ? FLAM_DIST_OK : FLAM_DIST_TIMEOUT;
  });
  // A request that is freed must not be taken for one that stays.
  return stays && is_over && result == FLAM_DIST_TIMEOUT ? FLAM_DIST_LOST : result;
}

void abort(void* communicator) {
  guarded(nullptr, [&] {
    of(communicator).abort();
    return FLAM_DIST_OK;
  });
}

void destroy(void* communicator) {
  guarded(nullptr, [&] {
    delete &of(communicator);
    return FLAM_DIST_OK;
  });
}

namespace run = flambeau::gloo_adaptor;

constexpr flam_dist_provider kProvider{
    .abi = FLAM_DIST_ABI,
    .name = "gloo",
    .on_streams = 0,
    .takes_parts = 1,
    .make = make,
    .all_reduce = collective<run::all_reduce>,
    .reduce = collective<run::reduce>,
    .broadcast = collective<run::broadcast>,
    .all_gather = collective<run::all_gather>,
    .reduce_scatter = collective<run::reduce_scatter>,
    .all_to_all = collective<run::all_to_all>,
    .gather = collective<run::gather>,
    .scatter = collective<run::scatter>,
    .barrier = collective<run::barrier>,
    .send = begin<run::send>,
    .recv = begin<run::recv>,
    .wait = wait,
    .exchange = nullptr,
    .poll = nullptr,
    .abort = abort,
    .destroy = destroy,
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const flam_dist_provider* flam_gloo_provider() {
  return &kProvider;
}
