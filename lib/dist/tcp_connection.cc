// See tcp_connection.h.
#include "dist/tcp_connection.h"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "base/error.h"

namespace flambeau::dist {

TcpConnection::TcpConnection(std::string host, uint16_t port)
    : host_(std::move(host)), port_(port) {}

void TcpConnection::connect(const std::string& key, bool worker, Millis timeout) {
  const auto begun = Clock::now();
  const auto deadline = deadline_after(timeout);
  for (Millis pause{10};; pause = std::min(pause * 2, Millis(500))) {
    Attempt attempt = connect_to(host_, port_, deadline);
    socket_ = std::move(attempt.socket);
    if (!socket_) why_ = attempt.reason;
    if (socket_ && greeted(key, worker, deadline)) return;
    if (Clock::now() + pause >= deadline) break;
    std::this_thread::sleep_for(pause);
  }
  const auto spent = std::chrono::duration_cast<Millis>(Clock::now() - begun).count();
  throw Error(Code::peer_lost,
              cat_text("store: timed out after ", spent, "ms while trying to connect to ", where(),
                       ": ", why_),
              "no store of this job answers there",
              "start the process that holds the store (rank 0), or correct the address "
              "(MASTER_ADDR, MASTER_PORT)");
}

// Whether the store took this process in; if not, another try may help.
bool TcpConnection::greeted(const std::string& key, bool worker, Clock::time_point deadline) {
  Message hello{Op::hello, 0, worker ? kProtocol | kWorker : kProtocol, {}, {key}};
  Message answer;
  inbox_ = {};
  const auto limit = std::min(deadline, deadline_after(std::chrono::seconds(20)));
  switch (exchange(hello, answer, limit)) {
    case End::late:
      lose("it takes connections and does not answer");
      return false;
    case End::lost:
      return false;
    case End::none:
      break;
  }
  check(answer.op != Op::stranger, Code::peer_lost, "store: the store at ", where(),
        " belongs to another job; the processes of a job have the same FLAMBEAU_JOB_KEY");
  check(answer.op == Op::ok && answer.number == kProtocol, Code::peer_lost,
        "store: what listens at ", where(), " is no store of this version");
  return true;
}

Message TcpConnection::call(Message request, Clock::time_point deadline, Millis timeout) {
  Message answer;
  const End end = socket_ ? exchange(request, answer, deadline) : End::lost;
  if (end == End::late) {
    throw Error(
        Code::collective_timeout,
        cat_text("store: the store at ", where(), " has not answered for ", timeout.count(), "ms"),
        "its process is stopped, or the network is down");
  }
  if (end == End::lost) {
    throw Error(Code::peer_lost,
                cat_text("store: the connection to the store at ", where(), " is lost: ", why_),
                "the process that holds the store (rank 0) ended, closed it or cannot be reached",
                "look at how that process ended; it is the last to close the store");
  }
  if (answer.op == Op::refused) fail(Code::invalid_argument, answer.values[0]);
  return answer;
}

TcpConnection::End TcpConnection::exchange(Message& request, Message& answer,
                                           Clock::time_point deadline) {
  request.id = ++id_;
  const End sent = send(encode(request), deadline);
  return sent == End::none ? receive(request.id, answer, deadline) : sent;
}

TcpConnection::End TcpConnection::lose(std::string why) {
  why_ = std::move(why);
  socket_.reset();
  return End::lost;
}

TcpConnection::End TcpConnection::send(const std::string& bytes, Clock::time_point deadline) {
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t n =
        ::send(socket_->get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n >= 0) {
      sent += size_t(n);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (poll_until(socket_->get(), POLLOUT, deadline)) continue;
      if (sent == 0) return End::late;
      return lose("it stopped to read in the middle of a request");  // which cannot be taken back
    } else if (errno != EINTR) {
      return lose(std::strerror(errno));
    }
  }
  return End::none;
}

TcpConnection::End TcpConnection::receive(uint32_t id, Message& answer,
                                          Clock::time_point deadline) {
  char bytes[65536];
  for (;;) {
    const auto found = inbox_.next(answer, kMaxBody);
    if (found == Inbox::Found::nonsense) return lose("what listens there is no store");
    if (found == Inbox::Found::message && answer.id == id) return End::none;
    if (found == Inbox::Found::message) continue;  // late, and nobody waits for it now
    const ssize_t n = ::recv(socket_->get(), bytes, sizeof bytes, 0);
    if (n > 0) {
      inbox_.add({bytes, size_t(n)});
    } else if (n == 0) {
      return lose("it closed the connection");
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!poll_until(socket_->get(), POLLIN, deadline)) return End::late;
    } else if (errno != EINTR) {
      return lose(std::strerror(errno));
    }
  }
}

std::string TcpConnection::local_address() const {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  char text[INET6_ADDRSTRLEN] = {};
  if (!socket_ || ::getsockname(socket_->get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return {};
  const int flags = NI_NUMERICHOST;
  const auto* given = reinterpret_cast<sockaddr*>(&address);
  return ::getnameinfo(given, size, text, sizeof text, nullptr, 0, flags) == 0 ? text : "";
}

}  // namespace flambeau::dist
