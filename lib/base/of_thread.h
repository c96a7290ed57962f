// An object that each thread has for itself: made when it is first asked for, gone with the thread.
// A thread_local object with a destructor is dead for whatever the thread ends after it: frames and
// what they hold, a program's own thread_local objects and pthread keys, in an order that nobody
// knows. This one outlives the former, and is made anew for the latter and dropped once more, as
// often as the system calls keys' destructors (four times).
#pragma once
#include <memory>
#include <utility>

namespace flambeau {

namespace detail {
// `drop(object)` after this thread's thread_local objects are destroyed; on the main thread only
// where that ends before the process does.
void at_thread_end(void (*drop)(void*), void* object);
}  // namespace detail

// To be declared FLAM_THREAD_LOCAL.
template <class T>
class OfThread {
 public:
  T& get() { return object_ ? *object_ : make(); }
  T* found() const noexcept { return object_; }  // null before it is made

 private:
  T& make() {
    auto made = std::make_unique<T>();
    detail::at_thread_end(
        [](void* p) { delete std::exchange(static_cast<OfThread*>(p)->object_, nullptr); }, this);
    return *(object_ = made.release());
  }
  T* object_ = nullptr;
};

}  // namespace flambeau
