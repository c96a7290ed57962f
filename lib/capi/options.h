// What stands between a struct of options and a target's arguments: NULL is every default, and a
// program built against an older header hands in a shorter struct, whose missing fields keep
// theirs. Where the sizes agree nothing is copied.
#pragma once
#include <cstring>
#include <span>

#include "base/error.h"
#include "capi/guard.h"

namespace flambeau::capi {

template <class S> inline constexpr S kDefaults;  // capi/gen/options.h has one for each struct

// The sizes that a struct of options has had: at least one field, and never more than it has now.
template <class S> class Options {
 public:
  explicit Options(const S* given)
      : at_(!given                            ? &kDefaults<S>
            : given->struct_size == sizeof(S) ? given
                                              : filled(*given)) {}
  const S* operator->() const { return at_; }

 private:
  const S* filled(const S& given) {
    const size_t size = given.struct_size;
    check(size > sizeof(size_t) && size < sizeof(S) && size % alignof(int32_t) == 0,
          Code::invalid_argument, "options: struct_size is ", size,
          ", and the library knows up to ", sizeof(S),
          "; begin with the struct's _INIT or its init function, and with headers that "
          "are not newer than the library");
    older_ = kDefaults<S>;
    std::memcpy(&older_, &given, size);
    return &older_;
  }

  S older_;  // set only where the program's struct is older
  const S* at_;
};

// Whether the program's struct, which may be older, has this field.
template <class S, class P> bool reaches(const S* options, P S::* field) {
  if (!options) return false;
  const auto* at = reinterpret_cast<const char*>(&(options->*field));
  return options->struct_size >= size_t(at - reinterpret_cast<const char*>(options)) + sizeof(P);
}

// What the program set, or nothing where its struct is absent or ends before this field.
template <class S, class P> P field(const S* options, P S::* member) {
  return reaches(options, member) ? options->*member : P{};
}

// Whether options are given and leave this handle out.
template <class S, class P> bool absent(const S* options, P* S::* field) {
  return reaches(options, field) && !(options->*field);
}

// Whether options are given with this list, and an entry of it is NULL.
template <class S, class P> bool has_null(const S* options, P* S::* list, size_t S::* count) {
  return reaches(options, count) && has_null(options->*list, options->*count);
}

template <class T> void check_list(const char* name, const T* list, size_t n) {
  check(list || n == 0, Code::invalid_argument, name, " is NULL and its count is ", n);
}

// The same of handles or texts whose entries are none of them NULL.
template <class T> void check_entries(const char* name, T* const* list, size_t n) {
  check(!has_null(list, n), Code::invalid_argument, name, " or an entry of it is NULL");
}

// A list that is absent is its default, one number.
template <class T> class ListOr {
 public:
  ListOr(const T* list, size_t n, T value) : value_(value), list_(list), n_(n) {}
  operator std::span<const T>() const {
    return list_ ? std::span<const T>(list_, n_) : std::span<const T>(&value_, 1);
  }

 private:
  T value_;
  const T* list_;
  size_t n_;
};

}  // namespace flambeau::capi
