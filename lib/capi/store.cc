// Targets of store.h: seconds become milliseconds, values tensors of bytes.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <tuple>

#include "base/error.h"
#include "capi/gen/targets.h"
#include "capi/quiet.h"
#include "dist/store.h"

namespace flambeau::capi {
namespace {

using Bytes = std::span<const uint8_t>;

std::string text(Bytes bytes) { return {bytes.begin(), bytes.end()}; }

dist::Keys listed(std::span<const char* const> keys) { return {keys.begin(), keys.end()}; }

Tensor bytes_of(const std::string& value) {
  Tensor t = empty({{int64_t(value.size())}}, Dtype::u8, kCpu);
  if (!value.empty()) std::memcpy(t.data(), value.data(), value.size());
  return t;
}

dist::Millis millis(double seconds) {
  constexpr double most = 1e9;  // beyond what anybody waits for, and within 64 bits
  return dist::Millis(int64_t(std::ceil(std::min(seconds, most) * 1000)));
}

dist::Millis timeout_of(const flam_store* store, double seconds) {
  return seconds >= 0 ? millis(seconds) : store->store->timeout();
}

Ref<flam_store> handle_of(Ref<dist::Store> store) { return make_ref<flam_store>(std::move(store)); }

void check_time(double seconds) {
  check(seconds > 0, Code::invalid_argument, "store: the timeout is ", seconds,
        " seconds; it must be above 0");
}

}  // namespace

Ref<flam_store> store_tcp(std::string_view host, int32_t port, bool is_server,
                          bool wait_for_workers, int64_t world_size, double timeout,
                          std::string_view listen, std::string_view key, int32_t listen_fd) {
  check(port >= 0 && port <= 65535, Code::invalid_argument, "store: the port is ", port,
        "; ports are from 0 to 65535");
  check(world_size >= 0, Code::invalid_argument, "store: world_size is ", world_size,
        "; it must be above 0, or 0 where it is not known");
  check_time(timeout);
  dist::TcpOptions o;
  o.host = host;
  o.port = uint16_t(port);
  o.is_server = is_server;
  o.wait_for_workers = wait_for_workers;
  o.world_size = world_size;
  o.timeout = millis(timeout);
  o.listen = listen;
  o.key = key;
  o.listen_fd = listen_fd;
  return handle_of(dist::tcp_store(o));
}

Ref<flam_store> store_file(std::string_view path, int64_t world_size) {
  return handle_of(dist::file_store(std::string(path), world_size));
}

Ref<flam_store> store_hash() { return handle_of(dist::hash_store()); }

Ref<flam_store> store_prefix(std::string_view prefix, const flam_store* store) {
  return handle_of(dist::prefix_store(std::string(prefix), store->store));
}

Ref<flam_store> store_clone(const flam_store* store) { return handle_of(store->store->clone()); }

void store_set(flam_store* store, std::string_view key, Bytes value) {
  store->store->set(std::string(key), text(value));
}

Tensor store_get(flam_store* store, std::string_view key, double timeout) {
  return bytes_of(store->store->get(std::string(key), timeout_of(store, timeout)));
}

void store_append(flam_store* store, std::string_view key, Bytes value) {
  store->store->append(std::string(key), text(value));
}

int64_t store_add(flam_store* store, std::string_view key, int64_t by) {
  return store->store->add(std::string(key), by);
}

Tensor store_compare_set(flam_store* store, std::string_view key, Bytes expected, Bytes desired) {
  return bytes_of(store->store->compare_set(std::string(key), text(expected), text(desired)));
}

void store_wait(flam_store* store, std::span<const char* const> keys, double timeout) {
  store->store->wait(listed(keys), timeout_of(store, timeout));
}

bool store_ready(flam_store* store, std::span<const char* const> keys, double seconds) {
  const dist::Keys all = listed(keys);
  try {
    store->store->wait(all, millis(std::max(seconds, 0.0)));
    return true;
  } catch (const Error& e) {
    if (e.code != Code::collective_timeout) throw;
    return false;
  }
}

bool store_check(flam_store* store, std::span<const char* const> keys) {
  return store->store->check(listed(keys));
}

bool store_delete_key(flam_store* store, std::string_view key) {
  return store->store->remove(std::string(key));
}

int64_t store_num_keys(flam_store* store) { return store->store->num_keys(); }

Tensor store_list_keys(flam_store* store) {
  std::string all;
  for (const std::string& key : store->store->list_keys()) (all += key) += '\0';
  return bytes_of(all);
}

double store_timeout(const flam_store* store) {
  return double(store->store->timeout().count()) / 1000;
}

void store_set_timeout(flam_store* store, double seconds) {
  check_time(seconds);
  store->store->set_timeout(millis(seconds));
}

int32_t store_port(const flam_store* store) { return store->store->port(); }
int64_t store_num_workers(const flam_store* store) { return store->store->num_workers(); }

const char* store_describe(const flam_store* store) {
  return borrowed_text([&] { return store->store->describe(); });
}

}  // namespace flambeau::capi
