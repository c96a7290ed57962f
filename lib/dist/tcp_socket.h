// Sockets of the stores: this process's alone, never blocking, never raising SIGPIPE.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dist/own_descriptor.h"
#include "dist/table.h"

namespace flambeau::dist {

using Socket = std::unique_ptr<OwnDescriptor>;

std::string address_text(const std::string& host, uint16_t port);  // brackets around IPv6

struct Listening {
  std::vector<Socket> sockets;
  uint16_t port = 0;
};

// Listens on every address of `host`, with one port; 0 is one that is free.
Listening listen_at(const std::string& host, uint16_t port);
Listening listen_on(int fd);  // a socket that listens already; taken over, where it is one

// One connection to any address of `host`, or none and why not. Waits no longer than `deadline`.
struct Attempt {
  Socket socket;
  std::string reason;
};
Attempt connect_to(const std::string& host, uint16_t port, Clock::time_point deadline);

// As a store's connection should be: no delay for small messages, and a machine that has vanished
// is noticed within some ten seconds.
void prepare_connection(int fd) noexcept;

// Waits for `events` (of poll) until the deadline; whether they came.
bool poll_until(int fd, short events, Clock::time_point deadline) noexcept;

}  // namespace flambeau::dist
