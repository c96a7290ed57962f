// Where random ops draw from: the program's generator or the device's own.
#pragma once
#include "base/error.h"
#include "graph/captured_draws.h"

namespace flambeau::ops {

// The first of `launches` draws, which follow one another in offset.
inline Draw draw_from(const char* op, Generator* given, Device device, uint64_t launches = 1) {
  if (device.is_meta()) given = nullptr;  // nothing is drawn, from none
  check(!given || given->device.type == device.type, Code::device_mismatch, op, ": expected a '",
        to_string(device), "' generator, but found one for '",
        given ? to_string(given->device) : "", "'");
  return next_draw(given ? *given : default_generator(device), device, launches);
}

// For what takes its state by value and would draw the same in every replay of a graph.
inline RandomState fixed_state(const char* op, Generator* given, Device device) {
  const Draw d = draw_from(op, given, device);
  check(!d.cell, Code::graph_capture, op,
        ": a graph cannot hold this draw, which would be the same in every replay; draw before "
        "the capture, and copy the numbers to a tensor that the graph reads");
  return d.state;
}

}  // namespace flambeau::ops
