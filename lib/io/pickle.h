// The part of Python's pickle format that state dicts use, read without running anything: a name
// other than the few known ones is an error, not an import. Source: CPython, Lib/pickletools.py;
// PyTorch, torch/_utils.py for the rebuild functions.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tensor/tensor.h"

namespace flambeau::io {

struct PickleValue;
using PickleRef = std::shared_ptr<PickleValue>;

struct PickleValue {
  struct None {};
  struct Global {
    std::string name;  // module.attribute
  };
  struct Sequence {
    std::vector<PickleRef> items;
  };
  struct Dict {
    std::vector<std::pair<PickleRef, PickleRef>> items;
  };
  struct Storage {
    std::string_view bytes;
    Dtype dtype;
  };
  struct Opaque {};  // an object of no interest: backward hooks, metadata
  std::variant<None, bool, int64_t, double, std::string, Global, Sequence, Dict, Storage, Tensor,
               Opaque>
      v;

  template <class T> const T* as() const { return std::get_if<T>(&v); }
};

// Finds the bytes of a storage by its key in the archive.
using StorageLookup = std::function<std::string_view(const std::string& key)>;

// A pickle's root and everything in it. Values may hold each other in circles or nest without end,
// so they are let go one by one.
class Pickle {
 public:
  Pickle() = default;
  Pickle(Pickle&&) = default;
  ~Pickle();
  const PickleValue& root() const { return *root_; }

 private:
  friend Pickle read_pickle(std::string_view, const StorageLookup&, std::string_view);
  PickleRef root_;
  std::vector<PickleRef> made_;
};

Pickle read_pickle(std::string_view text, const StorageLookup& storage, std::string_view path);

}  // namespace flambeau::io
