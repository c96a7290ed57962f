// A send or recv that is under way, as ranks tell each other of it: whether two that name each
// other can ever meet. Dtype and number of elements are in the tag, so that ones that differ wait
// for somebody else's, who does not come.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "dist/call.h"

namespace flambeau::dist {

struct Transfer {
  bool sends;
  int32_t peer;  // -1: any
  int64_t label;
  uint64_t tag;
  double seconds;  // that a thread has waited for it

  static Transfer of(const What& what, double seconds);
  static std::optional<Transfer> parsed(const std::string& text);
  std::string text() const;
};

// Whether `a` of rank `from` and `b` of rank `to` wait for each other in vain.
bool never_meet(const Transfer& a, int from, const Transfer& b, int to);

}  // namespace flambeau::dist
