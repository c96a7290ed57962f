// See descriptor.h.
#include "base/descriptor.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

namespace flambeau {

namespace {

// Keeps SIGPIPE from this thread: what its own writes raised is taken back, what was pending
// before stays.
class WithoutPipeSignal {
 public:
  WithoutPipeSignal() noexcept {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigemptyset(&pending);
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~WithoutPipeSignal() {
    const int error = errno;
    const timespec now{};
    if (raised && !was_pending_) {
      while (sigtimedwait(&pipe_, nullptr, &now) < 0 && errno == EINTR) {
      }
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }
  WithoutPipeSignal(const WithoutPipeSignal&) = delete;
  WithoutPipeSignal& operator=(const WithoutPipeSignal&) = delete;

  bool raised = false;

 private:
  sigset_t pipe_, before_;
  bool was_pending_;
};

}  // namespace

bool write_all(int descriptor, std::string_view text) noexcept {
  WithoutPipeSignal quiet;
  while (!text.empty()) {
    const ssize_t n = ::write(descriptor, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    quiet.raised = n < 0 && errno == EPIPE;
    if (n <= 0) return false;
    text.remove_prefix(size_t(n));
  }
  return true;
}

}  // namespace flambeau
