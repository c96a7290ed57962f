// The one exception of the engine. It carries the ABI's status code and the parts of the message
// that bindings show: a one-line problem, facts, the likely cause, and the line that fixes it.
// Thrown anywhere, caught only at the ABI (lib/capi), where it becomes the thread's error record.
#pragma once
#include <cstdint>
#include <exception>
#include <sstream>
#include <string>

namespace flambeau {

enum class Code : int32_t {  // values are the ABI's FLAM_ERROR_*
  ok,
  invalid_argument,
  shape,
  dtype,
  device_mismatch,
  index,
  out_of_device_memory,
  out_of_host_memory,
  no_gpu,
  driver_too_old,
  no_kernel_image,
  library_missing,
  library_version,
  abi_version,
  device_lost,
  collective_timeout,
  non_finite,
  graph_capture,
  io,
  callback,
  unsupported,
  internal,
  autograd,
  scope,
  linalg,
  recompute,
  peer_lost
};

class Error : public std::exception {
 public:
  Error(Code code, std::string problem, std::string facts = {}, std::string fix = {});
  const char* what() const noexcept override { return text_.c_str(); }

  Code code;
  std::string problem, facts, fix;
  void* payload = nullptr;  // a callback's own exception object, owned by whoever takes the record
  void (*drop_payload)(void*) = nullptr;

 private:
  std::string text_;  // the parts joined by newlines, facts and fix indented
};

template <class... Parts> std::string cat_text(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

template <class... Parts> [[noreturn]] void fail(Code code, const Parts&... parts) {
  throw Error(code, cat_text(parts...));
}

template <class... Parts> void check(bool ok, Code code, const Parts&... parts) {
  if (!ok) [[unlikely]]
    fail(code, parts...);
}

}  // namespace flambeau
