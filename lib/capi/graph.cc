// Targets of graph.h; see there.

#include "flambeau/graph.h"
#include "base/error.h"
#include "capi/gen/targets.h"
#include "capi/stream.h"
#include "engine/captured_graph.h"

namespace flambeau::capi {

Ref<flam_graph> graph_new() { return make_ref<flam_graph>(); }

void graph_release(flam_graph* graph) {
  if (graph) graph->release();
}

void graph_capture_begin(flam_graph* graph, const flam_memory_pool* pool, Device device,
                         int32_t capture_error_mode) {
  using Mode = flam_graph::Mode;
  check(capture_error_mode >= FLAM_CAPTURE_GLOBAL && capture_error_mode <= FLAM_CAPTURE_RELAXED,
        Code::invalid_argument, "graph_capture_begin: capture_error_mode ", capture_error_mode,
        " is none of global, thread_local and relaxed");
  const Mode mode = capture_error_mode == FLAM_CAPTURE_GLOBAL         ? Mode::global
                    : capture_error_mode == FLAM_CAPTURE_THREAD_LOCAL ? Mode::thread_local_only
                                                                      : Mode::relaxed;
  graph->capture_begin(accelerator_or(device),
                       Ref<flam_memory_pool>::share(const_cast<flam_memory_pool*>(pool)), mode);
}

void graph_capture_end(flam_graph* graph) { graph->capture_end(); }
void graph_replay(flam_graph* graph) { graph->replay(); }
void graph_reset(flam_graph* graph) { graph->reset(); }
Ref<flam_memory_pool> graph_pool(const flam_graph* graph) { return graph->pool(); }

}  // namespace flambeau::capi
