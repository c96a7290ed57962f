// A store: the small table of keys and values by which the processes of a job find each other and
// say what happens to them. Values are bytes. Every call that waits has a deadline, after which it
// throws Code::collective_timeout naming the keys that are missing; a store whose server is gone
// throws Code::peer_lost. Calls of one store are safe on several threads and wait for each other,
// so who waits long takes a clone().
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/ref.h"

namespace flambeau::dist {

using Millis = std::chrono::milliseconds;
using Keys = std::vector<std::string>;

class Store : public RefCounted {
 public:
  virtual void set(const std::string& key, const std::string& value) = 0;
  virtual std::string get(const std::string& key, Millis timeout) = 0;  // waits until it is there
  virtual void append(const std::string& key, const std::string& value) = 0;
  // The number that `key` holds in decimal, none counting as 0, after `by` was added to it.
  virtual int64_t add(const std::string& key, int64_t by) = 0;
  // Writes `desired` where the key holds `expected`, or where it is not there and `expected` is
  // empty. What the key holds then; `expected` where it still is not there.
  virtual std::string compare_set(const std::string& key, const std::string& expected,
                                  const std::string& desired) = 0;
  virtual void wait(const Keys& keys, Millis timeout) = 0;
  virtual bool check(const Keys& keys) = 0;  // whether all are there
  virtual bool remove(const std::string& key) = 0;
  virtual int64_t num_keys() = 0;
  virtual Keys list_keys() = 0;  // in order; of a prefix its own, without it
  // A last will: appends `value` to `key` when this process is gone without withdraw(), killed or
  // crashed; within a second where the store can see it, never where it cannot (HashStore).
  virtual void will(const std::string& key, const std::string& value) = 0;
  virtual void withdraw() = 0;
  // Another one of the same table, which waits for itself.
  virtual Ref<Store> clone() = 0;
  virtual std::string describe() const = 0;          // "TCPStore(10.0.0.1:29500)"
  virtual uint16_t port() const { return 0; }        // of one over TCP, or a prefix of one
  virtual int64_t num_workers() const { return 0; }  // that reached the server in this process

  // The address of the interface that leads to the table; empty where it is on this machine.
  virtual std::string local_address() const { return {}; }

  Millis timeout() const { return timeout_; }
  void set_timeout(Millis t) { timeout_ = t; }

 protected:
  std::atomic<Millis> timeout_{std::chrono::minutes(5)};  // of calls that are given none
};

struct TcpOptions {
  std::string host;
  uint16_t port = 0;             // 0, of a server: one that is free
  bool is_server = false;        // this process holds the table, in a thread of its own
  int64_t world_size = 0;        // processes that will connect; 0: not known
  bool wait_for_workers = true;  // of a server: return when world_size of them have
  Millis timeout{std::chrono::minutes(5)};
  std::string listen;  // of a server: the interface's address; empty: host's
  int listen_fd = -1;  // of a server: a socket that already listens; taken over
  std::string key;     // the job's; empty: FLAMBEAU_JOB_KEY's
  std::string named;   // the host as the program named it; empty: `host`
};

Ref<Store> hash_store();
Ref<Store> file_store(const std::string& path, int64_t world_size);
Ref<Store> tcp_store(const TcpOptions& options);
uint16_t tcp_port(const Store& store);  // of a tcp_store, or of a prefix over one; 0 of others
Ref<Store> prefix_store(const std::string& prefix, Ref<Store> store);

}  // namespace flambeau::dist
