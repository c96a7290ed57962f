// See mesh.h.
#include "mesh.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <thread>
#include <utility>

namespace nccl_standin {
namespace {

constexpr int kTurn = 10;  // milliseconds between looks at an abort

struct Hello {
  int32_t rank, size;
};

// Of the system's own name space, which forgets a name with its socket.
socklen_t address_of(const std::string& name, int rank, sockaddr_un* out) {
  const std::string whole = name + "-" + std::to_string(rank);
  *out = {};
  out->sun_family = AF_UNIX;
  std::memcpy(out->sun_path + 1, whole.data(), std::min(whole.size(), sizeof out->sun_path - 1));
  return socklen_t(offsetof(sockaddr_un, sun_path) + 1 + whole.size());
}

int new_socket() { return ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); }

bool moved(int fd, void* data, size_t bytes, bool sends) {
  const ssize_t n =
      sends ? ::send(fd, data, bytes, MSG_NOSIGNAL) : ::recv(fd, data, bytes, MSG_WAITALL);
  return n == ssize_t(bytes);
}

}  // namespace

void Mesh::close() {
  for (int& fd : sockets_)
    if (fd >= 0) ::close(std::exchange(fd, -1));
}

End Mesh::connect(const std::string& name, int size, int rank, const std::atomic<bool>& aborted) {
  sockets_.assign(size_t(size), -1);
  sockaddr_un own;
  const socklen_t length = address_of(name, rank, &own);
  const int listener = new_socket();
  if (::bind(listener, reinterpret_cast<sockaddr*>(&own), length) || ::listen(listener, 256)) {
    ::close(listener);
    return End::differs;
  }
  for (int other = 0; other < rank; ++other) {
    sockaddr_un there;
    const socklen_t n = address_of(name, other, &there);
    int fd = new_socket();
    while (::connect(fd, reinterpret_cast<sockaddr*>(&there), n)) {
      if (aborted) return ::close(fd), ::close(listener), End::aborted;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    Hello hello{rank, size};
    moved(fd, &hello, sizeof hello, true);
    sockets_[size_t(other)] = fd;
  }
  const End end = accept_others(listener, size, rank, aborted);
  ::close(listener);
  return end;
}

End Mesh::accept_others(int listener, int size, int rank, const std::atomic<bool>& aborted) {
  for (int left = size - 1 - rank; left > 0;) {
    pollfd ready{listener, POLLIN, 0};
    if (aborted) return End::aborted;
    if (::poll(&ready, 1, kTurn) != 1) continue;
    const int fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    Hello hello{};
    const bool heard = fd >= 0 && moved(fd, &hello, sizeof hello, false);
    if (!heard || hello.size != size || hello.rank <= rank || sockets_[size_t(hello.rank)] >= 0)
      return End::differs;
    sockets_[size_t(hello.rank)] = fd;
    --left;
  }
  return End::well;
}

// As far as it goes without waiting; whether the message is done.
bool Mesh::advance(Message& m, bool& lost) {
  const int fd = sockets_[size_t(m.peer)];
  Label& label = m.sends ? m.label : m.other;
  while (m.done < sizeof label + m.bytes) {
    const bool head = m.done < sizeof label;
    char* const at = head ? reinterpret_cast<char*>(&label) + m.done
                          : static_cast<char*>(m.data) + (m.done - sizeof label);
    const size_t most = head ? sizeof label - m.done : sizeof label + m.bytes - m.done;
    const ssize_t n = m.sends ? ::send(fd, at, most, MSG_DONTWAIT | MSG_NOSIGNAL)
                              : ::recv(fd, at, most, MSG_DONTWAIT);
    if (n <= 0) {
      lost = n == 0 || (errno != EAGAIN && errno != EINTR);
      return false;
    }
    m.done += size_t(n);
    if (!m.sends && m.done == sizeof label && m.other != m.label) return false;
  }
  return true;
}

End Mesh::exchange(std::vector<Message>& messages, const std::atomic<bool>& aborted,
                   const Message** culprit) {
  for (size_t left = messages.size(); left > 0;) {
    left = 0;
    std::vector<std::pair<int, bool>> busy;  // who has an earlier message that is not done
    std::vector<pollfd> waits;
    for (Message& m : messages) {
      const std::pair way(m.peer, m.sends);
      if (m.done == sizeof(Label) + m.bytes) continue;
      bool lost = false;
      const bool first = std::ranges::find(busy, way) == busy.end();
      if (first && advance(m, lost)) continue;
      if (lost) return End::lost;
      if (!m.sends && m.done >= sizeof(Label) && m.other != m.label) {
        if (culprit) *culprit = &m;
        return End::differs;
      }
      if (first) waits.push_back({sockets_[size_t(m.peer)], short(m.sends ? POLLOUT : POLLIN), 0});
      busy.push_back(way);
      ++left;
    }
    if (aborted) return End::aborted;
    if (left) ::poll(waits.data(), waits.size(), kTurn);
  }
  return End::well;
}

}  // namespace nccl_standin
