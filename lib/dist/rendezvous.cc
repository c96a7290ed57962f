// See rendezvous.h.
#include "dist/rendezvous.h"

#include <charconv>
#include <cstdlib>

#include "base/error.h"
#include "dist/mpi_library.h"

namespace flambeau::dist {
namespace {

int64_t number(const std::string& text, const std::string& what) {
  int64_t n = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, n);
  check(error == std::errc() && stop == end, Code::invalid_argument, "init_process_group: ", what,
        " is no number: \"", text, '"');
  return n;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  check(value && *value, Code::invalid_argument,
        "Error initializing torch.distributed using env:// rendezvous: environment variable ", name,
        " expected, but not set");
  return value;
}

struct Url {
  std::string scheme, rest;
  std::string rank, size;  // of the query; empty: not there
};

Url parsed(const std::string& method) {
  const size_t colon = method.find("://");
  check(colon != method.npos, Code::invalid_argument, "init_process_group: init_method \"", method,
        "\" is no URL; it begins with env://, tcp:// or file://");
  Url url{method.substr(0, colon), method.substr(colon + 3), {}, {}};
  const size_t query = url.rest.find('?');
  if (query == url.rest.npos) return url;
  std::string pairs = url.rest.substr(query + 1) + '&';
  url.rest.resize(query);
  for (size_t at = 0, next; (next = pairs.find('&', at)) != pairs.npos; at = next + 1) {
    const std::string pair = pairs.substr(at, next - at);
    if (pair.starts_with("rank=")) url.rank = pair.substr(5);
    if (pair.starts_with("world_size=")) url.size = pair.substr(11);
  }
  return url;
}

TcpOptions at_address(const std::string& address) {
  const size_t colon = address.rfind(':');
  check(colon != address.npos && colon > 0, Code::invalid_argument, "init_process_group: tcp://",
        address, " lacks a host or a port; write tcp://host:port");
  std::string host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  const int64_t port = number(address.substr(colon + 1), "the port");
  check(port > 0 && port < 65536, Code::invalid_argument, "init_process_group: port ", port,
        " is out of range");
  TcpOptions options;
  options.host = host;
  options.port = uint16_t(port);
  return options;
}

// Launchers keep the store themselves, so that it outlives a rank that dies.
bool store_of_launcher() {
  const char* said = std::getenv("TORCHELASTIC_USE_AGENT_STORE");
  return said && std::string(said) == "True";
}

Ref<Store> tcp(TcpOptions options, int64_t rank, int64_t size, Millis timeout, bool launched) {
  options.is_server = rank == 0 && !launched;
  options.world_size = size;
  options.wait_for_workers = false;
  options.timeout = timeout;
  Ref<Store> store = tcp_store(options);
  if (!launched) return store;
  const char* restarts = std::getenv("TORCHELASTIC_RESTART_COUNT");
  std::string prefix = cat_text("/worker/attempt_", restarts ? restarts : "0");
  // Which of the launchers' meetings it is, where nodes come and go.
  const char* nodes = std::getenv("FLAMBEAU_ROUND");
  if (nodes && *nodes) prefix += cat_text("/round_", nodes);
  return prefix_store(prefix, store);
}

}  // namespace

Rendezvous find_others_by_mpi(Millis timeout) {
  const MpiJob job = mpi_job(timeout);
  return {job.store, job.rank, job.size};
}

Rendezvous find_others(const std::string& method, int64_t rank, int64_t size, Millis timeout) {
  const Url url = parsed(method);
  const bool environment = url.scheme == "env";
  if (rank < 0 && !url.rank.empty()) rank = number(url.rank, "rank=");
  if (size < 0 && !url.size.empty()) size = number(url.size, "world_size=");
  if (rank < 0 && environment) rank = number(variable("RANK"), "RANK");
  if (size < 0 && environment) size = number(variable("WORLD_SIZE"), "WORLD_SIZE");
  check(rank >= 0 && size > rank, Code::invalid_argument,
        "init_process_group needs a rank and a world_size, but got rank=", rank,
        " and world_size=", size);
  if (environment) {
    const std::string host = variable("MASTER_ADDR");
    const TcpOptions options = at_address(cat_text(host, ':', variable("MASTER_PORT")));
    if (size == 1 && !store_of_launcher()) return {hash_store(), rank, size};
    return {tcp(options, rank, size, timeout, store_of_launcher()), rank, size};
  }
  if (url.scheme == "tcp")
    return {tcp(at_address(url.rest), rank, size, timeout, false), rank, size};
  check(url.scheme == "file", Code::invalid_argument, "init_process_group: init_method ", method,
        " is not known; it begins with env://, tcp:// or file://");
  return {file_store(url.rest, size), rank, size};
}

}  // namespace flambeau::dist
