// The sinks; see progress_sinks.h. A terminal that cannot be written to any more ends the drawing,
// not the work; a JSON file that cannot is an error, as data would be missing.
#include "observe/progress_sinks.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/json.h"

namespace flambeau::observe {
namespace {

bool has_unicode() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (!value || !*value) continue;
    return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
  }
  return true;  // nobody said otherwise, and terminals have it
}

bool can_draw(int descriptor) {
  const char* terminal = std::getenv("TERM");
  return isatty(descriptor) && !(terminal && !std::strcmp(terminal, "dumb"));
}

int columns_of(int descriptor) {
  winsize size{};
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

class BarSink final : public ProgressSink {
 public:
  BarSink(int descriptor, double interval) : descriptor_(descriptor), interval_(interval) {
    look_.color = !std::getenv("NO_COLOR");
    look_.unicode = has_unicode();
  }
  double interval() const override { return interval_; }
  void draw(const ProgressState& s) override {
    look_.columns = columns_of(descriptor_);
    write_all(descriptor_, kErase + progress_line(s, look_));
  }
  void say(const ProgressState&, std::string_view text) override {
    write_all(descriptor_, kErase + std::string(text) + "\n");
  }
  void finish(const ProgressState&) override { write_all(descriptor_, kErase); }

 private:
  static inline const std::string kErase = "\r\x1b[2K";
  int descriptor_;
  double interval_;
  LineLook look_;
};

class PlainSink final : public ProgressSink {
 public:
  PlainSink(int descriptor, double interval) : descriptor_(descriptor), interval_(interval) {}
  double interval() const override { return interval_; }
  void draw(const ProgressState& s) override {
    write_all(descriptor_, progress_line(s, {0, false, false}) + "\n");
  }
  void say(const ProgressState&, std::string_view text) override {
    write_all(descriptor_, std::string(text) + "\n");
  }
  void finish(const ProgressState&) override {}

 private:
  int descriptor_;
  double interval_;
};

class JsonSink final : public ProgressSink {
 public:
  JsonSink(std::string_view path, double interval) : path_(path), interval_(interval) {
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (descriptor_ < 0) fail_with_errno("cannot be written");
  }
  ~JsonSink() override { ::close(descriptor_); }
  double interval() const override { return interval_; }
  void draw(const ProgressState& s) override { put(progress_json(s, "progress")); }
  void say(const ProgressState& s, std::string_view text) override {
    std::string line = progress_json(s, "message");
    line.insert(line.size() - 1, ",\"text\":" + json::quoted(text));
    put(line);
  }
  void finish(const ProgressState& s) override { put(progress_json(s, "end")); }

 private:
  void put(const std::string& line) {
    if (!write_all(descriptor_, line + "\n")) fail_with_errno("cannot be written");
  }
  [[noreturn]] void fail_with_errno(const char* what) const {
    throw Error(Code::io, cat_text("progress: ", path_, " ", what), std::strerror(errno));
  }

  std::string path_;
  double interval_;
  int descriptor_;
};

}  // namespace

std::unique_ptr<ProgressSink> text_sink(int descriptor, Style style, double interval) {
  const bool draws = style == Style::bar || (style == Style::automatic && can_draw(descriptor));
  if (draws) return std::make_unique<BarSink>(descriptor, interval > 0 ? interval : 0.1);
  return std::make_unique<PlainSink>(descriptor, interval > 0 ? interval : 10);
}

std::unique_ptr<ProgressSink> json_sink(std::string_view path, double interval) {
  return std::make_unique<JsonSink>(path, interval > 0 ? interval : 1);
}

}  // namespace flambeau::observe
