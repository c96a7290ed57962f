// A descriptor that only the process which opened it has: it is -1 in a forked child, and the
// program opens it with CLOEXEC. A connection or a lock that a child held as well would outlive its
// process, and no peer would see that one go.
#pragma once

namespace flambeau::dist {

class OwnDescriptor {
 public:
  explicit OwnDescriptor(int fd);
  ~OwnDescriptor();
  OwnDescriptor(const OwnDescriptor&) = delete;
  OwnDescriptor& operator=(const OwnDescriptor&) = delete;
  int get() const { return fd_; }

 private:
  friend struct OpenDescriptors;
  int fd_;
};

}  // namespace flambeau::dist
