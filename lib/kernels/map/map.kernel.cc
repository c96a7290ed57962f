// Elementwise launches on the host, in blocks. A functor has one machine loop for each type it
// computes in; operands that are strided, broadcast or of a half type are gathered into blocks that
// stay in the first-level cache, and such an output is scattered from one. An input whose
// neighbours lie along the rows before the last dimension is turned for several rows at once.
#include "kernels/map/map_loop.h"
#if !defined(FLAM_DEVICE_SOURCE)
#include <span>

#include "base/thread_pool.h"
#include "kernels/map/map_element.h"
#include "kernels/map/map_transpose.h"
#include "kernels/map/stream.h"

namespace flambeau::FLAM_TARGET {

namespace {

constexpr int64_t kBlockBytes = 4096;
// Inner runs from this length are worked on one by one, so that dense ones need no block.
constexpr int64_t kLongRun = 128;
// Dense ones also from here on where they are whole registers.
constexpr int64_t kWholeRun = 32, kWhole = 16;
// Of an operand that an inner run shares: what is filled once and used again and again.
constexpr int64_t kSharedBytes = 1024, kSharedRows = kBlockBytes / kSharedBytes;
constexpr int64_t kWholePiece = 1024;
constexpr int64_t kGrain = 16384, kPieces = 8;        // at least; of a launch, for each thread
constexpr int64_t kTileRows = 16, kTileBytes = 1024;  // of a turned operand, in a block's type

using Block = char[kBlockBytes];

struct Side {  // one operand
  const Element* element;
  char* base;
  const int64_t* stride;  // by dimension
  int64_t step, row;      // within an inner run, and from one to the next
  int64_t period;         // elements after which the side begins again
  bool dense;             // along an inner run, and in the computed type
  bool flat;              // along the whole index space, and in the computed type
  bool turned;            // dense along the dimension before the last
};

struct Launch {
  const MapArgs& a;
  int operands;
  MapLoop loop;
  int64_t inner, block;  // lengths of an inner run, and of a block where any is needed
  bool flat = true, turned = false;
  bool dense = true;  // every side along an inner run
  bool shared;        // or one number for all of it
  Side side[kMapOperands] = {};
};

constexpr int64_t kNowhere[kMapDims] = {};

Side side_of(const MapArgs& a, int o, Dtype type, bool moved) {
  Side s;
  s.element = &element_of(type, moved);
  s.base = a.data[o] ? a.data[o] : const_cast<char*>(a.value[o]);
  s.stride = a.data[o] ? a.stride[o] : kNowhere;
  const int64_t bytes = s.element->bytes;
  s.step = a.ndim ? s.stride[a.ndim - 1] : bytes;
  s.dense = s.step == bytes && s.element->width == bytes;
  s.row = a.ndim > 1 ? s.stride[a.ndim - 2] : 0;
  s.flat = s.dense;
  s.period = 1;
  for (int64_t d = a.ndim - 1, upto = 1; d >= 0; --d) {
    s.flat &= s.stride[d] == upto * bytes;
    upto *= a.size[d];
    if (s.stride[d]) s.period = upto;
  }
  s.turned =
      o && a.data[o] && a.ndim > 1 && s.step && s.step != bytes && s.stride[a.ndim - 2] == bytes;
  return s;
}

// Calls run(addresses, done, rows, m) for the inner runs that elements [begin, begin + n) consist
// of, whole ones by rows.
template <class Run> void for_runs(const Launch& l, std::span<const Side> sides, int64_t begin,
                                   int64_t n, const Run& run) {
  const int last = l.a.ndim - 1;
  int64_t index[kMapDims] = {}, rest = begin / l.inner, at = begin % l.inner;
  char* row[kMapOperands];
  const auto move = [&](int d, int64_t by) {
    for (size_t o = 0; o < sides.size(); ++o) row[o] += by * sides[o].stride[d];
  };
  for (size_t o = 0; o < sides.size(); ++o) row[o] = sides[o].base + at * sides[o].step;
  for (int d = last - 1; d >= 0 && rest; --d) {
    index[d] = rest % l.a.size[d];
    rest /= l.a.size[d];
    move(d, index[d]);
  }
  for (int64_t done = 0; done < n;) {
    const int64_t m = std::min(l.inner - at, n - done);
    int64_t rows = 1;
    if (m == l.inner && last > 0)
      rows = std::min(l.a.size[last - 1] - index[last - 1], (n - done) / m);
    run(row, done, rows, m);
    done += rows * m;
    if (at) move(last, -at);
    at = 0;
    for (int d = last - 1; d >= 0; --d, rows = 1) {
      move(d, rows);
      index[d] += rows;
      if (index[d] < l.a.size[d]) break;
      move(d, -l.a.size[d]);
      index[d] = 0;
    }
  }
}

// The first element of [begin, begin + n) where a side has them dense, else null.
char* in_place(const Launch& l, const Side& s, int64_t begin, int64_t n) {
  if (s.flat) return s.base + begin * s.element->bytes;
  if (!s.dense || n > l.inner - begin % l.inner) return nullptr;
  char* first = nullptr;
  for_runs(l, {&s, 1}, begin, n, [&](char* const* at, int64_t, int64_t, int64_t) { first = *at; });
  return first;
}

// ---- short inner runs: several in a block -------------------------------------------------------

void run_blocks(const Launch& l, int64_t begin, int64_t end) {
  alignas(64) Block block[kMapOperands];
  int64_t filled[kMapOperands] = {};  // with what every block has
  for (; begin < end; begin += l.block) {
    const int64_t n = std::min(l.block, end - begin);
    char* data[kMapOperands];
    for (int o = 0; o < l.operands; ++o) {
      const Side& s = l.side[o];
      data[o] = in_place(l, s, begin, n);
      if (data[o]) continue;
      data[o] = block[o];
      if (o == 0 || filled[o] >= n) continue;
      const int64_t width = s.element->width;
      for_runs(l, {&s, 1}, begin, n, [&](char* const* at, int64_t done, int64_t rows, int64_t m) {
        s.element->gather(block[o] + done * width, m * width, *at, s.row, s.step, rows, m);
      });
      if (l.block % s.period == 0) filled[o] = n;
    }
    l.loop(l.a.params, data, kNowhere, 1, n);
    const Side& out = l.side[0];
    if (data[0] != block[0]) continue;
    const int64_t width = out.element->width;
    for_runs(l, {&out, 1}, begin, n, [&](char* const* at, int64_t done, int64_t rows, int64_t m) {
      out.element->scatter(*at, out.row, out.step, block[0] + done * width, m * width, rows, m);
    });
  }
}

// ---- long inner runs ----------------------------------------------------------------------------

// m elements of one inner run. filled[o]: elements that one number for all has filled.
void run_row(const Launch& l, char* const* row, int64_t m, Block* block, int64_t* filled) {
  const int64_t most = std::min(l.block, m);
  for (int o = 1; o < l.operands; ++o) {
    const Side& s = l.side[o];
    if (s.step || filled[o] >= most) continue;
    s.element->gather(block[o], 0, row[o], 0, 0, 1, most);
    if (s.period == 1) filled[o] = most;
  }
  const Side& out = l.side[0];
  for (int64_t i = 0; i < m; i += most) {
    const int64_t n = std::min(most, m - i);
    char* data[kMapOperands];
    for (int o = 0; o < l.operands; ++o) {
      const Side& s = l.side[o];
      data[o] = s.dense ? row[o] + i * s.step : block[o];
      if (o && s.step && !s.dense)
        s.element->gather(block[o], 0, row[o] + i * s.step, 0, s.step, 1, n);
    }
    l.loop(l.a.params, data, kNowhere, 1, n);
    if (!out.dense) out.element->scatter(row[0] + i * out.step, 0, out.step, block[0], 0, 1, n);
  }
}

// Rows of m elements, of which some sides have one number a row: that of several rows fills a block
// at once, each a part that stands still while the loop goes along its row.
void run_shared(const Launch& l, char* const* first, const int64_t* row, int64_t rows, int64_t m,
                Block* block, int64_t* filled) {
  const int64_t most = std::min(l.block, m), whole = m / most, rest = m % most;
  int64_t part[kMapOperands], step[kMapOperands];
  for (int o = 0; o < l.operands; ++o) {
    const Side& s = l.side[o];
    part[o] = row[o] ? l.block * s.element->width : 0;
    step[o] = s.dense ? most * s.step : 0;
  }
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t at = r % kSharedRows;
    char* data[kMapOperands];
    for (int o = 0; o < l.operands; ++o) {
      const Side& s = l.side[o];
      char* const from = first[o] + r * row[o];
      data[o] = s.dense ? from : block[o] + at * part[o];
      if (s.dense || filled[o] || at || (r && !row[o])) continue;
      s.element->gather(block[o], part[o], from, row[o], 0,
                        row[o] ? std::min(kSharedRows, rows - r) : 1, l.block);
      filled[o] = s.period == 1;
    }
    l.loop(l.a.params, data, step, whole, most);
    if (!rest) continue;
    for (int o = 0; o < l.operands; ++o) data[o] += whole * step[o];
    l.loop(l.a.params, data, kNowhere, 1, rest);
  }
}

// Rows of m elements.
void run_each(const Launch& l, char* const* first, const int64_t* step, int64_t rows, int64_t m,
              Block* block, int64_t* filled) {
  if (l.dense) return l.loop(l.a.params, first, step, rows, m);
  if (l.shared) return run_shared(l, first, step, rows, m, block, filled);
  char* row[kMapOperands];
  for (int64_t r = 0; r < rows; ++r) {
    for (int o = 0; o < l.operands; ++o) row[o] = first[o] + r * step[o];
    run_row(l, row, m, block, filled);
  }
}

void run_rows(const Launch& l, int64_t begin, int64_t end) {
  alignas(64) Block block[kMapOperands];
  int64_t filled[kMapOperands] = {}, step[kMapOperands];
  for (int o = 0; o < l.operands; ++o) step[o] = l.side[o].row;
  for_runs(l, {l.side, size_t(l.operands)}, begin, end - begin,
           [&](char* const* at, int64_t, int64_t rows, int64_t m) {
             run_each(l, at, step, rows, m, block, filled);
           });
}

// From dense rows, to dense rows, or from rows to rows through a block.
void copy_rows(const Launch& l, int64_t begin, int64_t end) {
  const Side &out = l.side[0], &in = l.side[1];
  for_runs(l, {l.side, 2}, begin, end - begin,
           [&](char* const* at, int64_t, int64_t rows, int64_t m) {
             if (out.dense)
               return in.element->gather(at[0], out.row, at[1], in.row, in.step, rows, m);
             if (in.dense)
               return out.element->scatter(at[0], out.row, out.step, at[1], in.row, rows, m);
             alignas(64) Block block;
             const int64_t width = in.element->width, most = std::min(l.block, m);
             const int64_t high = m <= l.block ? l.block / m : 1;
             for (int64_t r = 0; r < rows; r += high) {
               const int64_t some = std::min(high, rows - r);
               for (int64_t i = 0; i < m; i += most) {
                 const int64_t n = std::min(most, m - i);
                 in.element->gather(block, n * width, at[1] + r * in.row + i * in.step, in.row,
                                    in.step, some, n);
                 out.element->scatter(at[0] + r * out.row + i * out.step, out.row, out.step, block,
                                      n * width, some, n);
               }
             }
           });
}

void run_flat(const Launch& l, int64_t begin, int64_t end) {
  char* data[kMapOperands];
  for (int o = 0; o < l.operands; ++o) {
    data[o] = l.side[o].base + begin * l.side[o].element->bytes;
  }
  l.loop(l.a.params, data, kNowhere, 1, end - begin);
}

// By blocks that are stored past the caches, from the first whole line on.
void run_streamed(const Launch& l, int64_t begin, int64_t end) {
  alignas(64) Block block;
  const int64_t width = l.side[0].element->bytes, most = kBlockBytes / width;
  char* to = l.side[0].base + begin * width;
  const int64_t before = int64_t(-reinterpret_cast<uintptr_t>(to) % 64) / width;
  const int64_t first = begin + std::min(before, end - begin);
  run_flat(l, begin, first);
  to = l.side[0].base + first * width;
  for (int64_t i = first; i < end; i += most, to += kBlockBytes) {
    const int64_t n = std::min(most, end - i), whole = n * width / 64 * 64;
    char* data[kMapOperands] = {block};
    for (int o = 1; o < l.operands; ++o) data[o] = l.side[o].base + i * l.side[o].element->bytes;
    l.loop(l.a.params, data, kNowhere, 1, n);
    stream_lines(to, block, whole);
    memcpy(to + whole, block + whole, size_t(n * width - whole));
  }
  end_of_stream();
}

// Whether a flat launch goes over so much memory, and its output is none of it so far.
bool is_streamed(const Launch& l) {
  const char* const out = l.side[0].base;
  int64_t bytes = 0;
  for (int o = 0; o < l.operands; ++o) {
    bytes += l.a.numel * l.side[o].element->bytes;
    if (o && l.side[o].base == out) return false;
  }
  return kStreams && is_past_caches(bytes) &&
         reinterpret_cast<uintptr_t>(out) % uintptr_t(l.side[0].element->bytes) == 0;
}

// ---- turned operands ----------------------------------------------------------------------------

// A tile of `rows` by `columns`, whose operands begin at `at`.
void run_tile(const Launch& l, const Launch& in_tile, char* const* at, int64_t rows,
              int64_t columns, Block* block) {
  alignas(64) char tile[kMapOperands][kTileRows * kTileBytes];
  const int last = l.a.ndim - 1;
  char* row[kMapOperands];
  int64_t step[kMapOperands];
  for (int o = 0; o < l.operands; ++o) {
    const Side& s = l.side[o];
    row[o] = s.turned ? tile[o] : at[o];
    step[o] = s.turned ? kTileBytes : s.stride[last - 1];
    if (!s.turned) continue;
    turn_area_of(s.element->bytes)(tile[o], kTileBytes, at[o], s.step, rows, columns);
  }
  int64_t filled[kMapOperands] = {};
  run_each(in_tile, row, step, rows, columns, block, filled);
}

void run_turned(const Launch& l) {
  const int last = l.a.ndim - 1;
  Launch in_tile = l;
  in_tile.dense = true;
  int64_t width = 1;
  for (int o = 0; o < l.operands; ++o) {
    Side& s = in_tile.side[o];
    width = std::max(width, s.element->width);
    if (s.turned) {
      s.step = s.element->bytes;
      s.dense = s.element->width == s.step;
    }
    in_tile.dense &= s.dense;
  }
  const int64_t most = kTileBytes / width;
  in_tile.block = most;
  for_strips(l.a, kTileRows, [&](char* const* plane, int64_t first, int64_t rows) {
    alignas(64) Block block[kMapOperands];
    for (int64_t c = 0; c < l.inner; c += most) {
      char* at[kMapOperands];
      for (int o = 0; o < l.operands; ++o) {
        const Side& s = l.side[o];
        at[o] = l.a.data[o] ? plane[o] + first * s.stride[last - 1] + c * s.step : s.base;
      }
      run_tile(l, in_tile, at, rows, std::min(most, l.inner - c), block);
    }
  });
}

}  // namespace

void map_blocks(const MapArgs& a, const Dtype* types, int operands, MapLoop loop, bool stored) {
  Launch l{.a = a,
           .operands = operands,
           .loop = loop,
           .inner = a.ndim ? a.size[a.ndim - 1] : 1,
           .block = a.numel,
           .shared = loop != nullptr};
  const bool moved = stored || (!loop && types[0] == types[1]);
  int64_t width = 1;
  bool by_row = false;  // one number for a row, not for all
  for (int o = 0; o < operands; ++o) {
    const Side& s = l.side[o] = side_of(a, o, types[o], moved);
    l.flat &= s.flat;
    l.turned |= s.turned;
    l.dense &= s.dense;
    l.shared &= s.dense || s.step == 0;
    by_row |= !s.dense && s.period != 1;
    width = std::max(width, s.element->width);
  }
  const bool by_rows =
      l.inner >= kLongRun || (l.dense && l.inner >= kWholeRun && l.inner % kWhole == 0);
  if (!l.dense || !by_rows) {
    l.block = (l.shared && by_rows && by_row ? kSharedBytes : kBlockBytes) / width;
    int64_t period = 1;  // whole ones, so that what begins again is gathered once
    for (int o = 1; o < operands; ++o)
      if (l.side[o].period <= l.block) period = std::max(period, l.side[o].period);
    if (!by_rows) l.block -= l.block % period;
  }
  if (!loop && l.side[0].element == l.side[1].element && l.side[0].element->bytes == width) {
    const MapArgs plane = with_plane_last(a, width);
    if (takes_transpose(plane, width)) return copy_turned(plane, width);
  }
  if (loop && l.turned && l.inner >= kTileRows && a.size[a.ndim - 2] >= kTileRows)
    return run_turned(l);
  const auto run_whole = l.flat && loop && is_streamed(l) ? run_streamed : run_flat;
  const auto run = !loop ? copy_rows : l.flat ? run_whole : by_rows ? run_rows : run_blocks;
  // Few pieces, for each has to start its streams; but whoever is late leaves some to others.
  const int64_t piece =
      std::max(kGrain, a.numel / (kPieces * get_num_threads()) / kWholePiece * kWholePiece);
  // Whole runs, where they are short enough to be shared out as such.
  const int64_t grain = l.inner < piece ? piece / l.inner * l.inner : piece;
  parallel_for(a.numel, grain, [&](int64_t begin, int64_t end) { run(l, begin, end); });
}

}  // namespace flambeau::FLAM_TARGET
#endif
