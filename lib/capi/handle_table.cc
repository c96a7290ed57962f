// See handle_table.h. FLAMBEAU_CHECK=handles keeps what was released in the table too, and its
// memory out of use, so that an address means one object: a handle that is wrong is then named.
#include "capi/handle_table.h"

#include <dlfcn.h>
#include <unwind.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "base/quarantine.h"
#include "base/setting.h"
#include "base/thread_state.h"
#include "capi/gen/targets.h"
#include "capi/guard.h"
#include "capi/quiet.h"

namespace flambeau::capi {

namespace {

constexpr size_t kWithheld = 65536;  // released objects whose memory stays out of use

struct Entry {
  const char* made;
  std::string what;
  int count = 0, lent = 0;
  bool reported = true;  // made since leaks are tracked
  const void* made_at = nullptr;
  const char* released = nullptr;
  const void* released_at = nullptr;
};

struct HandleTable {
  std::mutex mutex;
  std::unordered_map<const void*, Entry> entries;
  std::deque<void*> withheld;
  bool reports = false;  // leaks are tracked, not only handles checked
};

// Leaked on purpose: handles may be released while statics are torn down.
HandleTable& table() {
  static HandleTable* t = new HandleTable;
  return *t;
}

FLAM_THREAD_LOCAL const char* t_function = "";  // the call that runs, while handles are checked
const Carried<const char*> carried_function([]() -> const char*& { return t_function; });
FLAM_THREAD_LOCAL bool t_inside = false;  // the table frees memory of its own

class Locked {
 public:
  Locked() : lock_(table().mutex) { t_inside = true; }
  ~Locked() { t_inside = false; }

 private:
  std::lock_guard<std::mutex> lock_;
};

const void* base_of(const void* code) {
  Dl_info info;
  return dladdr(code, &info) ? info.dli_fbase : nullptr;
}

// The nearest return address outside of the library.
const void* caller() {
  struct Walk {
    const void *own, *found;
  } walk{base_of(reinterpret_cast<const void*>(&caller)), nullptr};
  _Unwind_Backtrace(
      [](_Unwind_Context* context, void* argument) {
        auto* w = static_cast<Walk*>(argument);
        const void* at = reinterpret_cast<const void*>(_Unwind_GetIP(context));
        if (base_of(at) == w->own) return _URC_NO_REASON;
        w->found = at;
        return _URC_NORMAL_STOP;
      },
      &walk);
  return walk.found;
}

// " at program+0x12f4", which `addr2line -e program 0x12f4` turns into a line.
std::string place(const void* code) {
  Dl_info info;
  if (!code || !dladdr(code, &info) || !info.dli_fname) return {};
  const auto offset = static_cast<const char*>(code) - static_cast<const char*>(info.dli_fbase);
  char text[32];
  std::snprintf(text, sizeof text, "+0x%zx", size_t(offset));
  return std::string(" at ") + info.dli_fname + text;
}

bool keep_out_of_use(void* memory) noexcept {
  if (t_inside) return false;
  void* oldest = nullptr;
  try {
    const Locked locked;
    const auto it = table().entries.find(memory);
    if (it == table().entries.end()) return false;
    it->second.lent = 0;  // whoever lent it has let go
    if (!it->second.released) it->second.released = "the owner that lent it";
    table().withheld.push_back(memory);
    if (table().withheld.size() > kWithheld) {
      oldest = table().withheld.front();
      table().withheld.pop_front();
      table().entries.erase(oldest);
    }
  } catch (...) {
    return false;
  }
  std::free(oldest);
  return true;
}

bool stop_at_faults = false;

bool start_checking() {
  stop_at_faults = setting_has("FLAMBEAU_CHECK", "stop");
  const bool on = stop_at_faults || setting_has("FLAMBEAU_CHECK", "handles");
  if (on) withhold = keep_out_of_use;
  return checking_handles = on;
}

bool start_tracking() {
  const bool checking = start_checking();
  table().reports = setting_has("FLAMBEAU_TRACK_HANDLES", "1");
  return tracking_handles = checking || table().reports;
}
[[maybe_unused]] const bool tracked_from_start = start_tracking();

template <class T> bool is(RefCounted* object) { return dynamic_cast<T*>(object) != nullptr; }

struct Type {
  const char* name;
  bool (*matches)(RefCounted*);
};
constexpr Type kTypes[] = {{"flam_tensor", is<TensorImpl>},
                           {"flam_generator", is<flam_generator>},
                           {"flam_module", is<flam_module>},
                           {"flam_optimizer", is<flam_optimizer>},
                           {"flam_scheduler", is<flam_scheduler>},
                           {"flam_dataset", is<flam_dataset>},
                           {"flam_loader", is<flam_loader>},
                           {"flam_stream", is<flam_stream>},
                           {"flam_event", is<flam_event>},
                           {"flam_error", is<flam_error>},
                           {"flam_profile", is<flam_profile>},
                           {"flam_grad_scaler", is<flam_grad_scaler>},
                           {"flam_node", is<flam_node>},
                           {"flam_hook", is<flam_hook>},
                           {"flam_saved", is<flam_saved>},
                           {"flam_graph", is<flam_graph>},
                           {"flam_memory_pool", is<flam_memory_pool>},
                           {"flam_plot", is<flam_plot>},
                           {"flam_progress", is<flam_progress>},
                           {"flam_state", is<flam_state>},
                           {"flam_store", is<flam_store>},
                           {"flam_tensor_list", is<flam_tensor_list>}};

// "tensor f32[2, 3] on cpu", "module Linear", or the type of any other handle.
std::string kind_of(RefCounted* object) {
  if (auto* impl = dynamic_cast<TensorImpl*>(object)) {
    return "tensor " + describe(Tensor(Ref<TensorImpl>::share(impl)));
  }
  if (auto* module = dynamic_cast<flam_module*>(object)) return "module " + module->type;
  for (const Type& t : kTypes) {
    if (t.matches(object)) return t.name;
  }
  return "handle";
}

bool has_type(const void* handle, const char* type) {
  auto* object = static_cast<RefCounted*>(const_cast<void*>(handle));
  for (const Type& t : kTypes) {
    if (std::strcmp(t.name, type) == 0) return t.matches(object);
  }
  return true;
}

std::string origin(const Entry& e) {
  std::string text = cat_text(e.what, ", made by ", e.made, place(e.made_at));
  if (e.released) text += cat_text("\nreleased by ", e.released, place(e.released_at));
  return text;
}

// What is wrong with a handle; the fault's facts, or nothing.
bool is_wrong(const HandleArgument& a, const void* handle, std::string* problem,
              std::string* facts) {
  const Locked locked;
  const auto found = table().entries.find(handle);
  if (found == table().entries.end()) {
    char address[32];
    std::snprintf(address, sizeof address, "%p", handle);
    *problem = cat_text(address, " is no ", a.type, " of this library");
    *facts = "no call returned it, or it was released long ago";
    return true;
  }
  const Entry& e = found->second;
  if (e.count <= 0 && e.lent <= 0) {
    *problem = cat_text("is a ", a.type, " that was released");
  } else if (!has_type(handle, a.type)) {
    *problem = cat_text("is no ", a.type);
  } else if (a.owned && e.count <= 0) {
    *problem = cat_text("is a ", a.type, " that is only lent: it is not the program's to release");
  } else {
    return false;
  }
  *facts = origin(e);
  return true;
}

[[noreturn]] void fail_handle(const char* function, const HandleArgument& a,
                              const std::string& which, const std::string& problem,
                              const std::string& facts) {
  throw Error(Code::invalid_argument, cat_text(function, ": ", a.name, which, " ", problem), facts);
}

}  // namespace

bool checking_handles = false;

bool wrong_handle(const char* function, std::initializer_list<HandleArgument> given) noexcept {
  t_function = function;
  try {
    std::string problem, facts;
    for (const HandleArgument& a : given) {
      const size_t n = a.list ? a.n : 1;
      for (size_t i = 0; a.handle && i < n; ++i) {
        const void* h = a.list ? static_cast<const void* const*>(a.handle)[i] : a.handle;
        if (!h || !is_wrong(a, h, &problem, &facts)) continue;
        fail_handle(function, a, a.list ? cat_text('[', i, ']') : "", problem, facts);
      }
    }
    return false;
  } catch (const Error& e) {
    if (stop_at_faults) {
      std::fprintf(stderr, "%s\n  handed in%s\n", e.what(), place(caller()).c_str());
      std::raise(SIGTRAP);
    }
    record_exception(function);
  } catch (...) {
    record_exception(function);
  }
  return true;
}

void write_down(RefCounted* object, const char* function) {
  std::string what = kind_of(object);
  const void* at = checking_handles ? caller() : nullptr;
  const Locked locked;
  Entry& e = table().entries.try_emplace(object).first->second;
  if (e.count == 0) {
    e.made = function;
    e.made_at = at;
    e.released = nullptr;
    e.what = std::move(what);
    e.reported = table().reports;
  }
  ++e.count;
}

void strike_out(RefCounted* object, const char* by) noexcept {
  if (!tracking_handles) return;
  const void* at = checking_handles ? caller() : nullptr;
  const Locked locked;
  const auto it = table().entries.find(object);
  if (it == table().entries.end() || --it->second.count > 0) return;
  if (!checking_handles) {
    table().entries.erase(it);
    return;
  }
  it->second.count = 0;
  it->second.released = by ? by : t_function;
  it->second.released_at = at;
}

void lend(const RefCounted* object) noexcept {
  if (!object) return;
  try {
    std::string what = kind_of(const_cast<RefCounted*>(object));
    const Locked locked;
    Entry& e = table().entries.try_emplace(object).first->second;
    if (e.count == 0 && e.lent == 0) {
      e.made = "the library, which lends it";
      e.made_at = nullptr;
      e.released = nullptr;
      e.what = std::move(what);
    }
    ++e.lent;
  } catch (...) {  // without memory the handle looks foreign
  }
}

void take_back(const RefCounted* object) noexcept {
  const Locked locked;
  const auto it = table().entries.find(object);
  if (it == table().entries.end() || --it->second.lent > 0 || it->second.count > 0) return;
  it->second.released = "the end of the callback that it was lent to";
  it->second.released_at = nullptr;
}

bool leak_tracking_enabled() {
  const Locked locked;
  return table().reports;
}

void set_leak_tracking_enabled(bool enabled) {
  const Locked locked;
  if (enabled && !table().reports) {
    if (!checking_handles) table().entries.clear();
    for (auto& [object, e] : table().entries) e.reported = false;
  }
  table().reports = enabled;
  tracking_handles = enabled || checking_handles;
}

const char* leak_report() {
  std::map<std::string, int> lines;
  {
    const Locked locked;
    for (const auto& [object, e] : table().entries) {
      if (e.count > 0 && e.reported) lines[e.what + " from " + e.made] += e.count;
    }
  }
  std::vector<std::pair<std::string, int>> sorted(lines.begin(), lines.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](auto& a, auto& b) { return a.second > b.second; });
  return text_of_thread([&] {
    std::string text;
    for (const auto& [what, count] : sorted) text += cat_text(count, " x ", what, "\n");
    return text;
  });
}

}  // namespace flambeau::capi
