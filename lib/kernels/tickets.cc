// See tickets.h. Streams up to kTicketStreams are those of a device's own pools.
#include "kernels/tickets.h"

#include "device/allocator.h"
#include "device/streams.h"

namespace flambeau {

static_assert(kTicketStreams <= kFirstExternal);

int32_t ticket_stream(Device d) {
  if (d.is_cpu() || d.is_meta()) return 0;  // the emulation on its tensors, a launch at a time
  const Stream s = current_stream(d);
  return s.id < uint32_t(kTicketStreams) && !allocator_of(s.device).capturing() ? int32_t(s.id)
                                                                                : -1;
}

}  // namespace flambeau
