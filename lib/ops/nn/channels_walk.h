// How a block of a GPU goes through the values of its channels: one, whose planes it takes piece by
// piece, or as many side by side as a few threads' pieces have, which it takes row by row. A piece
// is what 16 bytes hold, or one value where memory does not lie for that. What threads find is
// joined by a fixed tree, and blocks' parts in their order, so that results repeat bit by bit.
#pragma once
#include "kernels/row/row_group.h"
#include "kernels/row/row_piece.h"
#include "ops/nn/channels.h"

namespace flambeau::FLAM_TARGET {

inline constexpr int kChannelItems = 32;  // channels of a block, at most

// Pieces that a thread asks for at once, and those that it can hold.
template <int kVec> inline constexpr int kAtOnce = kVec == 1 ? 8 : 4;
template <int kVec>
inline constexpr int kHeldPieces = kVec == 1 ? kHeldSinglePieces : kHeldWidePieces;

// What a thread takes: from its channels, of pieces first, first + step and so on.
template <class T, bool kPlanes, int kVec> struct ChannelPlace {
  using V = Compute<T>;
  static constexpr bool kOfPlanes = kPlanes;
  static constexpr int kChannels = kPlanes ? 1 : kVec, kEach = kVec / kChannels;
  const ChannelArgs& a;
  int64_t channel;  // the first of this thread's
  uint32_t first, step;
  bool any;                      // else it only waits for others
  FastDivide plane;              // by its pieces
  int64_t between, first_piece;  // pieces from plane to plane, or from row to row

  __device__ __forceinline__ explicit ChannelPlace(const ChannelArgs& args) : a(args) {
    const int across = kPlanes ? 0 : a.walk.across;
    const uint32_t lane = threadIdx.x & ((1u << across) - 1);
    first = threadIdx.x >> across;
    step = blockDim.x >> across;
    channel = kPlanes ? int64_t(blockIdx.x) : ((int64_t(blockIdx.x) << across) + lane) * kVec;
    any = kPlanes || channel < a.channels;
    plane = a.walk.plane;
    between = (kPlanes ? a.walk.image : a.channels) / kVec;
    first_piece = kPlanes ? channel * plane.divisor : channel / kVec;
  }

  // Where a piece lies, in pieces: by elements nvcc takes its store apart.
  __device__ __forceinline__ int64_t at(uint32_t piece) const {
    if constexpr (kPlanes) {
      const uint32_t image = quotient(piece, plane), own = piece - image * plane.divisor;
      return image * between + first_piece + own;
    } else {
      return piece * between + first_piece;
    }
  }
  // The pieces of a part; the last one's are fewer.
  __device__ __forceinline__ uint32_t begin(uint32_t part) const { return part * a.walk.part; }
  __device__ __forceinline__ uint32_t end(uint32_t part) const {
    const uint32_t behind = begin(part) + a.walk.part;
    return behind < a.walk.pieces ? behind : a.walk.pieces;
  }
  // Whether this thread writes what its channels have once.
  __device__ __forceinline__ bool writes_numbers() const {
    return any && first == 0 && blockIdx.y == 0;
  }
};

template <class T, int kVec> using Piece = typename Chunk<T, kVec>::Wide;

// A few of a thread's pieces; those that are not there are 0.
template <class T, int kVec, int kCount> struct ChannelPieces {
  using V = Compute<T>;
  RowPiece<T, kVec> piece[kCount];
  int count;  // that are there

  template <class P>
  __device__ __forceinline__ void read(const P& place, const char* x, uint32_t from, uint32_t end) {
    count = 0;
#pragma unroll
    for (int u = 0; u < kCount; ++u) {
      const uint32_t i = from + uint32_t(u) * place.step;
      piece[u] = {};
      if (!place.any || i >= end) continue;
      piece[u].part[0] =
          Chunk<T, kVec>::from(reinterpret_cast<const Piece<T, kVec>*>(x) + place.at(i));
      ++count;
    }
  }
  // Of one number for each plane.
  template <class P>
  __device__ __forceinline__ void read_still(const P& place, uint32_t from, uint32_t end) {
    count = 0;
#pragma unroll
    for (int u = 0; u < kCount; ++u) {
      const uint32_t i = from + uint32_t(u) * place.step;
      piece[u] = {};
      if (!place.any || i >= end) continue;
      const int64_t at =
          quotient(i, place.plane) * place.a.dy_image + place.channel * place.a.dy_channel;
      piece[u].part[0] =
          Chunk<T, kVec>::of(load_global(reinterpret_cast<const T*>(place.a.dy) + at));
      ++count;
    }
  }
  __device__ __forceinline__ V value(int u, int e) const { return piece[u].value(e); }
};

template <class T, int kVec>
__device__ __forceinline__ void write_piece(char* out, int64_t at, const Compute<T> (&v)[kVec]) {
  Piece<T, kVec>* const to = reinterpret_cast<Piece<T, kVec>*>(out) + at;
  if constexpr (kVec == 1) {
    store_global(reinterpret_cast<T*>(to), narrow<T>(v[0]));
  } else {
    rounded_piece<T>(v).to(to);
  }
}

// f(from, end), a few of a thread's pieces of the block's part at a time.
template <int kCount, class P, class F>
__device__ __forceinline__ void for_pieces(const P& place, const F& f) {
  const uint32_t end = place.end(blockIdx.y);
#pragma unroll 1
  for (uint32_t from = place.begin(blockIdx.y) + place.first; from < end;
       from += kCount * place.step) {
    f(from, end);
  }
}

// ---- what threads join --------------------------------------------------------------------------

// Each of a thread's channels over all threads that have it, in all of these.
template <class M, int kChannels>
__device__ inline void block_join(const M& m, typename M::Acc (&acc)[kChannels], int across) {
  using Acc = typename M::Acc;
  __shared__ Acc part[kHeldThreads / 32][kChannelItems], total[kChannelItems];
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32, warps = blockDim.x / 32;
  const int lanes = 1 << across, items = lanes * kChannels;
#pragma unroll
  for (int e = 0; e < kChannels; ++e) {
    for (int bits = 16; bits >= lanes; bits /= 2) {
      const Acc other = shuffled(acc[e], bits);
      const bool lower = !(lane & bits);
      acc[e] = m.join(lower ? acc[e] : other, lower ? other : acc[e]);
    }
  }
  __syncthreads();  // the previous round may still be reading
  if (lane < lanes) {
#pragma unroll
    for (int e = 0; e < kChannels; ++e) part[warp][lane * kChannels + e] = acc[e];
  }
  __syncthreads();
  if (warp == 0) {
    Acc own = m.zero();
    for (int w = lane / items; w < warps; w += 32 / items) own = m.join(own, part[w][lane % items]);
    for (int bits = 16; bits >= items; bits /= 2) {
      const Acc other = shuffled(own, bits);
      const bool lower = !(lane & bits);
      own = m.join(lower ? own : other, lower ? other : own);
    }
    if (lane < items) total[lane] = own;
  }
  __syncthreads();
#pragma unroll
  for (int e = 0; e < kChannels; ++e) acc[e] = total[lane % lanes * kChannels + e];
}

// What each channel has come to in a part of its values, as one launch leaves it to the next.
template <class Acc, class P> __device__ __forceinline__ Acc* part_of(const P& place, uint32_t p) {
  return reinterpret_cast<Acc*>(place.a.partial) + (int64_t(p) * place.a.channels + place.channel);
}
template <class P, class Acc, int kChannels>
__device__ __forceinline__ void put_part(const P& place, const Acc (&all)[kChannels]) {
  if (!place.any || place.first) return;
#pragma unroll
  for (int c = 0; c < kChannels; ++c) store_global(part_of<Acc>(place, blockIdx.y) + c, all[c]);
}

// All parts of a thread's channels, which threads share.
template <class M, class P, class Acc, int kChannels>
__device__ __forceinline__ void join_parts(const M& m, const P& place, Acc (&all)[kChannels]) {
#pragma unroll
  for (int c = 0; c < kChannels; ++c) all[c] = m.zero();
  for (uint32_t p = place.first; place.any && p < place.a.walk.parts; p += place.step) {
#pragma unroll
    for (int c = 0; c < kChannels; ++c)
      all[c] = m.join(all[c], load_global(part_of<Acc>(place, p) + c));
  }
  block_join(m, all, place.a.walk.across);
}

// ---- a channel's own numbers --------------------------------------------------------------------

template <class T>
__device__ __forceinline__ Compute<T> number_at(const ChannelNumbers& n, int64_t channel,
                                                Compute<T> otherwise) {
  if (!n.data) return otherwise;
  if (n.wide) return load_global(reinterpret_cast<const Compute<T>*>(n.data) + channel);
  const T own = load_global(reinterpret_cast<const T*>(n.data) + channel);
  return load(&own);
}

template <class T>
__device__ __forceinline__ void put_number(const ChannelNumbers& n, int64_t channel, Compute<T> v) {
  if (!n.data) return;
  if (n.wide) return store_global(reinterpret_cast<Compute<T>*>(n.data) + channel, v);
  store_global(reinterpret_cast<T*>(n.data) + channel, narrow<T>(v));
}

}  // namespace flambeau::FLAM_TARGET
