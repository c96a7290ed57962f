// A vector of trivially copyable elements with N of them inline: shapes, strides and argument lists stay off
// the heap. Only what the engine uses of std::vector.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <utility>

namespace flambeau {

template <class T, size_t N> class SmallVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  SmallVector() = default;
  explicit SmallVector(size_t n, T value = T{}) { resize(n, value); }
  SmallVector(std::initializer_list<T> l) : SmallVector(l.begin(), l.end()) {}
  SmallVector(std::span<const T> s) : SmallVector(s.data(), s.data() + s.size()) {}
  SmallVector(const T* first, const T* last) {
    reserve(size_t(last - first));
    if (first != last) std::memcpy(data_, first, size_t(last - first) * sizeof(T));
    size_ = uint32_t(last - first);
  }
  SmallVector(const SmallVector& o) : SmallVector(o.begin(), o.end()) {}
  SmallVector(SmallVector&& o) noexcept { steal(o); }
  SmallVector& operator=(const SmallVector& o) {
    if (this != &o) { size_ = 0; reserve(o.size()); std::memcpy(data_, o.data_, o.size() * sizeof(T)); size_ = o.size_; }
    return *this;
  }
  SmallVector& operator=(SmallVector&& o) noexcept {
    if (this != &o) { drop(); steal(o); }
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

  void clear() { size_ = 0; }
  void pop_back() { --size_; }
  void push_back(T v) { reserve(size_ + 1u); data_[size_++] = v; }
  void insert(size_t at, T v) {
    reserve(size_ + 1u);
    std::memmove(data_ + at + 1, data_ + at, (size_ - at) * sizeof(T));
    data_[at] = v;
    ++size_;
  }
  void erase(size_t at) {
    std::memmove(data_ + at, data_ + at + 1, (size_ - at - 1) * sizeof(T));
    --size_;
  }
  void resize(size_t n, T value = T{}) {
    reserve(n);
    for (size_t i = size_; i < n; ++i) data_[i] = value;
    size_ = uint32_t(n);
  }
  void reserve(size_t n) {
    if (n <= capacity_) return;
    const size_t wanted = std::max<size_t>(n, 2 * size_t(capacity_));
    T* bigger = static_cast<T*>(::operator new(wanted * sizeof(T)));
    std::memcpy(bigger, data_, size_ * sizeof(T));
    if (data_ != inline_) ::operator delete(data_);
    data_ = bigger;
    capacity_ = uint32_t(wanted);
  }
  operator std::span<const T>() const { return {data_, size_}; }
  friend bool operator==(const SmallVector& a, const SmallVector& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  void drop() { if (data_ != inline_) ::operator delete(data_); }
  void steal(SmallVector& o) {
    size_ = o.size_;
    if (o.data_ == o.inline_) {
      data_ = inline_;
      capacity_ = N;
      std::memcpy(inline_, o.inline_, sizeof inline_);
    } else {
      data_ = std::exchange(o.data_, o.inline_);
      capacity_ = std::exchange(o.capacity_, uint32_t(N));
    }
    o.size_ = 0;
  }

  T* data_ = inline_;
  uint32_t size_ = 0, capacity_ = N;
  T inline_[N];
};

using Dims = SmallVector<int64_t, 5>;  // shapes, strides, dimension lists
using DimsView = std::span<const int64_t>;

}  // namespace flambeau
