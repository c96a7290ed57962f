// The sink of the process. A warning that is being given keeps its sink, so that another one may
// be set meanwhile, by the sink itself too.
#include "base/warning.h"

#include <mutex>
#include <utility>

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
