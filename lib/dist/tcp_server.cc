// The server's loop and its connections; what requests do is in tcp_requests.cc. Only the thread
// touches what is not the number of workers, so that nothing else is locked.
#include "dist/tcp_server.h"

#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/error.h"

namespace flambeau::dist {

namespace {

constexpr auto kHelloTime = std::chrono::seconds(3);
constexpr size_t kStrangers = 1024;           // connections without a hello at a time
constexpr size_t kBacklog = size_t{1} << 20;  // answers unread, from which nothing more is handled

void add_to(int epoll, int fd, uint32_t events) {
  epoll_event e{};
  e.events = events;
  e.data.fd = fd;
  check(::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e) == 0, Code::io,
        "store: the server cannot watch a socket: ", std::strerror(errno));
}

Socket opened(int fd) {
  check(fd >= 0, Code::io, "store: the server cannot start: ", std::strerror(errno));
  return std::make_unique<OwnDescriptor>(fd);
}

// A thread begun meanwhile takes none of the program's signals, which are for its own threads.
class WithoutSignals {
 public:
  WithoutSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~WithoutSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  WithoutSignals(const WithoutSignals&) = delete;
  WithoutSignals& operator=(const WithoutSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

TcpServer::TcpServer(Listening listening, std::string key)
    : key_(std::move(key)),
      port_(listening.port),
      process_(::getpid()),
      listeners_(std::move(listening.sockets)),
      epoll_(opened(::epoll_create1(EPOLL_CLOEXEC))),
      stop_(opened(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))) {
  for (const Socket& s : listeners_) add_to(epoll_->get(), s->get(), EPOLLIN);
  add_to(epoll_->get(), stop_->get(), EPOLLIN);
  const WithoutSignals quiet;
  try {
    thread_ = std::make_unique<std::thread>([this] { run(); });
  } catch (const std::system_error& e) {
    fail(Code::unsupported, "store: the system starts no thread for the server: ", e.what());
  }
}

TcpServer::~TcpServer() {
  if (process_ != ::getpid()) {  // the thread is the parent's
    static_cast<void>(thread_.release());
    return;
  }
  const uint64_t one = 1;
  static_cast<void>(!::write(stop_->get(), &one, sizeof one));
  thread_->join();
}

int64_t TcpServer::wait_workers(int64_t n, Clock::time_point deadline) const {
  std::unique_lock lock(mutex_);
  joined_.wait_until(lock, deadline, [&] { return workers_ >= n; });
  return workers_;
}

void TcpServer::run() {
  constexpr int most = 64;
  epoll_event events[most];
  for (;;) {
    const int n = ::epoll_wait(epoll_->get(), events, most, next_timeout());
    for (int i = 0; i < n; ++i) {
      const int fd = events[i].data.fd;
      if (fd == stop_->get()) return;
      serve(fd, events[i].events);
    }
    try {
      expire();
      drop_closing();
    } catch (const std::exception&) {  // no memory: what is left to do is done in the next round
    }
  }
}

void TcpServer::serve(int fd, uint32_t events) noexcept {
  const auto at = connections_.find(fd);
  Connection* const c = at == connections_.end() ? nullptr : at->second.get();
  try {
    if (!c) return accept_from(fd);
    if (c->closing) return;
    if (events & (EPOLLERR | EPOLLHUP)) return drop(*c);
    if (events & EPOLLOUT) {
      write(*c);
      handle_messages(*c);  // what its unread answers held up
    }
    if (events & (EPOLLIN | EPOLLRDHUP)) read(*c);
  } catch (const std::exception&) {  // no memory for it, which costs nobody else
    if (c) drop(*c);
  }
}

int TcpServer::next_timeout() const {
  auto next = listen_at_;
  if (!deadlines_.empty()) next = std::min(next, deadlines_.begin()->first);
  if (next == Clock::time_point::max()) return -1;
  const auto left = std::chrono::ceil<Millis>(next - Clock::now()).count();
  return int(std::clamp<int64_t>(left, 0, 60000));
}

void TcpServer::accept_from(int listener) {
  const auto own = [&](const Socket& s) { return s->get() == listener; };
  if (std::none_of(listeners_.begin(), listeners_.end(), own)) return;  // dropped meanwhile
  for (;;) {
    const int fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
        pause_accepting();
      if (errno != ECONNABORTED && errno != EINTR) return;
      continue;
    }
    auto owned = std::make_unique<Connection>(std::make_unique<OwnDescriptor>(fd));
    if (strangers_ >= kStrangers) continue;  // closed
    prepare_connection(fd);
    Connection& c = *owned;
    c.events = EPOLLIN | EPOLLRDHUP;
    add_to(epoll_->get(), fd, c.events);
    connections_.insert_or_assign(fd, std::move(owned));
    ++strangers_;
    set_deadline(c, deadline_after(kHelloTime));
  }
}

// Without descriptors a socket that waits would be reported at once, again and again.
void TcpServer::pause_accepting() {
  for (const Socket& s : listeners_) ::epoll_ctl(epoll_->get(), EPOLL_CTL_DEL, s->get(), nullptr);
  listen_at_ = deadline_after(Millis(100));
}

void TcpServer::listen_again() {
  listen_at_ = Clock::time_point::max();
  for (const Socket& s : listeners_) add_to(epoll_->get(), s->get(), EPOLLIN);
}

void TcpServer::read(Connection& c) {
  char bytes[65536];
  for (int rounds = 0; rounds < 16 && !c.closing; ++rounds) {  // others have their turn, too
    if (c.out.size() - c.sent >= kBacklog) return watch(c);
    const ssize_t n = ::recv(c.socket->get(), bytes, sizeof bytes, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (n <= 0) return drop(c);
    c.inbox.add({bytes, size_t(n)});
    handle_messages(c);
  }
}

void TcpServer::handle_messages(Connection& c) {
  Message m;
  while (!c.closing && c.out.size() - c.sent < kBacklog) {
    const auto found = c.inbox.next(m, c.greeted ? kMaxBody : kMaxHello);
    if (found == Inbox::Found::nothing) return;
    if (found == Inbox::Found::nonsense) return drop(c);
    c.greeted ? handle(c, m) : greet(c, m);
  }
  if (!c.closing) watch(c);
}

void TcpServer::answer(Connection& c, const Message& m) {
  const bool waiting = !c.out.empty();
  c.out += encode(m);
  waiting ? watch(c) : write(c);
}

void TcpServer::write(Connection& c) {
  while (c.sent < c.out.size()) {
    const ssize_t n =
        ::send(c.socket->get(), c.out.data() + c.sent, c.out.size() - c.sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (n <= 0) return drop(c);
    c.sent += size_t(n);
  }
  if (c.sent == c.out.size()) {
    std::string().swap(c.out);
    c.sent = 0;
  }
  watch(c);
}

void TcpServer::watch(Connection& c) {
  const size_t unread = c.out.size() - c.sent;
  uint32_t wanted = unread >= kBacklog ? 0 : EPOLLIN | EPOLLRDHUP;
  if (unread) wanted |= EPOLLOUT;
  if (wanted == c.events) return;
  epoll_event e{};
  e.events = c.events = wanted;
  e.data.fd = c.socket->get();
  ::epoll_ctl(epoll_->get(), EPOLL_CTL_MOD, c.socket->get(), &e);
}

void TcpServer::set_deadline(Connection& c, Clock::time_point t) {
  deadlines_.erase({c.deadline, c.socket->get()});
  c.deadline = t;
  if (t != Clock::time_point::max()) deadlines_.insert({t, c.socket->get()});
}

void TcpServer::expire() {
  const auto now = Clock::now();
  if (listen_at_ <= now) listen_again();
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    Connection& c = *connections_.at(deadlines_.begin()->second);
    if (!c.greeted) {
      drop(c);
      continue;
    }
    Message late{Op::late, c.parked.id, 0, {}, {}};
    for (const std::string& key : c.parked.keys)
      if (!table_.find(key)) late.keys.push_back(key);
    unpark(c);
    answer(c, late);
  }
}

void TcpServer::drop(Connection& c) {
  if (std::exchange(c.closing, true)) return;
  unpark(c);
  if (!c.greeted) --strangers_;
  closing_.push_back(c.socket->get());
}

void TcpServer::drop_closing() {
  while (!closing_.empty()) {
    const auto at = connections_.find(closing_.back());
    closing_.pop_back();
    const std::unique_ptr<Connection> gone = std::move(at->second);
    connections_.erase(at);
    for (const auto& [key, value] : gone->wills) {
      try {
        table_.append(key, value);
      } catch (const Error&) {  // the value is as long as one can be
      }
      wake(key);
    }
  }
}

}  // namespace flambeau::dist
