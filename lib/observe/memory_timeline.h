// What the allocators remember of a time, read for people: how much was in use and reserved, event
// by event, and who held what when it was most. Events before the first that was kept are inferred
// from what is in use now.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/device.h"
#include "device/history.h"

namespace flambeau {
class CachingAllocator;
}

namespace flambeau::observe {

struct TimelinePoint {
  int64_t time_us = 0;                  // of the system's clock
  int64_t allocated = 0, reserved = 0;  // bytes, after the event
  int64_t change = 0;
  TraceAction action = TraceAction::alloc;
  Label label;
};

struct Holder {
  std::string module, op, shape;
  int64_t bytes = 0, count = 0;
};

struct Timeline {
  Device device;
  std::vector<TimelinePoint> points;
  size_t peak = 0;              // the first point with the most allocated
  std::vector<Holder> holders;  // at the peak, most bytes first
};

Timeline timeline_of(CachingAllocator& allocator);  // without points where nothing was recorded
// Of every device with a recording; throws Error(invalid argument) where there is none.
std::string timeline_html();

}  // namespace flambeau::observe
