// How ranks find each other: each writes its address under a key of the store and reads the
// others'.
#include "dist/gloo/communicator.h"

#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>
#include <netdb.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

namespace flambeau::gloo_adaptor {
namespace {

class KeyValues final : public ::gloo::rendezvous::Store {
 public:
  KeyValues(const flam_dist_store& store, int64_t timeout_ms)
      : store_(store), timeout_ms_(timeout_ms) {}

  void set(const std::string& key, const std::vector<char>& data) override {
    check(store_.set(store_.user, key.c_str(), data.data(), data.size()), key);
  }
  std::vector<char> get(const std::string& key) override {
    std::vector<char> value;
    check(store_.get(store_.user, key.c_str(), timeout_ms_, &value, take), key);
    return value;
  }
  void wait(const std::vector<std::string>& keys) override {
    for (const std::string& key : keys) get(key);
  }
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds&) override {
    wait(keys);
  }

 private:
  static void take(void* into, const void* data, size_t size) {
    const auto* bytes = static_cast<const char*>(data);
    static_cast<std::vector<char>*>(into)->assign(bytes, bytes + size);
  }
  static void check(flam_dist_result result, const std::string& key) {
    if (result == FLAM_DIST_TIMEOUT)
      throw ::gloo::IoException("timed out waiting for the address of a rank (key " + key + ")");
    if (result != FLAM_DIST_OK) throw ::gloo::IoException("the store failed at key " + key);
  }

  const flam_dist_store& store_;
  int64_t timeout_ms_;
};

// What this machine is called, where that leads anywhere.
std::string own_name() {
  char host[256] = {};
  addrinfo* found = nullptr;
  if (gethostname(host, sizeof host - 1) || getaddrinfo(host, nullptr, nullptr, &found))
    return "127.0.0.1";
  freeaddrinfo(found);
  return host;
}

// By GLOO_SOCKET_IFNAME's interface, as programs for PyTorch choose it, else by the address of the
// interface that leads to the job's store.
std::shared_ptr<::gloo::transport::Device> device(const char* address) {
  ::gloo::transport::tcp::attr attributes;
  if (const char* name = std::getenv("GLOO_SOCKET_IFNAME"); name && *name) {
    attributes.iface = name;
  } else if (*address) {
    attributes.hostname = address;
  } else {
    attributes.hostname = own_name();
  }
  return ::gloo::transport::tcp::CreateDevice(attributes);
}

}  // namespace

std::shared_ptr<Communicator> Communicator::connect(const flam_dist_members& members) {
  auto context = std::make_shared<::gloo::rendezvous::Context>(members.rank, members.size);
  // Gloo waits for a connection five times as long as it is told.
  context->setTimeout(std::chrono::milliseconds(members.timeout_ms / 5 + 1));
  KeyValues store(*members.store, members.timeout_ms);
  auto through = device(members.address);
  context->connectFullMesh(store, through);
  context->setTimeout(std::chrono::milliseconds(members.timeout_ms));
  return std::make_shared<Communicator>(std::move(context));
}

// Closing connections wakes nobody who waits for them. What does is a wait whose time runs out: all
// connections of the context then fail, on both sides.
void Communicator::abort() noexcept {
  try {
    uint8_t nothing = 0;
    buffer(&nothing, 1)->waitRecv(nullptr, std::chrono::milliseconds(1));
  } catch (...) {  // as meant
  }
}

}  // namespace flambeau::gloo_adaptor
