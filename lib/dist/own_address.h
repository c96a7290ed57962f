// The address under which the others of a job reach this machine.
#pragma once
#include <string>

namespace flambeau::dist {

// Whether a host is this machine alone, as it is written: localhost, 127.0.0.1, ::1.
bool is_loopback(const std::string& host);
// Whether all of its addresses are this machine alone, whatever it is called.
bool means_loopback(const std::string& host);

// `found` is the address of the interface that leads to `host`. That may be the loopback although
// others see the host: where it is this machine, whose name many systems give to 127.0.1.1. Then
// the first other interface's; empty where there is none.
std::string own_address(const std::string& host, const std::string& found);

}  // namespace flambeau::dist
