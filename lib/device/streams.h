// Streams beyond runtime.h: making them, ordering one after another, and their native handles.
// Streams come from a pool of 32 per device and priority and are never destroyed, so a Stream stays
// valid for good.
#pragma once
#include "device/runtime.h"

namespace flambeau {

inline constexpr uint32_t kFirstExternal = 65;  // ids below are the default stream's and the pools'

Stream default_stream(Device d);
Stream create_stream(Device d,
                     int priority = 0);  // negative: more urgent; round robin over the pool
Stream external_stream(Device d,
                       void* native);  // another library's stream; the caller keeps it alive
void* native_stream(Stream s);         // cudaStream_t on cuda
int stream_priority(Stream s);
bool query(Stream s);  // whether all work is done
void wait_stream(Stream waiting,
                 Stream awaited);  // what `waiting` gets next runs after awaited's work
void host_function(Stream s, void (*fn)(void* user),
                   void* user);  // on a thread of the provider's choice

class StreamScope {
 public:
  explicit StreamScope(Stream s) : before_(current_stream(s.device)) { set_current_stream(s); }
  ~StreamScope() { set_current_stream(before_); }
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

 private:
  Stream before_;
};

// Called when a wait for a device has ended: throws what its kernels reported meanwhile. Set by the
// layer that has such reports; likewise what the collectives of other processes have.
using AfterWait = void (*)(Device d);
extern AfterWait after_wait, after_wait_of_collectives;

}  // namespace flambeau
