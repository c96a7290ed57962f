// Elementwise launches on the host, in blocks. A functor has one machine loop for each type it
// computes in; operands that are strided, broadcast or of a half type are gathered into blocks that
// stay in the first-level cache, and such an output is scattered from one. An input whose
// neighbours lie along the rows before the last dimension is turned for several rows at once.
#include "kernels/map/map_loop.h"
#if !defined(FLAM_DEVICE_SOURCE)
#include "base/thread_pool.h"
#include "kernels/map/map_element.h"
#include "kernels/map/map_transpose.h"

namespace flambeau::FLAM_TARGET {

namespace {

constexpr int64_t kBlockBytes = 4096;
// Inner runs from this length are worked on one by one, so that dense ones need no block.
constexpr int64_t kLongRun = 128;
constexpr int64_t kMovedRun = 16;  // where there is no loop to enter
// Of an operand that an inner run shares: elements that are filled once and used again and again.
constexpr int64_t kShared = 256;
constexpr int64_t kTileRows = 16, kTileBytes = 1024;  // of a turned operand, in a block's type

using Block = char[kBlockBytes];

struct Side {  // one operand
  const Element* element;
  char* base;
  const int64_t* stride;  // by dimension
  int64_t step;           // within an inner run
  bool dense;             // along an inner run, and in the computed type
  bool flat;              // along the whole index space, and in the computed type
  bool constant;          // one element for the whole index space
  bool turned;            // dense along the dimension before the last
};

struct Launch {
  const MapArgs& a;
  int operands;
  MapLoop loop;
  int64_t inner, block;  // lengths of an inner run, and of a block where any is needed
  bool flat = true, turned = false;
  Side side[kMapOperands];
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
  s.flat = s.dense;
  s.constant = true;
  int64_t expected = bytes;
  for (int d = a.ndim - 1; d >= 0; --d) {
    s.flat &= s.stride[d] == expected;
    s.constant &= s.stride[d] == 0;
    expected *= a.size[d];
  }
  s.turned =
      o && a.data[o] && a.ndim > 1 && s.step && s.step != bytes && s.stride[a.ndim - 2] == bytes;
  return s;
}

// Calls run(address, done, m) for the inner runs that elements [begin, begin + n) of a side
// consist of.
template <class Run>
void for_runs(const Launch& l, const Side& s, int64_t begin, int64_t n, Run&& run) {
  const int last = l.a.ndim - 1;
  int64_t index[kMapDims] = {}, rest = begin / l.inner, at = begin % l.inner;
  char* row = s.base;
  for (int d = last - 1; d >= 0 && rest; --d) {
    index[d] = rest % l.a.size[d];
    rest /= l.a.size[d];
    row += index[d] * s.stride[d];
  }
  for (int64_t done = 0; done < n; at = 0) {
    const int64_t m = std::min(l.inner - at, n - done);
    run(row + at * s.step, done, m);
    done += m;
    for (int d = last - 1; d >= 0; --d) {
      row += s.stride[d];
      if (++index[d] < l.a.size[d]) break;
      row -= s.stride[d] * l.a.size[d];
      index[d] = 0;
    }
  }
}

// The first element of [begin, begin + n) where a side has them dense, else null.
char* in_place(const Launch& l, const Side& s, int64_t begin, int64_t n) {
  if (s.flat) return s.base + begin * s.element->bytes;
  if (!s.dense || n > l.inner - begin % l.inner) return nullptr;
  char* first = nullptr;
  for_runs(l, s, begin, n, [&](char* address, int64_t, int64_t) { first = address; });
  return first;
}

void run_blocks(const Launch& l, int64_t begin, int64_t end) {
  alignas(64) Block block[kMapOperands];
  int64_t filled[kMapOperands] = {};
  while (begin < end) {
    const int64_t n = std::min(l.block, end - begin);
    char* data[kMapOperands];
    for (int o = 0; o < l.operands; ++o) {
      const Side& s = l.side[o];
      data[o] = in_place(l, s, begin, n);
      if (data[o]) continue;
      data[o] = block[o];
      if (o == 0 || filled[o] >= n) continue;
      for_runs(l, s, begin, n, [&](const char* from, int64_t done, int64_t m) {
        s.element->gather(block[o] + done * s.element->width, from, s.step, m);
      });
      if (s.constant) filled[o] = n;
    }
    l.loop(l.a.params, data, n);
    const Side& out = l.side[0];
    if (data[0] == block[0]) {
      for_runs(l, out, begin, n, [&](char* to, int64_t done, int64_t m) {
        out.element->scatter(to, block[0] + done * out.element->width, out.step, m);
      });
    }
    begin += n;
  }
}

void copy_blocks(const Launch& l, int64_t begin, int64_t end) {
  alignas(64) Block block;
  const Side &out = l.side[0], &in = l.side[1];
  while (begin < end) {
    const int64_t n = std::min(l.block, end - begin);
    char* to = in_place(l, out, begin, n);
    const char* from = to ? nullptr : in_place(l, in, begin, n);
    if (!from) {
      for_runs(l, in, begin, n, [&](const char* run, int64_t done, int64_t m) {
        in.element->gather((to ? to : block) + done * in.element->width, run, in.step, m);
      });
      from = block;
    }
    if (!to) {
      for_runs(l, out, begin, n, [&](char* run, int64_t done, int64_t m) {
        out.element->scatter(run, from + done * out.element->width, out.step, m);
      });
    }
    begin += n;
  }
}

// ---- long inner runs ----------------------------------------------------------------------------

// Calls run(addresses, m) for the parts of inner runs that elements [begin, end) consist of.
template <class Run> void for_rows(const Launch& l, int64_t begin, int64_t end, const Run& run) {
  const int last = l.a.ndim - 1;
  int64_t index[kMapDims] = {}, rest = begin / l.inner, at = begin % l.inner;
  char* row[kMapOperands];
  const auto move = [&](int d, int64_t steps) {
    for (int o = 0; o < l.operands; ++o) row[o] += steps * l.side[o].stride[d];
  };
  for (int o = 0; o < l.operands; ++o) row[o] = l.side[o].base + at * l.side[o].step;
  for (int d = last - 1; d >= 0; --d) {
    index[d] = rest % l.a.size[d];
    rest /= l.a.size[d];
    move(d, index[d]);
  }
  while (begin < end) {
    const int64_t m = std::min(l.inner - at, end - begin);
    run(row, m);
    begin += m;
    if (at) move(last, -at);
    at = 0;
    for (int d = last - 1; d >= 0; --d) {
      move(d, 1);
      if (++index[d] < l.a.size[d]) break;
      move(d, -l.a.size[d]);
      index[d] = 0;
    }
  }
}

// m elements of one inner run. filled[o]: elements of the block that a constant operand has filled.
void run_row(const Launch& l, char* const* row, int64_t m, Block* block, int64_t* filled) {
  const int64_t most = std::min(l.block, m);
  for (int o = 1; o < l.operands; ++o) {
    const Side& s = l.side[o];
    if (s.step || filled[o] >= most) continue;
    s.element->gather(block[o], row[o], 0, most);
    if (s.constant) filled[o] = most;
  }
  const Side& out = l.side[0];
  for (int64_t i = 0; i < m; i += most) {
    const int64_t n = std::min(most, m - i);
    char* data[kMapOperands];
    for (int o = 0; o < l.operands; ++o) {
      const Side& s = l.side[o];
      data[o] = s.dense ? row[o] + i * s.step : block[o];
      if (o && s.step && !s.dense) s.element->gather(block[o], row[o] + i * s.step, s.step, n);
    }
    l.loop(l.a.params, data, n);
    if (!out.dense) out.element->scatter(row[0] + i * out.step, block[0], out.step, n);
  }
}

void run_rows(const Launch& l, int64_t begin, int64_t end) {
  alignas(64) Block block[kMapOperands];
  int64_t filled[kMapOperands] = {};
  for_rows(l, begin, end, [&](char* const* row, int64_t m) { run_row(l, row, m, block, filled); });
}

void copy_rows(const Launch& l, int64_t begin, int64_t end) {
  alignas(64) Block block;
  const Side &out = l.side[0], &in = l.side[1];
  for_rows(l, begin, end, [&](char* const* row, int64_t m) {
    if (out.dense) return in.element->gather(row[0], row[1], in.step, m);
    if (in.dense) return out.element->scatter(row[0], row[1], out.step, m);
    for (int64_t i = 0; i < m; i += l.block) {
      const int64_t n = std::min(l.block, m - i);
      in.element->gather(block, row[1] + i * in.step, in.step, n);
      out.element->scatter(row[0] + i * out.step, block, out.step, n);
    }
  });
}

void run_flat(const Launch& l, int64_t begin, int64_t end) {
  char* data[kMapOperands];
  for (int o = 0; o < l.operands; ++o) {
    data[o] = l.side[o].base + begin * l.side[o].element->bytes;
  }
  l.loop(l.a.params, data, end - begin);
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
  for (int64_t r = 0; r < rows; ++r) {
    run_row(in_tile, row, columns, block, filled);
    for (int o = 0; o < l.operands; ++o) row[o] += step[o];
  }
}

void run_turned(const Launch& l) {
  const int last = l.a.ndim - 1;
  Launch in_tile = l;
  int64_t width = 1;
  for (int o = 0; o < l.operands; ++o) {
    Side& s = in_tile.side[o];
    width = std::max(width, s.element->width);
    if (!s.turned) continue;
    s.step = s.element->bytes;
    s.dense = s.element->width == s.step;
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

void map_blocks(const MapArgs& a, const Dtype* types, int operands, MapLoop loop) {
  Launch l{a, operands, loop, a.ndim ? a.size[a.ndim - 1] : 1, a.numel, true, false, {}};
  const bool moved = !loop && types[0] == types[1];
  int64_t width = 1;
  bool blocks = l.inner < kLongRun, shared = loop;
  for (int o = 0; o < operands; ++o) {
    const Side& s = l.side[o] = side_of(a, o, types[o], moved);
    l.flat &= s.flat;
    l.turned |= s.turned;
    blocks |= !s.dense;
    shared &= s.dense || s.step == 0;
    width = std::max(width, s.element->width);
  }
  if (blocks) l.block = shared && l.inner >= kLongRun ? kShared : kBlockBytes / width;
  if (!loop && l.side[0].element == l.side[1].element && takes_transpose(a, width) &&
      l.side[0].element->bytes == width) {
    return copy_turned(a, width);
  }
  if (loop && l.turned && l.inner >= kTileRows && a.size[a.ndim - 2] >= kTileRows)
    return run_turned(l);
  const bool rows = l.inner >= (loop ? kLongRun : kMovedRun);
  const auto run = !loop    ? (rows ? copy_rows : copy_blocks)
                   : l.flat ? run_flat
                   : rows   ? run_rows
                            : run_blocks;
  constexpr int64_t grain = 16384;
  parallel_for(a.numel, grain, [&](int64_t begin, int64_t end) { run(l, begin, end); });
}

}  // namespace flambeau::FLAM_TARGET
#endif
