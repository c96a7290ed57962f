// How attention is cut into tiles: some entries of the batch and some rows of queries at a time,
// such that the scores of a tile stay near; the views, masks and memory of a tile. Tiles do not
// depend on the number of threads.
#pragma once
#include <algorithm>
#include <cmath>

#include "ops/formula.h"
#include "ops/nn/rows.h"

namespace flambeau::ops {

// Scores of a tile: such that the host's caches hold them, and such that a device is busy.
inline constexpr int64_t kHostScores = 1 << 18, kDeviceScores = 1 << 26;
inline constexpr int64_t kRows = 64;  // fewer leave products inefficient

// As [batch, heads, rows, columns], without history.
inline Tensor lifted(const Tensor& t) {
  Dims sizes(t.sizes()), strides(t.strides());
  while (sizes.size() < 4) {
    sizes.insert(0, 1);
    strides.insert(0, 0);
  }
  return alias(t, sizes, strides, t.offset());
}

// Once what repeats itself: the kernels repeat it, and what is converted is not to grow.
inline Tensor least_of(const Tensor& t) {
  Dims once(t.sizes());
  for (size_t d = 0; d < once.size(); ++d)
    if (t.strides()[d] == 0) once[d] = 1;
  return alias(t, once, t.strides(), t.offset());
}

// What is added to scores, in the type that the kernels compute in.
inline Tensor mask_of(const Tensor& added, Dtype dtype) {
  if (!added) return added;
  return lifted(to_dtype(least_of(added), is_half(dtype) ? Dtype::f32 : dtype));
}

// Entries [first, first + n) of a dimension; all where t repeats its only one.
inline Tensor part(const Tensor& t, size_t d, int64_t first, int64_t n) {
  if (t.sizes()[d] == 1) return t;
  Dims sizes(t.sizes());
  sizes[d] = n;
  return alias(t, sizes, t.strides(), t.offset() + first * t.strides()[d]);
}

inline Tensor turned(const Tensor& t) {
  Dims sizes(t.sizes()), strides(t.strides());
  std::swap(sizes[2], sizes[3]);
  std::swap(strides[2], strides[3]);
  return alias(t, sizes, strides, t.offset());
}

// Uninitialised, as a projection of several heads wants it: heads of one place of the sequence lie
// side by side.
inline Tensor by_places(DimsView sizes, Dtype dtype, Device device) {
  if (sizes.size() < 4) return flambeau::empty(sizes, dtype, device);
  const int64_t h = sizes[1], l = sizes[2], e = sizes[3];
  return flambeau::empty_strided(sizes, Dims{l * h * e, e, h * e, 1}, dtype, device);
}

// Which keys count for a query i: those from i + shift - left to i + shift + right; a negative left
// or right is no bound. {-1, 0} is causal. Bounds are below the keys' and the queries' number.
struct KeyBand {
  int64_t left = -1, right = -1, shift = 0;

  bool bounded() const { return left >= 0 || right >= 0; }
  // Keys that one query may see.
  int64_t width(int64_t keys) const {
    return left < 0 || right < 0 ? keys : std::min(keys, left + right + 1);
  }
};

// 0 where a key counts and -infinity elsewhere, for queries from 0 and keys from `first`.
inline Tensor band_mask(const KeyBand& band, DimsView sizes, int64_t first, Dtype dtype,
                        Device device) {
  const Tensor all = ones(sizes, Dtype::boolean, device);
  Tensor added = zeros(sizes, dtype, device);
  const auto hide = [&](const Tensor& some) { added = masked_fill(added, some, num(-INFINITY)); };
  if (band.right >= 0) hide(triu(all, band.shift + band.right - first + 1));
  if (band.left >= 0) hide(tril(all, band.shift - band.left - first - 1));
  return added;
}

// How a launch is cut. Gradients are summed over the tiles of one piece of the batch.
struct Cut {
  Dtype dtype;     // computed in
  size_t dim;      // of the batch that is cut
  int64_t pieces;  // its size
  int64_t piece, rows, length, keys;
  KeyBand band;

  // `wide`: scores of half types are f32 on devices, too, as they are on the host.
  Cut(const Tensor& q, const Tensor& k, const KeyBand& counting, bool wide)
      : dtype(q.dtype()),
        dim(q.size(0) > 1 ? 0 : 1),
        pieces(q.size(int64_t(dim))),
        length(q.size(2)),
        keys(k.size(2)),
        band(counting) {
    const bool host = kernel_column(q.device()) == KernelColumn::host;
    const int64_t heads = q.size(0) * q.size(1) / pieces;
    if (is_half(dtype) && (host || wide)) dtype = Dtype::f32;
    const int64_t budget =
        std::max<int64_t>((host ? kHostScores : kDeviceScores) / heads / keys, 1);
    // Beyond the width of a band, most scores of a tile are of keys that do not count.
    const int64_t useful = !band.bounded() ? budget : host ? kRows : band.width(keys);
    rows = std::min(length, std::max(kRows, std::min(budget, useful)));
    piece = std::min(pieces, std::max<int64_t>(budget / rows, 1));
  }
  // The keys that count for any of n queries from `row`: the first, and after the last.
  int64_t first_seen(int64_t row) const {
    return band.left < 0 ? 0 : std::clamp<int64_t>(row + band.shift - band.left, 0, keys);
  }
  int64_t end_seen(int64_t row, int64_t n) const {
    return band.right < 0 ? keys : std::clamp<int64_t>(row + n + band.shift + band.right, 0, keys);
  }
  // Tiles in all of the rows, and of the whole.
  int64_t tiles() const { return (length + rows - 1) / rows; }
  int64_t all_tiles() const { return (pieces + piece - 1) / piece * tiles(); }
};

// One piece of an operand, in the type that is computed in.
inline Tensor taken(const Cut& cut, const Tensor& t, int64_t first, int64_t n) {
  const Tensor own = part(t, cut.dim, first, n);
  if (own.dtype() == cut.dtype) return own;
  const Tensor wide = flambeau::empty(own.sizes(), cut.dtype, t.device());
  run_cast(wide, own);
  return wide;
}

// Where a piece of a result is written: in place, or widened and to be given back.
inline Tensor place_of(const Cut& cut, const Tensor& t, int64_t first, int64_t n) {
  const Tensor own = part(t, cut.dim, first, n);
  return t.dtype() == cut.dtype ? own : flambeau::empty(own.sizes(), cut.dtype, t.device());
}

inline void give_back(const Cut& cut, const Tensor& t, int64_t first, int64_t n,
                      const Tensor& from) {
  if (t.dtype() != cut.dtype) run_cast(part(t, cut.dim, first, n), from);
}

// Dense memory for the scores of any tile.
struct Scores {
  Tensor memory;
  Scores(const Cut& cut, const Tensor& q)
      : memory(flambeau::empty(
            Dims{cut.piece * (q.size(0) * q.size(1) / cut.pieces) * cut.rows * cut.keys}, cut.dtype,
            q.device())) {}
  Tensor like(const Tensor& q, int64_t keys) const {
    const Dims sizes{q.size(0), q.size(1), q.size(2), keys};
    return alias(memory, sizes, contiguous_strides(sizes), 0);
  }
};

// Heads of q that have a head of k and v in common are told apart by the place among them: of one
// place there is one for each head of k. So nothing of k and v is repeated.
inline int64_t sharing(const Tensor& q, const Tensor& k) { return q.size(1) / k.size(1); }

inline Tensor of_place(const Tensor& t, int64_t places, int64_t place) {
  if (t.size(1) == 1 || places == 1) return t;  // a mask may be the same for all heads
  Dims sizes(t.sizes()), strides(t.strides());
  sizes[1] /= places;
  strides[1] *= places;
  return alias(t, sizes, strides, t.offset() + place * t.strides()[1]);
}

// What is added to the scores of each tile, by dimension 2 its rows; one for all heads. A mask that
// they do not share is converted by tile. That of a band is by the place of a key beside the tile's
// first query, so that tiles have it in common; it holds what near tiles want, and is made anew for
// far ones, so that it is not larger than a few tiles of one head.
class Mask {
 public:
  Mask(const Cut& cut, int64_t places, const Tensor& mask, Device device)
      : cut_(cut), places_(places), device_(device) {
    if (cut.band.bounded() || !mask) return;
    added_ = lifted(least_of(mask));
    if (added_.size(0) * added_.size(1) == 1) added_ = to_dtype(added_, cut.dtype);
  }
  // Of `rows` rows from `row`, and the keys that count for any of them.
  Tensor tile(int64_t place, int64_t first, int64_t n, int64_t row, int64_t rows) {
    if (cut_.band.bounded()) return of_band(row, rows);
    if (!added_) return added_;
    const Tensor own = of_place(added_, places_, place);
    return to_dtype(part(part(own, cut_.dim, first, n), 2, row, rows), cut_.dtype);
  }

 private:
  Tensor of_band(int64_t row, int64_t rows) {
    const int64_t from = cut_.first_seen(row) - row, end = cut_.end_seen(row, rows) - row;
    if (!added_ || from < from_ || end > from_ + added_.size(3)) {
      added_ = {};  // its memory may serve the next
      from_ = std::max(lowest(), from - cut_.keys);
      const Dims sizes{cut_.rows, std::min(highest(), end + cut_.keys) - from_};
      added_ = lifted(band_mask(cut_.band, sizes, from_, cut_.dtype, device_));
    }
    return narrowed(added_, rows, from - from_, end - from);
  }
  static Tensor narrowed(const Tensor& t, int64_t rows, int64_t from, int64_t keys) {
    return alias(t, Dims{1, 1, rows, keys}, t.strides(), t.offset() + from * t.strides()[3]);
  }
  // Of the places that any tile sees: the first, and after the last.
  int64_t lowest() const {
    const int64_t last_row = (cut_.length - 1) / cut_.rows * cut_.rows;
    return cut_.band.left < 0 ? -last_row : std::max(-last_row, cut_.band.shift - cut_.band.left);
  }
  int64_t highest() const {
    return cut_.band.right < 0 ? cut_.keys
                               : std::min(cut_.keys, cut_.rows + cut_.band.shift + cut_.band.right);
  }

  const Cut& cut_;
  int64_t places_;
  Device device_;
  Tensor added_;
  int64_t from_ = 0;  // of a band, its first column
};

}  // namespace flambeau::ops
