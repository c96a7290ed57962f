// What the handles of the ABI point to, tensors aside (a flam_tensor is a TensorImpl). Each is one
// reference-counted object; a handle is its address with one count.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "amp/grad_scaler.h"
#include "base/ref.h"
#include "capi/error.h"
#include "data/loader.h"
#include "device/event.h"
#include "device/memory_pool.h"
#include "dist/group.h"
#include "dist/store.h"
#include "engine/captured_graph.h"
#include "flambeau/autograd.h"
#include "flambeau/common.h"
#include "flambeau/tensor.h"
#include "graph/generator.h"
#include "graph/node.h"
#include "graph/saved.h"
#include "nn/module.h"
#include "observe/plot.h"
#include "observe/profile.h"
#include "observe/progress.h"
#include "optim/schedule.h"
#include "tensor/state.h"

namespace flambeau::dist {
class Reducer;
}

struct flam_tensor_list : flambeau::RefCounted {
  explicit flam_tensor_list(std::vector<flambeau::Tensor> t) : tensors(std::move(t)) {}
  std::vector<flambeau::Tensor> tensors;  // undefined: a missing entry
};

struct flam_stream : flambeau::RefCounted {
  explicit flam_stream(flambeau::Stream s) : stream(s) {}
  flambeau::Stream stream;
};

struct flam_event : flambeau::RefCounted {
  explicit flam_event(flambeau::Event e) : event(std::move(e)) {}
  flambeau::Event event;
};

struct flam_node : flambeau::RefCounted {
  explicit flam_node(flambeau::Edge e) : edge(std::move(e)) {}
  flambeau::Edge edge;  // a node, or a leaf as AccumulateGrad
};

struct flam_store : flambeau::RefCounted {
  explicit flam_store(flambeau::Ref<flambeau::dist::Store> s) : store(std::move(s)) {}
  flambeau::Ref<flambeau::dist::Store> store;
};

struct flam_group : flambeau::RefCounted {
  explicit flam_group(flambeau::Ref<flambeau::dist::Group> g) : group(std::move(g)) {}
  flambeau::Ref<flambeau::dist::Group> group;
};

struct flam_work : flambeau::RefCounted {
  explicit flam_work(flambeau::Ref<flambeau::dist::Work> w) : work(std::move(w)) {}
  flambeau::Ref<flambeau::dist::Work> work;
};

struct flam_ddp : flambeau::RefCounted {
  explicit flam_ddp(flambeau::Ref<flambeau::dist::Reducer> r);  // both in ddp.cc
  ~flam_ddp() override;
  flambeau::Ref<flambeau::dist::Reducer> reducer;
};

// The way to withdraw a hook, wherever it is registered.
struct flam_hook : flambeau::RefCounted {
  virtual void remove() = 0;
};

struct flam_saved : flambeau::RefCounted {
  explicit flam_saved(flambeau::Saved s) : value(std::move(s)) {}
  flambeau::Saved value;
};

namespace flambeau::capi {

// Data of the program on its way back to it, with the way to drop it.
using OwnedPointer = std::unique_ptr<void, std::function<void(void*)>>;

}  // namespace flambeau::capi

namespace flambeau {

inline Ref<flam_tensor_list> make_list(std::vector<Tensor> tensors) {
  return make_ref<flam_tensor_list>(std::move(tensors));
}

}  // namespace flambeau
