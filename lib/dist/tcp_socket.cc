// See tcp_socket.h.
#include "dist/tcp_socket.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace flambeau::dist {

namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

// None of them with the reason, where the name has none.
Addresses resolve(const std::string& host, uint16_t port, int flags, std::string& reason) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error) reason = error == EAI_SYSTEM ? std::strerror(errno) : ::gai_strerror(error);
  return {error ? nullptr : found, &::freeaddrinfo};
}

Socket open_socket(int family) {
  const int fd = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  return fd < 0 ? nullptr : std::make_unique<OwnDescriptor>(fd);
}

uint16_t port_of(int fd) {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&name), &size) != 0) return 0;
  return ntohs(name.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(name).sin6_port
                                          : reinterpret_cast<sockaddr_in&>(name).sin_port);
}

// "::" takes IPv4 as well; any other address of IPv6 is that alone.
bool any_address(const addrinfo& a) {
  return a.ai_family == AF_INET6 &&
         IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6*>(a.ai_addr)->sin6_addr);
}

void set_port(addrinfo& a, uint16_t port) {
  if (a.ai_family == AF_INET6)
    reinterpret_cast<sockaddr_in6*>(a.ai_addr)->sin6_port = htons(port);
  else
    reinterpret_cast<sockaddr_in*>(a.ai_addr)->sin_port = htons(port);
}

// 0, or the system's error.
int listen_address(const addrinfo& a, Listening& out) {
  Socket s = open_socket(a.ai_family);
  if (!s) return errno;
  const int on = 1, only = !any_address(a);
  ::setsockopt(s->get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (a.ai_family == AF_INET6)
    ::setsockopt(s->get(), IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof only);
  if (::bind(s->get(), a.ai_addr, a.ai_addrlen) != 0 || ::listen(s->get(), 4096) != 0) return errno;
  out.port = port_of(s->get());
  out.sockets.push_back(std::move(s));
  return 0;
}

[[noreturn]] void fail_listening(const std::string& host, uint16_t port, int error) {
  const std::string at = address_text(host, port);
  if (error == EADDRINUSE) {
    throw Error(
        Code::io, cat_text("store: address ", at, " is already in use"),
        "another program, or a former run of this one, listens there",
        "end it, choose another --master-port (MASTER_PORT), or port 0 for one that is free");
  }
  const bool foreign = error == EADDRNOTAVAIL;
  throw Error(Code::io, cat_text("store: cannot listen on ", at, ": ", std::strerror(error)),
              foreign ? "no interface of this machine has that address" : "",
              foreign ? "give an address of this machine to listen on" : "");
}

// Waits for a connection that has begun; 0, or the system's error.
int finish_connect(int fd, Clock::time_point deadline) {
  if (!poll_until(fd, POLLOUT, deadline)) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

// A port that nobody listens on may be the one that this end was given: then it has met itself.
bool met_itself(int fd) {
  sockaddr_storage own{}, peer{};
  socklen_t n_own = sizeof own, n_peer = sizeof peer;
  return ::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &n_own) == 0 &&
         ::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &n_peer) == 0 && n_own == n_peer &&
         std::memcmp(&own, &peer, n_own) == 0;
}

void set_option(int fd, int level, int name, int value) noexcept {
  ::setsockopt(fd, level, name, &value, sizeof value);
}

}  // namespace

std::string address_text(const std::string& host, uint16_t port) {
  const bool brackets = host.find(':') != std::string::npos;
  return cat_text(brackets ? "[" : "", host, brackets ? "]:" : ":", port);
}

Listening listen_at(const std::string& host, uint16_t port) {
  std::string reason;
  const Addresses found = resolve(host, port, AI_PASSIVE, reason);
  check(bool(found), Code::io, "store: cannot listen on \"", host, "\": ", reason);
  constexpr int tries = 16;  // a port that is free at the first address may be taken at the next
  for (int left = tries;; --left) {
    Listening out;
    int error = 0;
    bool taken = false;
    for (addrinfo* a = found.get(); a; a = a->ai_next) {
      if (a->ai_family != AF_INET && a->ai_family != AF_INET6) continue;
      set_port(*a, out.port ? out.port : port);
      const int failed = listen_address(*a, out);
      if (failed) error = failed;
      taken |= failed == EADDRINUSE;
    }
    if (!out.sockets.empty() && !taken) return out;
    if (port != 0 || left == 0 || out.sockets.empty())
      fail_listening(host, port, taken ? EADDRINUSE : error);
  }
}

Listening listen_on(int fd) {
  int listens = 0;
  socklen_t size = sizeof listens;
  const bool ok = ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens;
  check(ok, Code::invalid_argument, "store: listen_fd ", fd, " is no socket that listens");
  Listening out;
  out.sockets.push_back(std::make_unique<OwnDescriptor>(fd));
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  out.port = port_of(fd);
  return out;
}

Attempt connect_to(const std::string& host, uint16_t port, Clock::time_point deadline) {
  Attempt out;
  const Addresses found = resolve(host, port, 0, out.reason);
  for (addrinfo* a = found.get(); a; a = a->ai_next) {
    Socket s = open_socket(a->ai_family);
    int error = s ? 0 : errno;
    if (s && ::connect(s->get(), a->ai_addr, a->ai_addrlen) != 0) {
      const auto limit = std::min(deadline, deadline_after(std::chrono::seconds(5)));
      error = errno == EINPROGRESS || errno == EINTR ? finish_connect(s->get(), limit) : errno;
    }
    if (!error && met_itself(s->get())) error = ECONNREFUSED;
    if (error) {
      out.reason = std::strerror(error);
      continue;
    }
    prepare_connection(s->get());
    out.socket = std::move(s);
    return out;
  }
  return out;
}

void prepare_connection(int fd) noexcept {
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 4);  // seconds
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 2);
  set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
  set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 10000);  // milliseconds, of unanswered data
}

bool poll_until(int fd, short events, Clock::time_point deadline) noexcept {
  for (;;) {
    const auto left = std::chrono::ceil<Millis>(deadline - Clock::now()).count();
    pollfd p{fd, events, 0};
    const int n = ::poll(&p, 1, int(std::clamp<int64_t>(left, 0, 60000)));
    if (n > 0 || (n < 0 && errno != EINTR)) return true;  // an error shows at the next call
    if (n == 0 && left <= 60000) return false;
  }
}

}  // namespace flambeau::dist
