// See own_address.h.
#include "dist/own_address.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>

#include <memory>

namespace flambeau::dist {
namespace {

std::string text_of(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = {};
  const socklen_t size = address->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  const int failed = ::getnameinfo(address, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
  return failed ? std::string() : text;
}

std::string other_interface() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owned(list, ::freeifaddrs);
  for (const ifaddrs* i = list; i; i = i->ifa_next) {
    const bool usable = i->ifa_addr && i->ifa_addr->sa_family == AF_INET &&
                        (i->ifa_flags & IFF_UP) && !(i->ifa_flags & IFF_LOOPBACK);
    if (usable) return text_of(i->ifa_addr);
  }
  return {};
}

}  // namespace

bool is_loopback(const std::string& host) {
  return host == "localhost" || host.starts_with("127.") || host == "::1";
}

bool means_loopback(const std::string& host) {
  addrinfo* list = nullptr;
  if (::getaddrinfo(host.c_str(), nullptr, nullptr, &list) != 0) return false;
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(list, ::freeaddrinfo);
  for (const addrinfo* i = list; i; i = i->ai_next)
    if (!is_loopback(text_of(i->ai_addr))) return false;
  return true;
}

std::string own_address(const std::string& host, const std::string& found) {
  if (is_loopback(host) || !is_loopback(found)) return found;
  const std::string other = other_interface();
  return other.empty() ? found : other;
}

}  // namespace flambeau::dist
