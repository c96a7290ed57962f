// A part of another store: keys that begin with "prefix/", so that users of one table do not meet.
// num_keys counts those of the whole table, list_keys names its own, as PyTorch's do.
#include "base/error.h"
#include "dist/store.h"

namespace flambeau::dist {

namespace {

class PrefixStore final : public Store {
 public:
  PrefixStore(std::string prefix, Ref<Store> store)
      : prefix_(std::move(prefix)), store_(std::move(store)) {
    timeout_ = store_->timeout();
  }

  void set(const std::string& key, const std::string& value) override {
    store_->set(inner(key), value);
  }
  std::string get(const std::string& key, Millis timeout) override {
    return store_->get(inner(key), timeout);
  }
  void append(const std::string& key, const std::string& value) override {
    store_->append(inner(key), value);
  }
  int64_t add(const std::string& key, int64_t by) override { return store_->add(inner(key), by); }
  std::string compare_set(const std::string& key, const std::string& expected,
                          const std::string& desired) override {
    return store_->compare_set(inner(key), expected, desired);
  }
  void wait(const Keys& keys, Millis timeout) override { store_->wait(inner(keys), timeout); }
  bool check(const Keys& keys) override { return store_->check(inner(keys)); }
  bool remove(const std::string& key) override { return store_->remove(inner(key)); }
  int64_t num_keys() override { return store_->num_keys(); }
  Keys list_keys() override {
    Keys own;
    const std::string start = inner("");
    for (const std::string& key : store_->list_keys())
      if (key.starts_with(start)) own.push_back(key.substr(start.size()));
    return own;
  }
  void will(const std::string& key, const std::string& value) override {
    store_->will(inner(key), value);
  }
  void withdraw() override { store_->withdraw(); }

  Ref<Store> clone() override {
    auto copy = make_ref<PrefixStore>(prefix_, store_->clone());
    copy->set_timeout(timeout());
    return copy;
  }

  std::string describe() const override {
    return "PrefixStore(" + prefix_ + ", " + store_->describe() + ")";
  }

  uint16_t port() const override { return store_->port(); }
  int64_t num_workers() const override { return store_->num_workers(); }
  std::string local_address() const override { return store_->local_address(); }

 private:
  std::string inner(const std::string& key) const { return prefix_ + "/" + key; }
  Keys inner(const Keys& keys) const {
    Keys own;
    own.reserve(keys.size());
    for (const std::string& key : keys) own.push_back(inner(key));
    return own;
  }

  std::string prefix_;
  Ref<Store> store_;
};

}  // namespace

Ref<Store> prefix_store(const std::string& prefix, Ref<Store> store) {
  return make_ref<PrefixStore>(prefix, std::move(store));
}

}  // namespace flambeau::dist
