// A process's connection to a TCP store: made by the hello that carries the job's key, then one
// request at a time. It says what went wrong and leaves it to the store to say what that means.
#pragma once
#include <cstdint>
#include <string>

#include "dist/tcp_socket.h"
#include "dist/tcp_wire.h"

namespace flambeau::dist {

class TcpConnection {
 public:
  // Tries until the deadline, as the store may start later than who looks for it.
  TcpConnection(std::string host, uint16_t port);
  void connect(const std::string& key, bool worker, Millis timeout);

  // The answer; `timeout` is what the caller knows of the deadline. What is late is answered later,
  // and that answer is passed over.
  Message call(Message request, Clock::time_point deadline, Millis timeout);

  std::string where() const { return address_text(host_, port_); }
  std::string local_address()
      const;  // of the interface that it goes through; empty once it is lost

 private:
  enum class End : int8_t { none, late, lost };

  End exchange(Message& request, Message& answer, Clock::time_point deadline);
  End send(const std::string& bytes, Clock::time_point deadline);
  End receive(uint32_t id, Message& answer, Clock::time_point deadline);
  End lose(std::string why);
  bool greeted(const std::string& key, bool worker, Clock::time_point deadline);

  std::string host_;
  uint16_t port_;
  Socket socket_;    // none once it is lost
  std::string why_;  // it was
  Inbox inbox_;
  uint32_t id_ = 0;
};

}  // namespace flambeau::dist
