// Products of bfloat16 by a processor's matrix tiles: four sums of 16 x 16 floats, each step 32 of
// k deep. Tiles are behind an interface (load, multiply, store of numbered tiles) with two bodies:
// AMX's registers, and plain memory, which tests run on every processor.
#pragma once
#include "kernels/gemm/gemm_pair.h"

namespace flambeau::FLAM_TARGET {

inline constexpr int kTileSide = 16;  // rows of a tile, and its columns of four bytes

// The registers of AMX. A thread configures them for a task and gives their state up after it, so
// that the system need not save them with the thread.
struct AmxTiles {
  struct alignas(64) Configuration {
    uint8_t palette = 1, start_row = 0, reserved[14] = {};
    uint16_t column_bytes[16] = {};
    uint8_t rows[16] = {};
  };
  struct Session {
    Session() {
      Configuration all;
      for (int i = 0; i < 8; ++i) {
        all.column_bytes[i] = 4 * kTileSide;
        all.rows[i] = kTileSide;
      }
      asm volatile("ldtilecfg %0" ::"m"(all));
    }
    ~Session() { asm volatile("tilerelease"); }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
  };
  template <int I> FLAM_FN void zero() { asm volatile("tilezero %%tmm%c0" ::"i"(I)); }
  template <int I> FLAM_FN void load(const void* p, int64_t stride) {
    asm volatile("tileloadd (%1,%2,1), %%tmm%c0" ::"i"(I), "r"(p), "r"(stride) : "memory");
  }
  template <int I> FLAM_FN void store(float* p, int64_t stride) {
    asm volatile("tilestored %%tmm%c0, (%1,%2,1)" ::"i"(I), "r"(p), "r"(stride) : "memory");
  }
  template <int Into, int A, int B> FLAM_FN void multiply() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(Into), "i"(A), "i"(B));
  }
};

struct PlainTiles {
  struct Session {};
  uint32_t tile[8][kTileSide][kTileSide];

  template <int I> void zero() { memset(tile[I], 0, sizeof tile[I]); }
  template <int I> void load(const void* p, int64_t stride) {
    for (int r = 0; r < kTileSide; ++r)
      memcpy(tile[I][r], static_cast<const char*>(p) + r * stride, sizeof tile[I][r]);
  }
  template <int I> void store(float* p, int64_t stride) {
    for (int r = 0; r < kTileSide; ++r)
      memcpy(reinterpret_cast<char*>(p) + r * stride, tile[I][r], sizeof tile[I][r]);
  }
  template <int Into, int A, int B> void multiply() {
    for (int r = 0; r < kTileSide; ++r) {
      for (int c = 0; c < kTileSide; ++c) {
        float even = 0, odd = 0;
        for (int p = 0; p < kTileSide; ++p) {
          const uint32_t x = tile[A][r][p], y = tile[B][p][c];
          even += bits_as<float>(x << 16) * bits_as<float>(y << 16);
          odd += bits_as<float>(x & 0xffff0000u) * bits_as<float>(y & 0xffff0000u);
        }
        tile[Into][r][c] = bits_as<uint32_t>(bits_as<float>(tile[Into][r][c]) + (even + odd));
      }
    }
  }
};

// Pairs packed for the tiles of Body: a strip of a as whole tiles, two of them for each step, b as
// rows of pairs. Both end at a multiple of a tile's depth.
template <class Body> struct TilePair {
  uint32_t bits;
};
template <class Body> struct SumOf<TilePair<Body>> {
  using type = float;
};
template <class Body> inline constexpr int kLanes<TilePair<Body>> = kTileSide;
template <class Body> inline constexpr int kStripRows<TilePair<Body>> = 2 * kTileSide;
template <class Body> inline constexpr bool kWholeStrips<TilePair<Body>> = true;
// Tiles are so quick that a strip of b must stay in the first-level cache.
template <class Body> inline constexpr int64_t kSlabDepth<TilePair<Body>> = 256;

inline int64_t tile_depth(int64_t k) {
  return (k + 2 * kTileSide - 1) / (2 * kTileSide) * kTileSide;
}

template <class Body> struct TileRows : HalvesView {
  using C = TilePair<Body>;

  void pack(C* to, int64_t, int64_t first, int width, int, int64_t p, int64_t pairs) const {
    for (int64_t q = 0; q < pairs; q += kTileSide) {
      for (int row = 0; row < 2 * kTileSide; row += kTileSide, to += kTileSide * kTileSide) {
        const int rows = width - row < kTileSide ? width - row : kTileSide;
        if (rows > 0) pack_tile(&to->bits, from(first + row, p + q), rows);
      }
    }
  }
  bool row_by_row() const { return false; }
  const C* in_place() const { return nullptr; }

 private:
  // rows x 16 pairs, one row after the other.
  static void pack_tile(uint32_t* to, const HalvesView& from, int rows) {
    if (from.depth == 1) {
      const auto bytes = size_t(std::min<int64_t>(from.k, 2 * kTileSide)) * sizeof(uint16_t);
      if (rows < kTileSide || bytes < 4 * kTileSide) memset(to, 0, 4 * kTileSide * kTileSide);
      for (int r = 0; r < rows; ++r) memcpy(to + r * kTileSide, from.data + r * from.along, bytes);
      return;
    }
    alignas(64) uint32_t columns[kTileSide * kTileSide];
    pack_pairs(columns, kTileSide, from, kTileSide, rows, kTileSide);
    const auto load = [&](int i, int64_t r, int) {
      return load_vector(columns + i * kTileSide + r);
    };
    pack_crossing<uint32_t>(to, kTileSide, load, kTileSide, kTileSide, kTileSide);
  }
};

// Where a step's sums begin and end: in the output itself where they fill it.
template <class Body> struct TileSums {
  const MicroArgs<TilePair<Body>>& g;
  const int columns;
  const bool direct;
  alignas(64) float local[2 * kTileSide][2 * kTileSide];

  TileSums(const MicroArgs<TilePair<Body>>& args, int vectors, int whole_rows)
      : g(args),
        columns((vectors - 1) * kTileSide + args.last),
        direct(args.rows == whole_rows && args.last == kTileSide && !args.relu &&
               !(args.init && args.init_column)) {
    if (direct || !g.init) return;
    for (int i = 0; i < g.rows; ++i) {
      const float* from = g.init + i * g.init_row;
      for (int j = 0; j < columns; ++j) local[i][j] = from[g.init_column ? 0 : j];
    }
  }
  const float* start() const { return direct ? g.init : g.init ? local[0] : nullptr; }
  int64_t start_row() const { return direct ? g.init_row : 2 * kTileSide; }
  float* out() { return direct ? g.out : local[0]; }
  int64_t out_row() const { return direct ? g.out_row : 2 * kTileSide; }
  void finish() const {
    if (direct) return;
    for (int i = 0; i < g.rows; ++i) {
      float* to = g.out + i * g.out_row;
      for (int j = 0; j < columns; ++j) to[j] = g.relu && local[i][j] < 0 ? 0 : local[i][j];
    }
  }
};

// f(row, column, tile) for each tile of the sums.
template <int Tall, int Wide, class F> FLAM_FN void for_sums(F f) {
  f.template operator()<0, 0>();
  if constexpr (Wide == 2) f.template operator()<0, 1>();
  if constexpr (Tall == 2) f.template operator()<1, 0>();
  if constexpr (Tall == 2 && Wide == 2) f.template operator()<1, 1>();
}

// Tiles 0 to 3 hold sums, 4 and 5 rows of a, 6 and 7 columns of b.
template <class Body, int Tall, int Wide> void micro_tiles(const MicroArgs<TilePair<Body>>& g) {
  Body t;
  TileSums<Body> sums(g, Wide, Tall * kTileSide);
  const float* const start = sums.start();
  const int64_t start_row = sums.start_row(), out_row = sums.out_row();
  for_sums<Tall, Wide>([&]<int R, int C>() {
    if (start) {
      t.template load<2 * R + C>(start + kTileSide * (R * start_row + C), 4 * start_row);
    } else {
      t.template zero<2 * R + C>();
    }
  });
  const TilePair<Body>*a = g.a, *b = g.b;
  for (int64_t p = 0; p < g.k; p += kTileSide) {
    t.template load<4>(a, 4 * kTileSide);
    if constexpr (Tall == 2) t.template load<5>(a + kTileSide * kTileSide, 4 * kTileSide);
    t.template load<6>(b, 4 * g.b_depth);
    if constexpr (Wide == 2) t.template load<7>(b + kTileSide, 4 * g.b_depth);
    for_sums<Tall, Wide>([&]<int R, int C>() { t.template multiply<2 * R + C, 4 + R, 6 + C>(); });
    a += 2 * kTileSide * kTileSide;
    b += kTileSide * g.b_depth;
  }
  float* const out = sums.out();
  for_sums<Tall, Wide>([&]<int R, int C>() {
    t.template store<2 * R + C>(out + kTileSide * (R * out_row + C), 4 * out_row);
  });
  sums.finish();
}

template <class Body> struct Steps<TilePair<Body>> {
  using Session = typename Body::Session;
  static Micro<TilePair<Body>> find(int rows, int vectors, bool) {
    if (rows > kTileSide) return vectors == 2 ? &micro_tiles<Body, 2, 2> : &micro_tiles<Body, 2, 1>;
    return vectors == 2 ? &micro_tiles<Body, 1, 2> : &micro_tiles<Body, 1, 1>;
  }
};

}  // namespace flambeau::FLAM_TARGET
