// A store in a file, for the processes of a machine or of a file system that they share and that
// has locks. What waits looks at the file's size, often at first, and reads it where that changed.
#include <algorithm>
#include <memory>
#include <thread>

#include "base/error.h"
#include "dist/file_log.h"

namespace flambeau::dist {

namespace {

class FileStore final : public Store {
 public:
  explicit FileStore(std::shared_ptr<FileLog> log) : log_(std::move(log)) {}

  void set(const std::string& key, const std::string& value) override {
    check_entry(key, value);
    session().write({Op::set, 0, 0, {key}, {value}});
  }

  std::string get(const std::string& key, Millis timeout) override {
    std::string value;
    await({key}, timeout, [&](const Table& t) { value = *t.find(key); });
    return value;
  }

  void append(const std::string& key, const std::string& value) override {
    check_entry(key, value);
    change(key, [&](Table& t) { t.append(key, value); });
  }

  int64_t add(const std::string& key, int64_t by) override {
    check_keys({key});
    int64_t sum = 0;
    change(key, [&](Table& t) { sum = t.add(key, by); });
    return sum;
  }

  std::string compare_set(const std::string& key, const std::string& expected,
                          const std::string& desired) override {
    check_entry(key, desired);
    std::string held;
    change(key, [&](Table& t) { held = t.compare_set(key, expected, desired); });
    return held;
  }

  void wait(const Keys& keys, Millis timeout) override {
    await(keys, timeout, [](const Table&) {});
  }

  bool check(const Keys& keys) override {
    check_keys(keys);
    return session().table().missing(keys) == keys.size();
  }

  bool remove(const std::string& key) override {
    FileLog::Session s(*log_, deadline_after(timeout()));
    if (!s.table().find(key)) return false;
    s.write({Op::remove, 0, 0, {key}, {}});
    return true;
  }

  int64_t num_keys() override { return session().table().size(); }
  Keys list_keys() override { return session().table().keys(); }

  void will(const std::string& key, const std::string& value) override {
    check_entry(key, value);
    session().add_will(key, value);
  }

  void withdraw() override { session().withdraw(); }

  Ref<Store> clone() override {
    auto copy = make_ref<FileStore>(log_);
    copy->set_timeout(timeout());
    return copy;
  }

  std::string describe() const override { return "FileStore(" + log_->path() + ")"; }

 private:
  FileLog::Session session() { return {*log_, deadline_after(timeout())}; }

  // What a call makes of the key's value is what the log says of it.
  template <class F> void change(const std::string& key, F&& f) {
    FileLog::Session s(*log_, deadline_after(timeout()));
    const std::string* before = s.table().find(key);
    Table own;
    if (before) own.set(key, *before);
    f(own);
    const std::string* after = own.find(key);
    if (after && (!before || *before != *after)) s.write({Op::set, 0, 0, {key}, {*after}});
  }

  template <class F> void await(const Keys& keys, Millis timeout, F&& take) {
    check_keys(keys);
    log_->check_process();
    const auto deadline = deadline_after(timeout);
    for (Millis pause{1};; pause = std::min(pause * 2, Millis(16))) {
      Keys missing;
      int64_t seen = 0;
      {
        const FileLog::Session s(*log_, deadline + Millis(500));
        for (const std::string& key : keys)
          if (!s.table().find(key)) missing.push_back(key);
        if (missing.empty()) return take(s.table());
        seen = s.size();
      }
      do {
        if (Clock::now() >= deadline) fail_timeout(describe(), missing, timeout);
        std::this_thread::sleep_for(std::min<Clock::duration>(pause, deadline - Clock::now()));
      } while (!log_->changed(seen));
    }
  }

  std::shared_ptr<FileLog> log_;
};

}  // namespace

Ref<Store> file_store(const std::string& path, int64_t world_size) {
  flambeau::check(!path.empty(), Code::invalid_argument, "store: the path is empty");
  const Millis timeout = std::chrono::minutes(5);
  return make_ref<FileStore>(std::make_shared<FileLog>(path, world_size, timeout));
}

}  // namespace flambeau::dist
