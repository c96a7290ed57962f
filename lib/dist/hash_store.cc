// The store of one process: a table that its threads share. It sees no process go, so that a last
// will is never executed.
#include <condition_variable>
#include <memory>
#include <mutex>

#include "dist/table.h"

namespace flambeau::dist {

namespace {

struct Shared {
  std::mutex mutex;
  std::condition_variable changed;
  Table table;
};

class HashStore final : public Store {
  template <class F> auto change(F&& f) {
    const std::lock_guard lock(shared_->mutex);
    auto result = f(shared_->table);
    shared_->changed.notify_all();
    return result;
  }

 public:
  explicit HashStore(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  void set(const std::string& key, const std::string& value) override {
    check_entry(key, value);
    change([&](Table& t) { return t.set(key, value), 0; });
  }

  std::string get(const std::string& key, Millis timeout) override {
    const std::unique_lock lock = wait_for({key}, timeout);
    return *shared_->table.find(key);
  }

  void append(const std::string& key, const std::string& value) override {
    check_entry(key, value);
    change([&](Table& t) { return t.append(key, value), 0; });
  }

  int64_t add(const std::string& key, int64_t by) override {
    check_keys({key});
    return change([&](Table& t) { return t.add(key, by); });
  }

  std::string compare_set(const std::string& key, const std::string& expected,
                          const std::string& desired) override {
    check_entry(key, desired);
    return change([&](Table& t) { return t.compare_set(key, expected, desired); });
  }

  void wait(const Keys& keys, Millis timeout) override { wait_for(keys, timeout); }

  bool check(const Keys& keys) override {
    check_keys(keys);
    const std::lock_guard lock(shared_->mutex);
    return shared_->table.missing(keys) == keys.size();
  }

  bool remove(const std::string& key) override {
    const std::lock_guard lock(shared_->mutex);
    return shared_->table.remove(key);
  }

  int64_t num_keys() override {
    const std::lock_guard lock(shared_->mutex);
    return shared_->table.size();
  }

  Keys list_keys() override {
    const std::lock_guard lock(shared_->mutex);
    return shared_->table.keys();
  }

  void will(const std::string& key, const std::string& value) override { check_entry(key, value); }
  void withdraw() override {}

  Ref<Store> clone() override {
    auto copy = make_ref<HashStore>(shared_);
    copy->set_timeout(timeout());
    return copy;
  }

  std::string describe() const override { return "HashStore"; }

 private:
  std::unique_lock<std::mutex> wait_for(const Keys& keys, Millis timeout) {
    check_keys(keys);
    const auto deadline = deadline_after(timeout);
    std::unique_lock lock(shared_->mutex);
    const Table& table = shared_->table;
    const auto all = [&] { return table.missing(keys) == keys.size(); };
    if (!shared_->changed.wait_until(lock, deadline, all)) {
      Keys missing;
      for (const std::string& key : keys)
        if (!table.find(key)) missing.push_back(key);
      fail_timeout(describe(), missing, timeout);
    }
    return lock;
  }

  std::shared_ptr<Shared> shared_;
};

}  // namespace

Ref<Store> hash_store() { return make_ref<HashStore>(std::make_shared<Shared>()); }

}  // namespace flambeau::dist
