// Structs of options of other sizes than this library's: which are taken, and what is said of the
// others.
#include "capi/options.h"

namespace flambeau::capi {

namespace {

constexpr size_t kMost = 4096;  // bytes of any struct of options to come

}  // namespace

void check_options_size(const void* given, size_t size, std::span<const size_t> ends) {
  const size_t known = ends.back();
  const auto* bytes = static_cast<const unsigned char*>(given);
  const bool taken =
      size < known ? size > ends.front() && std::find(ends.begin(), ends.end(), size) != ends.end()
                   : size <= kMost &&
                         std::all_of(bytes + known, bytes + size, [](auto b) { return b == 0; });
  check(
      taken, Code::invalid_argument, "options: struct_size is ", size, ", and the library knows ",
      known,
      size > known && size <= kMost
          ? ": what lies beyond is not all zero, an option of newer headers; leave it out, or open "
            "a library as new as the headers"
          : ": no field ends there; begin with the struct's _INIT or its init function");
}

void fail_reserved(int32_t value) {
  fail(Code::invalid_argument, "options: reserved is ", value,
       ", and must be 0; begin with the struct's _INIT or its init function");
}

}  // namespace flambeau::capi
