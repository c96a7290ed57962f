// See own_descriptor.h. pthread_atfork's handler in the child closes them, which is why each is
// written down, under a lock that nobody else holds while a fork copies it.
#include <pthread.h>
#include <unistd.h>

#include <mutex>
#include <unordered_set>
#include <utility>

#include "dist/own_descriptor.h"

namespace flambeau::dist {

struct OpenDescriptors {
  std::mutex mutex;
  std::unordered_set<OwnDescriptor*> all;

  static OpenDescriptors& instance() {
    // Never destroyed: stores may be released after static objects are.
    static OpenDescriptors* const open = new OpenDescriptors;
    static const int registered = pthread_atfork(
        [] { open->mutex.lock(); }, [] { open->mutex.unlock(); }, [] { open->close_in_child(); });
    static_cast<void>(registered);
    return *open;
  }

  void close_in_child() {
    for (OwnDescriptor* d : all) ::close(std::exchange(d->fd_, -1));
    all.clear();
    mutex.unlock();
  }
};

OwnDescriptor::OwnDescriptor(int fd) : fd_(fd) {
  OpenDescriptors& open = OpenDescriptors::instance();
  const std::lock_guard lock(open.mutex);
  open.all.insert(this);
}

OwnDescriptor::~OwnDescriptor() {
  OpenDescriptors& open = OpenDescriptors::instance();
  const std::lock_guard lock(open.mutex);
  open.all.erase(this);
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace flambeau::dist
