// The search; see library.h.
#include "device/library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/error.h"

namespace flambeau {
namespace {

struct State {
  std::mutex mutex;
  std::vector<std::string> directories;
  std::map<std::string, std::string> searches;  // by library, the last search
};
State& state() {
  static State& s = *new State;
  return s;
}

std::string path_of_this_library() {
  Dl_info info{};
  if (!dladdr(reinterpret_cast<void*>(&path_of_this_library), &info) || !info.dli_fname) return {};
  return info.dli_fname;
}

std::string directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? "." : path.substr(0, slash);
}

// What a link stands for, as in a build's folder; the path itself where it is none.
std::string without_links(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real{::realpath(path.c_str(), nullptr), std::free};
  return real ? real.get() : path;
}

struct Place {
  std::string directory;  // empty: by name alone
  const char* why;
};

std::vector<Place> places(const LibrarySpec& spec) {
  std::vector<Place> all;
  if (const std::string path = path_of_this_library(); !path.empty()) {
    const std::string here = directory_of(path), real = directory_of(without_links(path));
    all.push_back({here, "beside libflambeau"});
    if (real != here) all.push_back({real, "beside the file that libflambeau is a link to"});
    for (const char* wheel : spec.wheel_dirs)  // site-packages/flambeau[/lib]/libflambeau.so
      for (const char* up : {"/../", "/../../"})
        all.push_back({here + up + wheel, "in the wheel beside libflambeau"});
  }
  for (const std::string& d : state().directories) {
    all.push_back({d, "in a directory that was named"});
    for (const char* wheel : spec.wheel_dirs)
      all.push_back({d + "/" + wheel, "under a directory that was named"});
  }
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* root = std::getenv(variable))
      for (const char* lib : {"/lib64", "/lib"}) all.push_back({std::string(root) + lib, variable});
  all.push_back({"", "the system's search path"});
  return all;
}

std::string real_path(void* handle, const std::string& tried) {
  char origin[4096];
  if (dlinfo(handle, RTLD_DI_ORIGIN, origin) != 0) return tried;
  return cat_text(origin, '/', tried.substr(tried.rfind('/') + 1));
}

struct Search {
  const LibrarySpec& spec;
  std::string tried;  // one line per place
  bool rejected = false;
  std::string path;

  void* accept(void* handle, const std::string& name, const char* why) {
    const std::string reason = spec.reject ? spec.reject(handle) : std::string();
    const std::string where = real_path(handle, name);
    tried += cat_text(spec.name, ": ", where, " (", why,
                      "): ", reason.empty() ? "used" : "rejected: " + reason, '\n');
    if (reason.empty()) {
      path = where;
      return handle;
    }
    rejected = true;
    dlclose(handle);
    return nullptr;
  }

  void* attempt(const std::string& name, int flags, const char* why) {
    if (void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | flags))
      return accept(handle, name, why);
    const char* problem = dlerror();
    const bool absent = name[0] == '/' && access(name.c_str(), F_OK) != 0;
    const char* outcome = flags & RTLD_NOLOAD ? "no" : absent || !problem ? "not there" : problem;
    tried += cat_text(spec.name, ": ", name, " (", why, "): ", outcome, '\n');
    return nullptr;
  }

  void* run() {
    for (const char* soname : spec.sonames)
      if (void* handle = attempt(soname, RTLD_NOLOAD, "already loaded")) return handle;
    for (const Place& place : places(spec))
      for (const char* soname : spec.sonames) {
        const std::string name = place.directory.empty() ? soname : place.directory + "/" + soname;
        if (void* handle = attempt(name, 0, place.why)) return handle;
      }
    return nullptr;
  }
};

}  // namespace

Library Library::open(const LibrarySpec& spec) {
  std::lock_guard lock(state().mutex);
  Search search{spec, {}, false, {}};
  void* handle = search.run();
  state().searches[spec.name] = search.tried;
  if (handle) return Library(spec, handle, search.path);
  if (!search.tried.empty()) search.tried.pop_back();
  throw Error(search.rejected ? Code::library_version : Code::library_missing,
              cat_text(spec.name, search.rejected ? " was found, but in no version that can be used"
                                                  : " was not found"),
              search.tried, spec.fix);
}

void* Library::symbol(const char* name) const {
  void* address = dlsym(handle_, name);
  if (address) return address;
  throw Error(Code::library_version, cat_text(name_, " at ", path_, " has no function ", name), "",
              fix_);
}

void add_library_directory(std::string_view path) {
  check(!path.empty(), Code::invalid_argument, "the library directory is empty");
  std::lock_guard lock(state().mutex);
  for (const std::string& d : state().directories)
    if (d == path) return;
  state().directories.emplace_back(path);
}

size_t library_directories() {
  std::lock_guard lock(state().mutex);
  return state().directories.size();
}

std::string library_report() {
  std::lock_guard lock(state().mutex);
  std::string report;
  for (const auto& [name, tried] : state().searches) report += tried;
  return report;
}

}  // namespace flambeau
