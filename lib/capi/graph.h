// C++ side of include/flambeau/graph.h: the targets of its C functions.
#pragma once
#include "capi/objects.h"
#include "engine/captured_graph.h"

namespace flambeau::capi {

Ref<flam_graph> graph_new();
void graph_release(flam_graph* graph);
void graph_capture_begin(flam_graph* graph, const flam_memory_pool* pool, Device device,
                         int32_t capture_error_mode);
void graph_capture_end(flam_graph* graph);
void graph_replay(const flam_graph* graph);
void graph_reset(flam_graph* graph);
Ref<flam_memory_pool> graph_pool(const flam_graph* graph);

}  // namespace flambeau::capi
