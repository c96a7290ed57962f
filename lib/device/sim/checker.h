// The happens-before checker. Every stream and the host have a vector clock; enqueuing, events and
// synchronisation join clocks exactly as the calls order the work. Each byte range remembers who
// touched it last, so a missing wait is found when the second access is enqueued, whatever order
// the schedule then runs them in. All host threads share one clock: they are taken to synchronise
// among themselves.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "device/runtime.h"

namespace flambeau::sim {

class Clock {
 public:
  uint32_t at(uint32_t who) const { return who < ticks_.size() ? ticks_[who] : 0; }
  void join(const Clock& other);
  uint32_t tick(uint32_t who);

 private:
  std::vector<uint32_t> ticks_;
};

inline constexpr uint32_t kHost = 0;  // stream numbers of the checker start at 1

enum class Touching : int8_t {
  work,
  acquire,
  release
};  // the latter two: the allocator's, on the block's stream

class Checker {
 public:
  struct Actor {
    uint32_t number;  // of the stream, in the checker
    Clock* clock;
    std::string name;  // "stream 3 of cuda:0"
  };

  // `op` (kept: a literal or interned) of `actor` touches the range; findings are appended to
  // `races`.
  void touch(const Actor& actor, const char* op, Touching kind, const Access& access,
             std::vector<std::string>& races);
  void forget(const void* data, size_t bytes);  // the segment went back to the device

 private:
  struct Touch {
    uint32_t number = kHost, tick = 0;
    const char* op = nullptr;
    std::string who;
  };
  struct Range {
    uintptr_t end;
    Touch write;
    std::vector<Touch> reads;
    bool released = false;
  };
  using Ranges = std::map<uintptr_t, Range>;

  Ranges::iterator split_at(uintptr_t at);
  void cover(uintptr_t begin, uintptr_t end);
  static bool ordered(const Touch& earlier, const Clock& now) {
    return now.at(earlier.number) >= earlier.tick;
  }
  static std::string describe(const Actor& actor, const char* op, Touching kind,
                              const Access& access, const Touch& other, bool other_wrote);

  Ranges ranges_;
};

}  // namespace flambeau::sim
