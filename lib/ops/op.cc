// The names of an op's operands, for error texts.
#include "ops/op.h"

#include <cstring>

namespace flambeau {

std::string Op::operand(size_t i) const {
  const char* at = operands;
  for (size_t n = i; n > 0 && (at = std::strchr(at, ' ')); --n) ++at;
  if (!at || !*at) return "operand " + std::to_string(i);
  return {at, std::strcspn(at, " ")};
}

}  // namespace flambeau
