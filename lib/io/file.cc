// Files by system calls, whose errors can be told.
#include "io/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace flambeau::io {

std::string read_file(std::string_view path) {
  const std::string name(path);
  const int fd = ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
  check(fd >= 0, Code::io, "cannot open \"", name, "\": ", std::strerror(errno));
  struct Close {
    int fd;
    ~Close() { ::close(fd); }
  } close{fd};
  struct stat info{};
  check(::fstat(fd, &info) == 0, Code::io, "cannot read \"", name, "\": ", std::strerror(errno));
  check(S_ISREG(info.st_mode), Code::io, "cannot read \"", name, "\": it is not a regular file");
  std::string content(size_t(info.st_size), '\0');
  size_t got = 0;
  while (got < content.size()) {
    const ssize_t n = ::read(fd, content.data() + got, content.size() - got);
    if (n < 0 && errno == EINTR) continue;
    check(n > 0, Code::io, "cannot read \"", name,
          "\": ", n < 0 ? std::strerror(errno) : "it ends early");
    got += size_t(n);
  }
  return content;
}

AtomicFile::AtomicFile(std::string_view path) : path_(path), temporary_(path_ + ".XXXXXX") {
  fd_ = ::mkostemp(temporary_.data(), O_CLOEXEC);
  if (fd_ < 0) fail_with_errno("create");
  const mode_t mask = ::umask(0);
  ::umask(mask);
  ::fchmod(fd_, 0666 & ~mask);
}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(temporary_.c_str());
}

void AtomicFile::fail_with_errno(const char* what) const {
  const std::string reason = std::strerror(errno);
  fail(Code::io, "cannot ", what, " \"", path_, "\": ", reason);
}

void AtomicFile::write(const void* data, size_t bytes) {
  const char* p = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t n = ::write(fd_, p, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_with_errno("write");
    p += n;
    bytes -= size_t(n);
    written_ += size_t(n);
  }
}

void AtomicFile::commit() {
  const int fd = std::exchange(fd_, -1);
  const bool closed = ::close(fd) == 0;
  if (!closed || ::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int reason = errno;
    ::unlink(temporary_.c_str());
    errno = reason;
    fail_with_errno("write");
  }
}

}  // namespace flambeau::io
