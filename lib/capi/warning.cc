// Warnings at the ABI: the program's function as the sink of the process, or a file descriptor.
#include "base/warning.h"

#include <mutex>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/descriptor.h"
#include "base/wording.h"
#include "capi/callback.h"
#include "capi/gen/targets.h"
#include "ops/destination.h"

namespace flambeau::capi {

namespace {

class CallbackSink final : public WarningSink {
 public:
  explicit CallbackSink(const flam_warning_callback& table)
      : owner_(table.user, table.drop), table_(table) {}
  void warn(Warning kind, const std::string& text) override {
    const std::string said = worded(text, Language(table_.language));
    const HostCall call;
    call.check("a warning's function", table_.warn(table_.user, flam_warning(kind), said.c_str()));
  }

 private:
  Callback owner_;
  flam_warning_callback table_;
};

class TextSink final : public WarningSink {
 public:
  explicit TextSink(int descriptor) : descriptor_(descriptor) {}
  void warn(Warning, const std::string& text) override {
    {
      const std::lock_guard lock(mutex_);
      if (told_.size() >= kMostTold) told_.clear();
      if (!told_.insert(text).second && !warn_always) return;
    }
    // Nobody reads any more: no reason for a call to fail.
    (void)write_all(descriptor_, "Warning: " + worded(text, Language::c) + "\n");
  }

 private:
  // Texts name shapes: a program that never repeats one must not grow by them.
  static constexpr size_t kMostTold = 1000;
  int descriptor_;
  std::mutex mutex_;
  std::unordered_set<std::string> told_;
};

}  // namespace

void set_warning_callback(const flam_warning_callback* callback) {
  const auto table = sized_copy(callback, "flam_warning_callback");
  auto sink = std::make_shared<CallbackSink>(table);
  check(table.warn, Code::invalid_argument, "flam_warning_callback: warn is missing");
  set_warning_sink(std::move(sink));
}

void set_warning_descriptor(int32_t descriptor) {
  set_warning_sink(descriptor < 0 ? nullptr : std::make_shared<TextSink>(descriptor));
}

void set_warn_always_enabled(bool b) { warn_always = b; }
bool warn_always_enabled() { return warn_always; }
void check_output(const Tensor& out, const Tensor& result, std::string_view name, bool cast,
                  bool warns) {
  ops::check_output(out, result, std::string(name).c_str(), cast);
  if (warns) ops::warn_of_resize(out, result.sizes());
}

}  // namespace flambeau::capi
