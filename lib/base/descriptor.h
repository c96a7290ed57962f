// Writing to a file descriptor of the program's. Invariant: a reader that has gone away is an
// answer here, EPIPE, and never the signal that would end the program.
#pragma once
#include <string_view>

namespace flambeau {

// Whether all of it was taken; where it was not, errno says why.
bool write_all(int descriptor, std::string_view text) noexcept;

}  // namespace flambeau
