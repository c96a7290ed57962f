// What stands between a struct of options and a target's arguments: NULL is every default, and a
// program built against an older header hands in a shorter struct, whose missing fields keep
// theirs; a longer one, of a newer header, sets nothing that this library lacks. Where the sizes
// agree nothing is copied.
#pragma once
#include <algorithm>
#include <cstring>
#include <span>

#include "base/error.h"
#include "capi/guard.h"

namespace flambeau::capi {

// capi/gen/options.h has these for each struct: its defaults, and where its fields end.
template <class S> inline constexpr S kDefaults;
template <class S> inline constexpr size_t kEnds[1] = {};

// Throws unless a struct of `size` bytes is an older one that ends where a field does, or a newer
// one with zeros in what this library does not know.
void check_options_size(const void* given, size_t size, std::span<const size_t> ends);
[[noreturn]] void fail_reserved(int32_t value);

template <class S> class Options {
 public:
  explicit Options(const S* given)
      : at_(!given                            ? &kDefaults<S>
            : given->struct_size == sizeof(S) ? given
                                              : filled(*given)) {
    if constexpr (requires { at_->reserved; }) {
      if (at_->reserved != 0) [[unlikely]]
        fail_reserved(at_->reserved);
    }
  }
  const S* operator->() const { return at_; }

 private:
  const S* filled(const S& given) {
    check_options_size(&given, given.struct_size, kEnds<S>);
    known_ = kDefaults<S>;
    std::memcpy(&known_, &given, std::min(given.struct_size, sizeof(S)));
    return &known_;
  }

  S known_;  // set only where the program's struct is older or newer
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

// A list that is set and has no entries: its count was forgotten, and would mean the default.
template <class T> void check_count(const char* name, const T* list, size_t n) {
  check(!list || n != 0, Code::invalid_argument, name,
        " is set and its count is 0; set both, or neither for the default");
}

template <class T> void check_held(const char* name, const T* list, size_t n) {
  check(!is_beyond_memory(list, n), Code::invalid_argument, name, " has a count of ", n,
        ", more than memory holds");
}

template <class T> void check_list(const char* name, const T* list, size_t n) {
  check_held(name, list, n);
  check(list || n == 0, Code::invalid_argument, name, " is NULL and its count is ", n);
}

// The same of handles or texts whose entries are none of them NULL.
template <class T> void check_entries(const char* name, T* const* list, size_t n) {
  check_held(name, list, n);
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
