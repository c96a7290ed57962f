// How ranks find each other: each writes the addresses of its connections under a key of the store
// and reads the others'. See mesh.h.
#include "dist/gloo/mesh.h"

#include <gloo/common/error.h>
#include <gloo/transport/context.h>
#include <gloo/transport/device.h>
#include <gloo/transport/pair.h>
#include <gloo/transport/tcp/device.h>
#include <netdb.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace flambeau::gloo_adaptor {
namespace {

// What this machine is called, where that leads anywhere.
std::string own_name() {
  char host[256] = {};
  addrinfo* found = nullptr;
  if (gethostname(host, sizeof host - 1) || getaddrinfo(host, nullptr, nullptr, &found))
    return "127.0.0.1";
  freeaddrinfo(found);
  return host;
}

void check(flam_dist_result result) {
  if (result == FLAM_DIST_TIMEOUT) throw ::gloo::IoException("timed out");
  if (result != FLAM_DIST_OK) throw ::gloo::IoException("the job's store failed");
}

void take(void* into, const void* data, size_t size) {
  const auto* bytes = static_cast<const char*>(data);
  static_cast<std::vector<char>*>(into)->assign(bytes, bytes + size);
}

}  // namespace

// By GLOO_SOCKET_IFNAME's interface, as programs for PyTorch choose it, else by the address of the
// interface that leads to the job's store.
Device device_at(const char* address) {
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

Mesh::Mesh(const flam_dist_members& members, Device device, std::string name)
    : Context(members.rank, members.size), name_(std::move(name)) {
  device_ = std::move(device);
  transportContext_ = device_->createContext(rank, size);
  transportContext_->setTimeout(::gloo::kNoTimeout);
  for (int r = 0; r < size; r++)
    if (r != rank) transportContext_->createPair(r);
}

void Mesh::connect(const flam_dist_members& members,
                   std::chrono::steady_clock::time_point deadline) {
  using std::chrono::milliseconds;
  const flam_dist_store& store = *members.store;
  const auto key = [&](int from, int to) {
    return name_ + "/" + std::to_string(from) + "/" + std::to_string(to);
  };
  for (int r = 0; r < size; r++) {
    if (r == rank) continue;
    const std::vector<char> own = getPair(r)->address().bytes();
    check(store.set(store.user, key(rank, r).c_str(), own.data(), own.size()));
  }
  for (int r = 0; r < size; r++) {
    if (r == rank) continue;
    awaited_ = r;
    const auto left = deadline - std::chrono::steady_clock::now();
    const auto limit = std::max(std::chrono::ceil<milliseconds>(left), milliseconds(1)).count();
    std::vector<char> theirs;
    check(store.get(store.user, key(r, rank).c_str(), limit, &theirs, take));
    getPair(r)->connect(theirs);
  }
}

// Closing connections wakes nobody who waits for them. What does is a wait whose time runs out: all
// connections of the context then fail, on both sides.
void Mesh::end() noexcept {
  try {
    char nothing = 0;
    createUnboundBuffer(&nothing, 1)->waitRecv(nullptr, std::chrono::milliseconds(1));
  } catch (...) {  // as meant
  }
}

}  // namespace flambeau::gloo_adaptor
