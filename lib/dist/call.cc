// Tags and texts of calls. See call.h.
#include "dist/call.h"

#include "base/error.h"

namespace flambeau::dist {
namespace {

constexpr const char* kKinds[] = {
    "all_reduce",     "reduce",     "broadcast", "all_gather", "gather", "scatter",
    "reduce_scatter", "all_to_all", "barrier",   "send",       "recv"};
constexpr const char* kOps[] = {"",    "sum",  "avg", "product", "min",
                                "max", "band", "bor", "bxor",    "premul_sum"};

// splitmix64's finalizer (Steele, Lea and Flood, 2014): a bijection that spreads every bit.
uint64_t mixed(uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

}  // namespace

const char* name_of(Kind kind) { return kKinds[int(kind)]; }

std::string What::text() const {
  std::string parts;
  const auto add = [&](const std::string& part) { parts += (parts.empty() ? "" : ", ") + part; };
  if (dtype != Dtype::none) add(cat_text(name_of(dtype), ShapeText{sizes}));
  if (op != ReduceOp::none) add(kOps[int(op)]);
  if (kind == Kind::send) add(cat_text("to rank ", peer));
  if (kind == Kind::recv) add(peer < 0 ? "from any rank" : cat_text("from rank ", peer));
  if (!pairwise() && peer >= 0) add(cat_text("root ", peer));
  if (pairwise() && label) add(cat_text("tag ", label));
  return cat_text(name_of(kind), '(', parts, ')');
}

uint64_t What::tag(uint64_t sequence) const {
  // Two that transfer have begun different numbers of calls, and name each other.
  const uint64_t order = pairwise() ? uint64_t(label) + (uint64_t{1} << 63) : sequence;
  uint64_t tag = mixed(order + 0x9e3779b97f4a7c15);
  tag = mixed(tag ^ (pairwise() ? uint64_t(Kind::send) : uint64_t(kind)) ^ uint64_t(dtype) << 8 ^
              uint64_t(op) << 16 ^ (pairwise() ? 0 : uint64_t(uint32_t(peer)) << 32));
  return mixed(tag ^ uint64_t(count));
}

}  // namespace flambeau::dist
