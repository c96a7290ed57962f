// Rows of f16 as rows of float for the host's kernels, a few at a time: what is read is widened
// before, what is written is rounded behind, each element once, by vectors, which gcc does not make
// of that conversion. Rows that leave the caches are read where they are.
#pragma once
#include "kernels/fold/widened.h"
#include "kernels/map/map_element.h"
#include "kernels/row/row.h"
#include "kernels/scratch.h"

namespace flambeau::FLAM_TARGET {

// Rows that a functor reads where they are.
template <class T> struct OwnRows {
  using Element = T;
  const RowArgs& args;
  OwnRows(const RowArgs& a, int64_t) : args(a) {}
  void read(int64_t, int64_t) {}
  void write(int64_t, int64_t) {}
};

template <class T> class WidenedRows {
 public:
  using Element = float;
  RowArgs args;

  WidenedRows(const RowArgs& a, int64_t most)
      : args(a),
        from_(a),
        pitch_((a.n + 15) / 16 * 16),
        memory_(size_t(operands() * most * pitch_) * sizeof(float)) {
    float* next = memory_.as<float>();
    for (int k = 0; k < a.operands; ++k) {
      if (!is_row(k)) continue;
      block_[k] = next;
      next += most * pitch_;
      args.stride[k] = a.stride[k] ? pitch_ * int64_t(sizeof(float)) : 0;
      if (!a.stride[k]) read_row(k, 0, 0);
      args.data[k] = reinterpret_cast<char*>(block_[k]);
    }
  }

  // Rows first .. first + count, of which `args` are then.
  void read(int64_t first, int64_t count) {
    for (int k = 0; k < args.operands; ++k) {
      if (!is_row(k) || !from_.stride[k]) continue;
      for (int64_t r = 0; r < (args.output[k] ? 0 : count); ++r) read_row(k, first + r, r);
      args.data[k] = reinterpret_cast<char*>(block_[k]) - first * args.stride[k];
    }
  }
  void write(int64_t first, int64_t count) {
    for (int k = 0; k < args.operands; ++k) {
      if (!is_row(k) || !args.output[k]) continue;
      for (int64_t r = 0; r < count; ++r)
        scatter_run<T>(place(k, first + r), int64_t(sizeof(T)), row_of(k, r), args.n);
    }
  }

 private:
  bool is_row(int k) const {
    return from_.data[k] && from_.bytes[k] == int(sizeof(T)) &&
           (from_.role[k] == RowRole::row || from_.role[k] == RowRole::shared);
  }
  int64_t operands() const {
    int64_t n = 0;
    for (int k = 0; k < from_.operands; ++k) n += is_row(k);
    return n;
  }
  char* place(int k, int64_t row) const { return from_.data[k] + row * from_.stride[k]; }
  char* row_of(int k, int64_t r) const { return reinterpret_cast<char*>(block_[k] + r * pitch_); }
  void read_row(int k, int64_t row, int64_t r) {
    gather_run<T>(row_of(k, r), place(k, row), int64_t(sizeof(T)), args.n);
  }

  const RowArgs& from_;
  const int64_t pitch_;
  const Scratch memory_;
  float* block_[kRowOperands] = {};
};

inline constexpr int64_t kWidenedTerms = 1 << 15;

// f(tag of the way in which rows are read), by their length.
template <class T, class F> void with_host_rows(const RowArgs& a, const F& f) {
  if constexpr (kWidens<T>) {
    if (a.n <= kWidenedTerms) return f(TypeTag<WidenedRows<T>>{});
  }
  f(TypeTag<OwnRows<T>>{});
}

}  // namespace flambeau::FLAM_TARGET
