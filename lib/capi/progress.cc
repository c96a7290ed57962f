// Targets of progress.h: the library draws into descriptors and files that the program names, never
// of its own accord.
#include "flambeau/progress.h"

#include "base/error.h"
#include "capi/callback.h"
#include "capi/gen/targets.h"
#include "capi/quiet.h"
#include "observe/progress_sinks.h"

namespace flambeau::capi {
namespace {

class CallbackSink final : public observe::ProgressSink {
 public:
  CallbackSink(const flam_progress_callback& table, double interval)
      : owner_(table.user, table.drop), table_(table), interval_(interval > 0 ? interval : 0.1) {}
  double interval() const override { return interval_; }
  void draw(const observe::ProgressState& s) override { show(s, "progress", {}); }
  void say(const observe::ProgressState& s, std::string_view text) override {
    show(s, "message", text);
  }
  void finish(const observe::ProgressState& s) override { show(s, "end", {}); }

 private:
  void show(const observe::ProgressState& s, const char* event, std::string_view message) {
    const std::string text(message.empty() ? observe::progress_line(s, {80, false, true})
                                           : std::string(message));
    const std::string json = observe::progress_json(s, event);
    const HostCall call;
    call.check("a progress's function",
               table_.show(table_.user, event, text.c_str(), json.c_str()));
  }

  Callback owner_;
  flam_progress_callback table_;
  double interval_;
};

}  // namespace

Ref<flam_progress> progress_new(int64_t total, std::string_view unit) {
  return make_ref<flam_progress>(total, unit);
}

void progress_to_text(flam_progress* p, int32_t descriptor, int32_t style, double interval) {
  const auto how = observe::Style(style - FLAM_PROGRESS_AUTOMATIC);
  p->add(observe::text_sink(descriptor, style ? how : observe::Style::automatic, interval));
}

void progress_to_jsonl(flam_progress* p, std::string_view path, double interval) {
  p->add(observe::json_sink(path, interval));
}

void progress_to_callback(flam_progress* p, const flam_progress_callback* callback,
                          double interval) {
  const auto table = sized_copy(callback, "flam_progress_callback");
  auto sink = std::make_unique<CallbackSink>(table, interval);
  check(table.show, Code::invalid_argument, "flam_progress_callback: show is missing");
  p->add(std::move(sink));
}

void progress_watch(flam_progress* p, Device device) { p->watch(device); }
bool progress_advance(flam_progress* p, int64_t n) { return p->advance(n); }
void progress_set(flam_progress* p, std::string_view name, double value) { p->set(name, value); }
void progress_draw(flam_progress* p) { p->draw(); }
void progress_say(flam_progress* p, std::string_view text) { p->say(text); }
void progress_finish(flam_progress* p) { p->finish(); }
int64_t progress_done(const flam_progress* p) { return p->state().done; }
double progress_elapsed(const flam_progress* p) { return p->state().elapsed; }

const char* progress_line(const flam_progress* p, int32_t columns, bool color, bool unicode) {
  return borrowed_text(
      [&] { return observe::progress_line(p->state(), {int(columns), color, unicode}); });
}

}  // namespace flambeau::capi
