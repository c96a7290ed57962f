// See transfer.h.
#include "dist/transfer.h"

#include <sstream>

#include "base/error.h"

namespace flambeau::dist {

Transfer Transfer::of(const What& what, double seconds) {
  return {what.kind == Kind::send, what.peer, what.label, what.tag(0), seconds};
}

std::optional<Transfer> Transfer::parsed(const std::string& text) {
  std::istringstream parts(text);
  Transfer t{};
  if (parts >> t.sends >> t.peer >> t.label >> t.tag >> t.seconds) return t;
  return {};
}

std::string Transfer::text() const {
  return cat_text(int(sends), ' ', peer, ' ', label, ' ', tag, ' ', seconds);
}

bool never_meet(const Transfer& a, int from, const Transfer& b, int to) {
  return a.sends != b.sends && a.peer == to && b.peer == from && a.label == b.label &&
         a.tag != b.tag;
}

}  // namespace flambeau::dist
