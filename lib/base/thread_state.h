// What a thread keeps to itself and work takes along that goes on upon another one: modes, devices
// and streams, generators, labels, the host language's own. Whoever keeps such a thread-local
// declares it once, beside it, as a `Carried`; a ThreadState is all of them together.
#pragma once
#include <any>
#include <functional>
#include <utility>
#include <vector>

namespace flambeau {

// One of them. Static: it is there before the first thread and after the last.
class Carrier {
 public:
  Carrier();
  Carrier(const Carrier&) = delete;
  virtual std::any take() const = 0;
  virtual void give(const std::any& taken) const = 0;

 protected:
  ~Carrier() = default;
};

// A variable of the calling thread, which `where` names.
template <class T> class Carried final : public Carrier {
 public:
  explicit Carried(T& (*where)()) : where_(where) {}
  std::any take() const override { return where_(); }
  void give(const std::any& taken) const override { where_() = std::any_cast<const T&>(taken); }

 private:
  T& (*where_)();
};

// The calling thread's, as it is now.
class ThreadState {
 public:
  ThreadState();
  void restore() const;  // on the calling thread

 private:
  std::vector<std::pair<const Carrier*, std::any>> taken_;
};

// Runs `work` on a thread of its own with the caller's state, and the caller gets back what that
// became, and what failed.
void run_on_another_thread(const std::function<void()>& work);

}  // namespace flambeau
