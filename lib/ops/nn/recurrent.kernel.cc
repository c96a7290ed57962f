// The maths of one step of recurrent layers and of its slopes, for every target.
#include "ops/nn/recurrent.h"

#include "kernels/math_gates.h"
#if defined(FLAM_DEVICE_SOURCE)
#include <algorithm>

#include "kernels/cuda_launch.h"
#else
#include "base/thread_pool.h"
#endif

namespace flambeau::FLAM_TARGET {

// One row of every operand.
template <class T> struct CellRow {
  T *gates, *projected, *h_before, *c_before, *h, *y, *c;
  T *dh, *dy, *dc, *dc_now, *slope, *state_slope;

  FLAM_FN CellRow(const CellArgs& g, int64_t r)
      : gates(at(g.gates, r)),
        projected(at(g.projected, r)),
        h_before(at(g.h_before, r)),
        c_before(at(g.c_before, r)),
        h(at(g.h, r)),
        y(at(g.y, r)),
        c(at(g.c, r)),
        dh(at(g.dh, r)),
        dy(at(g.dy, r)),
        dc(at(g.dc, r)),
        dc_now(at(g.dc_now, r)),
        slope(at(g.slope, r)),
        state_slope(at(g.state_slope, r)) {}
  static FLAM_FN T* at(const CellRows& rows, int64_t r) {
    return reinterpret_cast<T*>(rows.data) + r * rows.row;
  }
  FLAM_FN Compute<T> slope_of_h(int64_t j) const { return load(dh + j) + load(dy + j); }
};

struct LstmCell {
  template <class T> static FLAM_FN void run(const CellRow<T>& r, int64_t n, int64_t j) {
    using C = Compute<T>;
    const C in = gate_sigmoid(load(r.gates + j)), forget = gate_sigmoid(load(r.gates + n + j)),
            fresh = gate_tanh(load(r.gates + 2 * n + j)),
            out = gate_sigmoid(load(r.gates + 3 * n + j));
    const C c = forget * load(r.c_before + j) + in * fresh;
    r.gates[j] = narrow<T>(in);
    r.gates[n + j] = narrow<T>(forget);
    r.gates[2 * n + j] = narrow<T>(fresh);
    r.gates[3 * n + j] = narrow<T>(out);
    r.c[j] = narrow<T>(c);
    r.h[j] = r.y[j] = narrow<T>(out * gate_tanh(c));
  }
};

struct LstmSlope {
  template <class T> static FLAM_FN void run(const CellRow<T>& r, int64_t n, int64_t j) {
    using C = Compute<T>;
    const C in = load(r.gates + j), forget = load(r.gates + n + j),
            fresh = load(r.gates + 2 * n + j), out = load(r.gates + 3 * n + j);
    const C dh = r.slope_of_h(j), t = gate_tanh(load(r.c + j));
    const C dc = load(r.dc + j) + load(r.dc_now + j) + dh * out * (1 - t * t);
    r.slope[j] = narrow<T>(dc * fresh * in * (1 - in));
    r.slope[n + j] = narrow<T>(dc * load(r.c_before + j) * forget * (1 - forget));
    r.slope[2 * n + j] = narrow<T>(dc * in * (1 - fresh * fresh));
    r.slope[3 * n + j] = narrow<T>(dh * t * out * (1 - out));
    r.dc[j] = narrow<T>(dc * forget);
  }
};

struct GruCell {
  template <class T> static FLAM_FN void run(const CellRow<T>& r, int64_t n, int64_t j) {
    using C = Compute<T>;
    const C reset = gate_sigmoid(load(r.gates + j) + load(r.projected + j)),
            update = gate_sigmoid(load(r.gates + n + j) + load(r.projected + n + j));
    const C fresh = gate_tanh(load(r.projected + 2 * n + j) + reset * load(r.gates + 2 * n + j));
    r.gates[j] = narrow<T>(reset);
    r.gates[n + j] = narrow<T>(update);
    r.gates[3 * n + j] = narrow<T>(fresh);
    r.h[j] = r.y[j] = narrow<T>(fresh + update * (load(r.h_before + j) - fresh));
  }
};

struct GruSlope {
  template <class T> static FLAM_FN void run(const CellRow<T>& r, int64_t n, int64_t j) {
    using C = Compute<T>;
    const C reset = load(r.gates + j), update = load(r.gates + n + j),
            of_state = load(r.gates + 2 * n + j), fresh = load(r.gates + 3 * n + j);
    const C dh = r.slope_of_h(j), d_fresh = dh * (1 - update) * (1 - fresh * fresh);
    const C d_reset = d_fresh * of_state * reset * (1 - reset),
            d_update = dh * (load(r.h_before + j) - fresh) * update * (1 - update);
    r.slope[j] = r.state_slope[j] = narrow<T>(d_reset);
    r.slope[n + j] = r.state_slope[n + j] = narrow<T>(d_update);
    r.slope[2 * n + j] = narrow<T>(d_fresh);
    r.state_slope[2 * n + j] = narrow<T>(d_fresh * reset);
    r.dh[j] = narrow<T>(dh * update);
  }
};

template <bool Tanh> struct SimpleCell {
  template <class T> static FLAM_FN void run(const CellRow<T>& r, int64_t, int64_t j) {
    const Compute<T> x = load(r.gates + j);
    if constexpr (Tanh) {
      r.h[j] = r.y[j] = narrow<T>(gate_tanh(x));
    } else {
      r.h[j] = r.y[j] = narrow<T>(x > 0 || x != x ? x : Compute<T>(0));
    }
  }
};

template <bool Tanh> struct SimpleSlope {
  template <class T> static FLAM_FN void run(const CellRow<T>& r, int64_t, int64_t j) {
    const Compute<T> h = load(r.h + j), dh = r.slope_of_h(j);
    if constexpr (Tanh) {
      r.slope[j] = narrow<T>(dh * (1 - h * h));
    } else {
      r.slope[j] = narrow<T>(h > 0 ? dh : Compute<T>(0));
    }
  }
};

#if defined(FLAM_DEVICE_SOURCE)

// Of a block: this many columns, which lie together, and rows.
constexpr unsigned kColumns = 32, kRows = 8;

template <class Cell, class T> __global__ void cell_kernel(CellArgs g) {
  const int64_t j = int64_t(blockIdx.x) * kColumns + threadIdx.x;
  if (j >= g.width) return;
  for (int64_t r = int64_t(blockIdx.y) * kRows + threadIdx.y; r < g.rows;
       r += int64_t(gridDim.y) * kRows)
    Cell::run(CellRow<T>(g, r), g.width, j);
}

template <class Cell, class T> void cell_entry(void* stream, const void* p) {
  const CellArgs& g = *static_cast<const CellArgs*>(p);
  const int64_t rows = (g.rows + kRows - 1) / kRows, most = 65535;
  const dim3 grid(unsigned((g.width + kColumns - 1) / kColumns), unsigned(std::min(rows, most)));
  FLAM_LAUNCH((cell_kernel<Cell, T>), grid, dim3(kColumns, kRows), 0, stream, g);
}

#else

template <class Cell, class T> void cell_entry(void*, const void* p) {
  const CellArgs& g = *static_cast<const CellArgs*>(p);
  parallel_for(g.rows, 1 + 4096 / g.width, [&](int64_t i, int64_t end) {
    for (; i < end; ++i) {
      const CellRow<T> row(g, i);
#pragma GCC ivdep
      for (int64_t j = 0; j < g.width; ++j) Cell::run(row, g.width, j);
    }
  });
}

#endif

template <class Cell, class... T> bool register_cell(Kernel& k, TypeList<T...>) {
  (k.add(kColumn, FLAM_ISA_RANK, dtype_of<T>, &cell_entry<Cell, T>), ...);
  return true;
}

[[maybe_unused]] static const bool registered_lstm =
    register_cell<LstmCell>(kLstm, FloatTypes{}) &&
    register_cell<LstmSlope>(kLstmSlope, FloatTypes{});
[[maybe_unused]] static const bool registered_gru =
    register_cell<GruCell>(kGru, FloatTypes{}) && register_cell<GruSlope>(kGruSlope, FloatTypes{});
[[maybe_unused]] static const bool registered_simple =
    register_cell<SimpleCell<true>>(kRnnTanh, FloatTypes{}) &&
    register_cell<SimpleSlope<true>>(kRnnTanhSlope, FloatTypes{}) &&
    register_cell<SimpleCell<false>>(kRnnRelu, FloatTypes{}) &&
    register_cell<SimpleSlope<false>>(kRnnReluSlope, FloatTypes{});

}  // namespace flambeau::FLAM_TARGET
