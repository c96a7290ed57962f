// A vector with its first N elements inline, so that shapes, strides, operand and gradient lists
// stay off the heap. Only what the engine uses of std::vector; elements move without throwing.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace flambeau {

template <class T, size_t N> class SmallVector {
  static_assert(std::is_nothrow_move_constructible_v<T>);

 public:
  SmallVector() = default;
  explicit SmallVector(size_t n, const T& value = T{}) { resize(n, value); }
  SmallVector(std::initializer_list<T> l) : SmallVector(l.begin(), l.end()) {}
  SmallVector(std::span<const T> s) : SmallVector(s.data(), s.data() + s.size()) {}
  SmallVector(const T* first, const T* last) {
    reserve(size_t(last - first));
    std::uninitialized_copy(first, last, data_);
    size_ = uint32_t(last - first);
  }
  SmallVector(const SmallVector& o)
    requires std::is_copy_constructible_v<T>
      : SmallVector(o.begin(), o.end()) {}
  SmallVector(SmallVector&& o) noexcept { steal(o); }
  SmallVector& operator=(const SmallVector& o)
    requires std::is_copy_constructible_v<T>
  {
    if (this != &o) *this = SmallVector(o);
    return *this;
  }
  SmallVector& operator=(SmallVector&& o) noexcept {
    if (this != &o) {
      drop();
      steal(o);
    }
    return *this;
  }
  ~SmallVector() { drop(); }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }

  void clear() {
    std::destroy(begin(), end());
    size_ = 0;
  }
  void pop_back() { data_[--size_].~T(); }
  void push_back(T v) {
    reserve(size_ + 1u);
    new (data_ + size_++) T(std::move(v));
  }
  void insert(size_t at, T v) {
    push_back(std::move(v));
    std::rotate(begin() + at, end() - 1, end());
  }
  void erase(size_t at) {
    std::move(begin() + at + 1, end(), begin() + at);
    pop_back();
  }
  void resize(size_t n, const T& value = T{}) {
    reserve(n);
    while (size_ > n) pop_back();
    for (; size_ < n; ++size_) new (data_ + size_) T(value);
  }
  void reserve(size_t n) {
    if (n <= capacity_) return;
    const size_t wanted = std::max<size_t>(n, 2 * size_t(capacity_));
    T* bigger = static_cast<T*>(::operator new(wanted * sizeof(T)));
    std::uninitialized_move(begin(), end(), bigger);
    std::destroy(begin(), end());
    if (data_ != inline_data()) ::operator delete(data_);
    data_ = bigger;
    capacity_ = uint32_t(wanted);
  }
  operator std::span<const T>() const { return {data_, size_}; }
  friend bool operator==(const SmallVector& a, const SmallVector& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  T* inline_data() { return std::launder(reinterpret_cast<T*>(inline_)); }
  void drop() {
    std::destroy(begin(), end());
    if (data_ != inline_data()) ::operator delete(data_);
  }
  void steal(SmallVector& o) {
    if (o.data_ == o.inline_data()) {
      data_ = inline_data();
      capacity_ = N;
      std::uninitialized_move(o.begin(), o.end(), data_);
      size_ = o.size_;
      o.clear();
    } else {
      data_ = std::exchange(o.data_, o.inline_data());
      capacity_ = std::exchange(o.capacity_, uint32_t(N));
      size_ = std::exchange(o.size_, 0u);
    }
  }

  alignas(T) std::byte inline_[N * sizeof(T)];
  T* data_ = reinterpret_cast<T*>(inline_);
  uint32_t size_ = 0, capacity_ = N;
};

using Dims = SmallVector<int64_t, 5>;  // shapes, strides, dimension lists
using DimsView = std::span<const int64_t>;

}  // namespace flambeau
