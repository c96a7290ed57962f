// Intrusive reference counting: the base of everything an ABI handle points to. A handle is the
// object's address plus one count; `retain` and `release` are atomic, so handles move freely
// between threads.
#pragma once
#include <atomic>
#include <cstdint>
#include <utility>

namespace flambeau {

class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;

  void retain() noexcept { count_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {  // the only owner needs no exclusive access to see that it is
    if (count_.load(std::memory_order_acquire) == 1 ||
        count_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      destroy();
    }
  }
  int32_t use_count() const noexcept { return count_.load(std::memory_order_relaxed); }

 protected:
  virtual ~RefCounted() = default;
  virtual void destroy() noexcept { delete this; }

 private:
  std::atomic<int32_t> count_{1};
};

template <class T> class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  Ref(const Ref& o) : p_(o.p_) {
    if (p_) p_->retain();
  }
  Ref(Ref&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  template <class U> Ref(const Ref<U>& o) : p_(o.get()) {
    if (p_) p_->retain();
  }
  template <class U> Ref(Ref<U>&& o) noexcept : p_(o.detach()) {}
  Ref& operator=(Ref o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~Ref() {
    if (p_) p_->release();
  }

  static Ref adopt(T* p) {
    Ref r;
    r.p_ = p;
    return r;
  }  // takes over one count
  static Ref share(T* p) {
    if (p) p->retain();
    return adopt(p);
  }  // adds one

  T* get() const { return p_; }
  T* detach() { return std::exchange(p_, nullptr); }  // gives the count to the caller
  T* operator->() const { return p_; }
  T& operator*() const { return *p_; }
  explicit operator bool() const { return p_ != nullptr; }
  friend bool operator==(const Ref&, const Ref&) = default;

 private:
  T* p_ = nullptr;
};

template <class T, class... Args> [[gnu::always_inline]] inline Ref<T> make_ref(Args&&... args) {
  return Ref<T>::adopt(new T(std::forward<Args>(args)...));
}

}  // namespace flambeau
