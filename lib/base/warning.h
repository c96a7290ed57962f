// Warnings: what a program may want to change, although its call works. They go to one sink of the
// process, which may refuse one: what it throws fails the call. So a warning is given before
// anything is written and with no lock held. Nobody listens until a sink is set, and nothing is
// printed: what a warning does is the program's to say.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/error.h"

namespace flambeau {

enum class Warning : int32_t { user = 1 };  // values are the ABI's FLAM_WARNING_*

class WarningSink {
 public:
  virtual ~WarningSink() = default;
  virtual void warn(Warning kind, const std::string& text) = 0;
};

void set_warning_sink(std::shared_ptr<WarningSink> sink);  // null: nobody listens
void give_warning(Warning kind, const std::string& text);

inline std::atomic<bool> warnings_heard = false;
inline std::atomic<bool> warn_always = false;  // those that are given once, too

template <class... Parts> void warn(const Parts&... parts) {
  if (warnings_heard) give_warning(Warning::user, cat_text(parts...));
}

// What a program is told once: a static variable where the warning is given.
class ToldOnce {
 public:
  template <class... Parts> void warn(const Parts&... parts) {
    if (warnings_heard && (!told_.exchange(true) || warn_always)) flambeau::warn(parts...);
  }

 private:
  std::atomic<bool> told_ = false;
};

}  // namespace flambeau
