// The names that a toolkit's library is looked for by; see toolkit.h.
#include "device/cuda/toolkit.h"

#include <utility>
#include <vector>

#include "base/error.h"
#include "device/cuda/versions.h"

namespace flambeau::cuda {

Library open_of_toolkit(const ToolkitLibrary& library) {
  const int own = runtime_version() / 1000, served = driver_version() / 1000;
  std::vector<std::string> names{cat_text(library.soname, '.', own - library.behind)};
  for (int major : {13, 12})
    if (major != own && (major <= served || served == 0))
      names.push_back(cat_text(library.soname, '.', major - library.behind));
  std::vector<const char*> sonames;
  for (const std::string& name : names) sonames.push_back(name.c_str());
  const char* wheels[] = {"nvidia/cu13/lib", library.wheel_of_12};
  if (own == 12) std::swap(wheels[0], wheels[1]);  // a place that has any is asked no further
  const std::string fix = cat_text("pip install ", library.package, own == 12 ? "-cu12" : "");
  return Library::open({library.name, sonames, wheels, fix.c_str(), library.reject});
}

}  // namespace flambeau::cuda
