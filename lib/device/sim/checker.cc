// Clocks and the map of ranges; see checker.h.
#include "device/sim/checker.h"

#include <algorithm>

#include "base/error.h"

namespace flambeau::sim {

void Clock::join(const Clock& other) {
  if (other.ticks_.size() > ticks_.size()) ticks_.resize(other.ticks_.size());
  for (size_t i = 0; i < other.ticks_.size(); ++i) ticks_[i] = std::max(ticks_[i], other.ticks_[i]);
}

uint32_t Clock::tick(uint32_t who) {
  if (who >= ticks_.size()) ticks_.resize(who + 1);
  return ++ticks_[who];
}

// The range that begins at `at`, cut off an existing one if need be; or the first one after it.
Checker::Ranges::iterator Checker::split_at(uintptr_t at) {
  auto it = ranges_.lower_bound(at);
  if (it == ranges_.begin() || (it != ranges_.end() && it->first == at)) return it;
  auto before = std::prev(it);
  if (before->second.end <= at) return it;
  Range rest = before->second;
  before->second.end = at;
  return ranges_.emplace(at, std::move(rest)).first;
}

// Fills the gaps, so that [begin, end) is exactly a run of ranges.
void Checker::cover(uintptr_t begin, uintptr_t end) {
  split_at(begin);
  split_at(end);
  for (uintptr_t at = begin; at < end;) {
    auto it = ranges_.lower_bound(at);
    const uintptr_t next = it == ranges_.end() ? end : std::min(end, it->first);
    if (next > at) ranges_.emplace(at, Range{next, {}, {}});
    at = next > at ? next : it->second.end;
  }
}

void Checker::touch(const Actor& actor, const char* op, Touching kind, const Access& access,
                    std::vector<std::string>& races) {
  if (access.bytes == 0) return;
  const uintptr_t begin = reinterpret_cast<uintptr_t>(access.data), end = begin + access.bytes;
  cover(begin, end);
  const Touch mine{actor.number, actor.clock->at(actor.number), op, actor.name};
  const size_t found_before = races.size();
  const auto found = [&](std::string text) {
    if (races.size() == found_before)
      races.push_back(std::move(text));  // one finding per access is enough
  };
  for (auto it = ranges_.find(begin); it != ranges_.end() && it->first < end; ++it) {
    Range& r = it->second;
    if (r.released && kind == Touching::work)
      found(cat_text("\"", op, "\" on ", actor.name, " uses ", access.bytes, " bytes at ",
                     access.data, " after they were freed"));
    if (!ordered(r.write, *actor.clock)) found(describe(actor, op, kind, access, r.write, true));
    if (access.write) {
      for (const Touch& read : r.reads)
        if (!ordered(read, *actor.clock)) found(describe(actor, op, kind, access, read, false));
      continue;
    }
    std::erase_if(r.reads, [&](const Touch& t) { return t.number == actor.number; });
    r.reads.push_back(mine);
  }
  if (!access.write) return;
  ranges_.erase(ranges_.find(begin), ranges_.lower_bound(end));
  ranges_.emplace(begin, Range{end, mine, {}, kind == Touching::release});
}

std::string Checker::describe(const Actor& actor, const char* op, Touching kind,
                              const Access& access, const Touch& other, bool other_wrote) {
  if (kind == Touching::release)
    return cat_text("memory of ", actor.name, " was freed while \"", other.op, "\" on ", other.who,
                    " may still use it (", access.bytes, " bytes at ", access.data,
                    "): missing record_stream for ", other.who,
                    ", or a wait before the tensor is dropped");
  return cat_text("\"", op, "\" on ", actor.name, access.write ? " writes " : " reads ",
                  access.bytes, " bytes at ", access.data, " that \"", other.op, "\" on ",
                  other.who, other_wrote ? " writes" : " reads",
                  ", and nothing orders the two: missing wait_stream or event: ", actor.name,
                  " must wait for ", other.who);
}

void Checker::forget(const void* data, size_t bytes) {
  const uintptr_t begin = reinterpret_cast<uintptr_t>(data), end = begin + bytes;
  const auto first = split_at(begin);
  const uintptr_t from = first == ranges_.end() ? end : first->first;
  split_at(end);
  ranges_.erase(ranges_.lower_bound(std::min(from, end)), ranges_.lower_bound(end));
}

}  // namespace flambeau::sim
