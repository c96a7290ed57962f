// The sink of the process. A warning that is being given keeps its sink, so that another one may
// be set meanwhile, by the sink itself too. The first is told which settings were not understood.
#include "base/warning.h"

#include <mutex>
#include <utility>

#include "base/setting.h"

namespace flambeau {

namespace {

struct Place {
  std::mutex mutex;
  std::shared_ptr<WarningSink> sink;
};
Place& place() {
  static Place& made = *new Place;  // leaked: threads may warn while statics are torn down
  return made;
}

}  // namespace

void set_warning_sink(std::shared_ptr<WarningSink> sink) {
  Place& p = place();
  {
    const std::lock_guard lock(p.mutex);
    warnings_heard = sink != nullptr;
    std::swap(p.sink, sink);
  }  // the one before ends here, or with the warning that it is given
  static std::atomic<bool> told = false;
  if (warnings_heard && !told.exchange(true)) {
    for (const std::string& text : setting_problems()) warn(text, "; it is ignored");
  }
}

void give_warning(Warning kind, const std::string& text) {
  std::shared_ptr<WarningSink> sink;
  {
    Place& p = place();
    const std::lock_guard lock(p.mutex);
    sink = p.sink;
  }
  if (sink) sink->warn(kind, text);
}

}  // namespace flambeau
