// Sorting on the host: a stable radix sort by digits, cut into chunks that count and move on their
// own where one line is all there is. A short range of a long line is found first and only its
// neighbourhood sorted.
#pragma once
#include <algorithm>

#include "base/thread_pool.h"
#include "kernels/scratch.h"
#include "kernels/sort/sort.h"
#include "kernels/sort/sort_key.h"

namespace flambeau::FLAM_TARGET {

template <class K> void insertion_sort(SortItem<K>* x, int64_t n) {
  for (int64_t i = 1; i < n; ++i) {
    const SortItem<K> item = x[i];
    int64_t j = i;
    for (; j > 0 && item.key < x[j - 1].key; --j) x[j] = x[j - 1];
    x[j] = item;
  }
}

// Moves items to their places by one digit, in order; false where all have the same digit.
template <int Bits, class K> bool radix_pass(const SortItem<K>* from, SortItem<K>* to, int64_t n,
                                             int shift, int64_t chunk, uint32_t* counts) {
  constexpr int64_t kDigits = int64_t{1} << Bits;
  const int64_t chunks = (n + chunk - 1) / chunk;
  auto digit = [&](const SortItem<K>& x) { return (x.key >> shift) & K(kDigits - 1); };
  std::fill_n(counts, chunks * kDigits, 0u);
  parallel_for(n, chunk, [&](int64_t begin, int64_t end) {
    uint32_t* mine = counts + begin / chunk * kDigits;
    for (int64_t i = begin; i < end; ++i) ++mine[digit(from[i])];
  });
  uint32_t place = 0;
  for (int64_t d = 0; d < kDigits; ++d) {
    const uint32_t before = place;
    for (int64_t c = 0; c < chunks; ++c) {
      const uint32_t count = counts[c * kDigits + d];
      counts[c * kDigits + d] = place;
      place += count;
    }
    if (int64_t(place - before) == n) return false;
  }
  parallel_for(n, chunk, [&](int64_t begin, int64_t end) {
    uint32_t* mine = counts + begin / chunk * kDigits;
    for (int64_t i = begin; i < end; ++i) to[mine[digit(from[i])]++] = from[i];
  });
  return true;
}

template <int Bits, class K>
SortItem<K>* radix_sort(SortItem<K>* x, SortItem<K>* spare, int64_t n, int64_t chunk) {
  const int64_t chunks = (n + chunk - 1) / chunk;
  const Scratch memory(size_t(chunks << Bits) * sizeof(uint32_t));
  for (int shift = 0; shift < int(8 * sizeof(K)); shift += Bits) {
    if (radix_pass<Bits>(x, spare, n, shift, chunk, memory.as<uint32_t>())) std::swap(x, spare);
  }
  return x;
}

// Sorts x; the result is in x or in spare, which is returned.
template <class K> SortItem<K>* sort_items(SortItem<K>* x, SortItem<K>* spare, int64_t n) {
  if (n <= 64) {
    insertion_sort(x, n);
    return x;
  }
  if (n <= 8192) return radix_sort<8>(x, spare, n, n);
  return radix_sort<11>(x, spare, n, std::max<int64_t>(65536, (n + 31) / 32));
}

// The least items of many, of equals the first. A handful is kept in order; more are gathered in a
// buffer that is cut back to the least whenever it is full.
template <class K> class FirstItems {
 public:
  explicit FirstItems(int64_t keep)
      : keep_(keep),
        room_(keep <= 32 ? keep : 4 * keep),
        memory_(size_t(room_) * 2 * sizeof(SortItem<K>)),
        x_(memory_.as<SortItem<K>>()),
        spare_(x_ + room_) {}

  // Whether there are enough, so that only what is below the limit can be one of them.
  bool full() const { return full_; }
  K limit() const { return limit_; }

  void add(SortItem<K> item) {
    if (room_ > keep_) {
      x_[held_++] = item;
      if (held_ == room_) cut();
      return;
    }
    int64_t j = held_ < keep_ ? held_++ : keep_ - 1;
    for (; j > 0 && item.key < x_[j - 1].key; --j) x_[j] = x_[j - 1];
    x_[j] = item;
    if (held_ == keep_) bound();
  }

  const SortItem<K>* sorted() {
    if (room_ > keep_) cut();
    return x_;
  }

 private:
  void cut() {
    SortItem<K>* sorted = sort_items(x_, spare_, held_);
    if (sorted != x_) std::swap(x_, spare_);
    held_ = std::min(held_, keep_);
    if (held_ == keep_) bound();
  }
  void bound() {
    full_ = true;
    limit_ = x_[keep_ - 1].key;
  }

  int64_t keep_, room_, held_ = 0;
  Scratch memory_;
  SortItem<K>*x_, *spare_;
  K limit_ = K(~K(0));
  bool full_ = false;
};

template <class T> struct SortLine {
  using K = SortKey<T>;
  using Item = SortItem<K>;
  const SortArgs& a;
  const T* in;
  T* values;
  int64_t *at, first;

  SortLine(const SortArgs& args, int64_t line)
      : a(args),
        in(reinterpret_cast<const T*>(a.in) + line * a.n),
        values(a.values ? reinterpret_cast<T*>(a.values) + line * a.count : nullptr),
        at(a.at ? a.at + line * a.count : nullptr),
        first(a.first) {}

  K key(int64_t i) const { return sort_key(in + i, a.descending); }

  // The middle follows from how many NaN there are: they are last in order.
  void find_middle() {
    if (a.middle == Middle::none) return;
    int64_t numbers = 0;
    for (int64_t i = 0; i < a.n; ++i) numbers += !is_nan_value(load(in + i));
    const bool nan = a.middle == Middle::nan_wins && numbers < a.n;
    first = nan ? numbers : numbers ? (numbers - 1) / 2 : 0;
  }

  void write(const Item* x) const {
    for (int64_t i = 0; values && i < a.count; ++i) values[i] = in[x[i].at];
    for (int64_t i = 0; at && i < a.count; ++i) at[i] = int64_t(x[i].at);
  }

  // Items as wide as positions are moved between a scratch and where the positions go: each is read
  // before its position takes its place.
  void all() const {
    const bool lodged = sizeof(Item) == sizeof(int64_t) && at && a.count == a.n;
    const Scratch memory(size_t(a.n) * (lodged ? 1 : 2) * sizeof(Item));
    Item* x = memory.as<Item>();
    Item* spare = lodged ? reinterpret_cast<Item*>(at) : x + a.n;
    parallel_for(a.n, 65536, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) x[i] = {key(i), uint32_t(i)};
    });
    const Item* sorted = sort_items(x, spare, a.n);
    parallel_for(a.count, 65536, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const uint32_t from = sorted[first + i].at;
        if (values) values[i] = in[from];
        if (at) at[i] = int64_t(from);
      }
    });
  }

  // The first few, by pieces, most of which have no candidate.
  void few() const {
    constexpr int64_t kPiece = 32;
    FirstItems<K> best(first + a.count);
    K piece[kPiece];
    for (int64_t i = 0; i < a.n; i += kPiece) {
      const int64_t m = std::min(kPiece, a.n - i);
      const K limit = best.limit();
      K any = !best.full();
      for (int64_t k = 0; k < m; ++k) {
        piece[k] = key(i + k);
        any |= K(piece[k] < limit);
      }
      for (int64_t k = 0; any && k < m; ++k) {
        if (!best.full() || piece[k] < best.limit()) best.add({piece[k], uint32_t(i + k)});
      }
    }
    write(best.sorted() + first);
  }

  // A range in between: counts leading digits and sorts only the buckets that it touches.
  void between() const {
    constexpr int kBits = 11, kShift = int(8 * sizeof(K)) - kBits;
    const Scratch memory((size_t{1} << kBits) * sizeof(uint32_t));
    uint32_t* counts = memory.as<uint32_t>();
    std::fill_n(counts, 1 << kBits, 0u);
    for (int64_t i = 0; i < a.n; ++i) ++counts[key(i) >> kShift];
    int64_t low = 0, below = 0;
    while (below + counts[low] <= first) below += counts[low++];
    int64_t high = low, upto = below + counts[low];
    while (upto < first + a.count) upto += counts[++high];
    const int64_t room = upto - below;
    const Scratch items(size_t(room) * 2 * sizeof(Item));
    Item* x = items.as<Item>();
    int64_t held = 0;
    for (int64_t i = 0; i < a.n; ++i) {
      const K k = key(i);
      const int64_t digit = int64_t(k >> kShift);
      if (digit >= low && digit <= high) x[held++] = {k, uint32_t(i)};
    }
    write(sort_items(x, x + room, held) + (first - below));
  }

  void run() {
    find_middle();
    if (a.count == a.n || a.n <= 64) return all();
    if ((first + a.count) * 16 <= a.n) return few();
    between();
  }
};

template <class T> void sort_entry(void*, const void* p) {
  const SortArgs& a = *static_cast<const SortArgs*>(p);
  parallel_for(a.lines, 16384 / a.n + 1, [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) SortLine<T>(a, line).run();
  });
}

}  // namespace flambeau::FLAM_TARGET
