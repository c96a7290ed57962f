// The process that holds the table of a TCP store: one thread, which never waits for anybody. A
// call that waits is parked until its keys are there or its time is over; who does not read is not
// read from; who does not say the job's key soon is dropped; and the last will of a connection that
// breaks is executed. It ends with the last store that shares it, which breaks every connection.
#pragma once
#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dist/table.h"
#include "dist/tcp_socket.h"
#include "dist/tcp_wire.h"

namespace flambeau::dist {

class TcpServer {
 public:
  TcpServer(Listening listening, std::string key);
  ~TcpServer();
  TcpServer(const TcpServer&) = delete;
  TcpServer& operator=(const TcpServer&) = delete;

  uint16_t port() const { return port_; }
  // How many workers said hello: all until the deadline, or as many as came.
  int64_t wait_workers(int64_t n, Clock::time_point deadline) const;
  int64_t workers() const { return wait_workers(0, Clock::now()); }

 private:
  struct Connection {
    explicit Connection(Socket s) : socket(std::move(s)) {}
    Socket socket;
    Inbox inbox;
    std::string out;  // answers that the peer has not taken
    size_t sent = 0;  // of them
    bool greeted = false, closing = false;
    uint32_t events = 0;                                    // that epoll reports
    Clock::time_point deadline = Clock::time_point::max();  // of the hello, or of what is parked
    Message parked;       // a get or wait; without keys there is none
    size_t present = 0;   // its first keys, which have been seen
    std::string watched;  // its key that is waited for
    std::vector<std::pair<std::string, std::string>> wills;
    size_t will_bytes = 0;
  };
  using Connections = std::unordered_map<int, std::unique_ptr<Connection>>;

  void run();
  void serve(int fd, uint32_t events) noexcept;
  void accept_from(int listener);
  void pause_accepting();
  void listen_again();
  void read(Connection& c);
  void handle_messages(Connection& c);
  void greet(Connection& c, const Message& hello);
  void handle(Connection& c, Message& request);
  void list_keys(Message& reply);
  void change(Message& request, Message& reply);
  void park(Connection& c, Message& request);
  void resume(Connection& c);  // answers what is parked where all its keys are there
  void unpark(Connection& c);
  void wake(const std::string& key);
  void answer(Connection& c, const Message& m);
  void write(Connection& c);
  void watch(Connection& c);
  void set_deadline(Connection& c, Clock::time_point t);
  void expire();
  void drop(Connection& c);  // its last will is due
  void drop_closing();
  int next_timeout() const;  // for epoll, in milliseconds

  std::string key_;
  uint16_t port_;
  pid_t process_;
  std::vector<Socket> listeners_;
  Socket epoll_, stop_;
  Table table_;
  Connections connections_;  // by descriptor
  std::multimap<std::string, Connection*> watchers_;
  std::set<std::pair<Clock::time_point, int>> deadlines_;
  std::vector<int> closing_;
  Clock::time_point listen_at_ = Clock::time_point::max();  // where accepting pauses
  size_t strangers_ = 0;                                    // connections that have not said hello

  mutable std::mutex mutex_;  // of the number of workers
  mutable std::condition_variable joined_;
  int64_t workers_ = 0;
  std::unique_ptr<std::thread> thread_;
};

}  // namespace flambeau::dist
