// A store over TCP, and where the process was told to, its server beside it. One request is under
// way at a time; the server keeps the time of what waits, and this end's own deadline, a second
// later, is for servers that no longer answer. In a forked child the store says so, because its
// connection is the parent's.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <mutex>

#include "base/error.h"
#include "dist/own_address.h"
#include "dist/tcp_connection.h"
#include "dist/tcp_server.h"

namespace flambeau::dist {

namespace {

constexpr Millis kGrace{1000};

class TcpStore final : public Store {
 public:
  TcpStore(TcpOptions options, std::shared_ptr<TcpServer> server, bool worker)
      : options_(std::move(options)),
        server_(std::move(server)),
        process_(::getpid()),
        connection_(options_.host, options_.port) {
    timeout_ = options_.timeout;
    connection_.connect(options_.key, worker, options_.timeout);
  }

  void set(const std::string& key, const std::string& value) override {
    check_entry(key, value);
    call({Op::set, 0, 0, {key}, {value}});
  }
  std::string get(const std::string& key, Millis timeout) override {
    return await({Op::get, 0, 0, {key}, {}}, timeout);
  }
  void append(const std::string& key, const std::string& value) override {
    check_entry(key, value);
    call({Op::append, 0, 0, {key}, {value}});
  }
  int64_t add(const std::string& key, int64_t by) override {
    return call({Op::add, 0, by, {key}, {}}).number;
  }
  std::string compare_set(const std::string& key, const std::string& expected,
                          const std::string& desired) override {
    check_entry(key, expected);
    check_entry(key, desired);
    return std::move(call({Op::compare_set, 0, 0, {key}, {expected, desired}}).values[0]);
  }
  void wait(const Keys& keys, Millis timeout) override {
    await({Op::wait, 0, 0, keys, {}}, timeout);
  }
  bool check(const Keys& keys) override { return call({Op::check, 0, 0, keys, {}}).number != 0; }
  bool remove(const std::string& key) override {
    return call({Op::remove, 0, 0, {key}, {}}).number != 0;
  }
  int64_t num_keys() override { return call({Op::num_keys, 0, 0, {}, {}}).number; }
  Keys list_keys() override { return keys_of(call({Op::list_keys, 0, 0, {}, {}}).values[0]); }
  void will(const std::string& key, const std::string& value) override {
    check_entry(key, value);
    call({Op::will, 0, 0, {key}, {value}});
  }
  void withdraw() override { call({Op::withdraw, 0, 0, {}, {}}); }

  Ref<Store> clone() override {
    check_process();
    TcpOptions same = options_;
    same.timeout = timeout();
    return make_ref<TcpStore>(std::move(same), server_, false);
  }

  std::string describe() const override { return "TCPStore(" + connection_.where() + ")"; }
  uint16_t port() const override { return options_.port; }
  std::string local_address() const override {
    return own_address(options_.named, connection_.local_address());
  }
  int64_t num_workers() const override { return server_ ? server_->workers() : 0; }

 private:
  void check_process() const {
    flambeau::check(process_ == ::getpid(), Code::unsupported, describe(),
                    ": its connection stayed in the process that was forked; make a store in the "
                    "child");
  }

  Message call(Message request) {
    const Millis timeout = this->timeout();
    return ask(std::move(request), timeout, deadline_after(timeout));
  }

  // The server says when the time is over, and which keys are missing.
  std::string await(Message request, Millis timeout) {
    request.number = std::max<int64_t>(timeout.count(), 0);
    const auto deadline = deadline_after(timeout) + kGrace;
    Message answer = ask(std::move(request), timeout, deadline);
    if (answer.op == Op::late) fail_timeout(describe(), answer.keys, timeout);
    return std::move(answer.values[0]);
  }

  Message ask(Message request, Millis timeout, Clock::time_point deadline) {
    check_process();  // before the lock, which a thread of the parent may have had
    check_keys(request.keys);
    const std::lock_guard lock(mutex_);
    return connection_.call(std::move(request), deadline, timeout);
  }

  TcpOptions options_;
  std::shared_ptr<TcpServer> server_;
  pid_t process_;
  std::mutex mutex_;
  TcpConnection connection_;  // locked
};

bool is_any(const std::string& host) { return host == "0.0.0.0" || host == "::"; }

// The interfaces that the program named. A host that is this machine by its name has to be reached
// by others, who know it by another address than this machine may; unless there are no others.
std::string interface_of(const TcpOptions& o) {
  if (!o.listen.empty() || o.world_size == 1) return o.listen.empty() ? o.host : o.listen;
  return !is_loopback(o.host) && means_loopback(o.host) ? "0.0.0.0" : o.host;
}

std::shared_ptr<TcpServer> serve(TcpOptions& o) {
  Listening listening =
      o.listen_fd >= 0 ? listen_on(o.listen_fd) : listen_at(interface_of(o), o.port);
  o.port = listening.port;
  // The address by which this process reaches itself.
  if (o.listen_fd < 0 && !o.listen.empty() && !is_any(o.listen)) o.host = o.listen;
  if (is_any(o.host)) o.host = o.host == "::" ? "::1" : "127.0.0.1";
  return std::make_shared<TcpServer>(std::move(listening), o.key);
}

void wait_for_workers(const TcpServer& server, const TcpOptions& o) {
  const int64_t joined = server.wait_workers(o.world_size, deadline_after(o.timeout));
  if (joined >= o.world_size) return;
  throw Error(Code::collective_timeout,
              cat_text("store: timed out after ", o.timeout.count(),
                       "ms waiting for workers: ", joined, " of ", o.world_size, " joined"),
              "the others did not start, or connect to another address",
              "start as many processes as world_size says, or give a longer timeout");
}

}  // namespace

Ref<Store> tcp_store(const TcpOptions& options) {
  TcpOptions o = options;
  if (o.named.empty()) o.named = o.host;
  check(!o.host.empty(), Code::invalid_argument,
        "store: the host is empty; name the machine that "
        "holds the store, such as 127.0.0.1");
  check(o.is_server || o.port != 0, Code::invalid_argument,
        "store: port 0 is for the process that holds the store; others need its port");
  if (const char* set = o.key.empty() ? std::getenv("FLAMBEAU_JOB_KEY") : nullptr) o.key = set;
  check(o.key.size() <= kMaxJobKey, Code::invalid_argument, "store: the job's key has ",
        o.key.size(), " bytes; it has at most ", kMaxJobKey);
  const auto server = o.is_server ? serve(o) : nullptr;
  auto store = make_ref<TcpStore>(o, server, true);
  if (server && o.wait_for_workers && o.world_size > 0) wait_for_workers(*server, o);
  return store;
}

uint16_t tcp_port(const Store& store) { return store.port(); }

}  // namespace flambeau::dist
