// The loop over rows around a functor that is written once, in terms of what a row can do:
//
//   template <class T> struct Softmax {                  members: RowParam, of RowArgs::params
//     template <class R> FLAM_KERNEL_FN void operator()(R& r) const {
//       const auto x = r.template row_of<const T>(1);    operand 1's elements: load(x + i)
//       const auto y = r.template row_of<T>(0);          y.set(i, value), which rounds
//       r.shared_of<T>(k), r.each_of<V>(k)               elements of all rows; a row's value
//       r.each([&](auto i) { ... });                     all i of the row, in any order, at once
//       r.sum([&](auto i) { return term; })              in a wider type: a value, asked with any i
//       r.sums(f, g)                                     two at once
//       r.greatest([&](auto i) { return value; })
//       r.sum_of(x), r.squares(x, centre)                sums of x and of (x - centre)^2
//       r.each_standard(x, mean, rstd, [&](auto i, V hat) { ... })   hat: (x - mean) * rstd
//       r.value([&](auto i) { ... })                     one for the row, of other such values
//       r.put<V>(k, [&](auto i) { ... })                 the same into operand k, if it is there
//       r.keep(y)                                        what can hold the row's values in their
//                                                        compute type meanwhile: y itself, or, if
//                                                        R::keeps<T>, for halves that the functor
//                                                        has `keeps_halves` for, memory
//       r.for_rows([&](auto i) { ... })                  once, by one of the threads
//
// A functor that has totals says so, `adds_rows`, and what each element adds to them as `added(r)`,
// asked with i: the host adds several rows at a time (row_totals.h), GPUs go over them once more
// (row_sums.h).
//
// One whose values are joined over all rows names the operands that it puts them into, which need
// not be there, `first_joined` and `second_joined`, and says what becomes of their sums,
// `put_joined(a, first, second)`; GPUs call it (row_joined.h).
//
// The host gives a row to one thread and vectorises inside it, or works on many rows side by side,
// of which i then names one, too. GPUs give a row to threads of a warp or to a block, which hold it
// (row_device.h); where it is too long for that, R::kPasses, a functor saves a pass over it by
// r.exponentials(x, exp) and r.moments(x), greatest and sum, mean and squares in one.
#pragma once
#include <cstring>

#include "kernels/report/report_device.h"
#include "kernels/row/row_value.h"
#if defined(FLAM_DEVICE_SOURCE)
#include "kernels/row/row_launch.h"
#else
#include "kernels/row/row_aside.h"
#include "kernels/row/row_host.h"
#include "kernels/row/row_totals.h"
#endif

namespace flambeau::FLAM_TARGET {

#if !defined(FLAM_DEVICE_SOURCE)

// The rows one by one, read by Rows.
template <class F, class Rows> void single_rows(const F& f, const RowArgs& a) {
  using E = typename Rows::Element;
  // Flattened: a loop that calls what it does for an element would not become vectors.
  const auto work = [&](int64_t begin, int64_t end) __attribute__((flatten)) {
    const Scratch memory(keeps_halves<F> ? size_t(a.n) * sizeof(float) : 0);
    Rows rows(a, 1);
    for (int64_t i = begin; i < end; ++i) {
      rows.read(i, 1);
      HostRow<Compute<E>> r{{rows.args, i, a.n}, memory.as<Compute<E>>()};
      f(r);
      rows.write(i, 1);
    }
  };
  parallel_for(a.rows, 16384 / (a.n + 16) + 1, work);
}

template <template <class> class F, class T> void row_entry(void*, const void* p) {
  const RowArgs& a = *static_cast<const RowArgs*>(p);
  if (a.inner) return rows_aside<F, T>(a);
  with_host_rows<T>(a, [&](auto tag) {
    using Rows = typename decltype(tag)::type;
    using Own = F<typename Rows::Element>;
    if constexpr (adds_rows<Own>) {
      rows_with_totals<Own, Rows, T>(row_functor<Own>(a), a);
    } else {
      single_rows<Own, Rows>(row_functor<Own>(a), a);
    }
  });
}

#endif

template <template <class> class F, class... T> bool register_row(Kernel& k, TypeList<T...>) {
  (k.add(kColumn, FLAM_ISA_RANK, dtype_of<T>, &row_entry<F, T>), ...);
  return true;
}

}  // namespace flambeau::FLAM_TARGET

#define FLAM_ROW(kernel, F, Types) \
  [[maybe_unused]] static const bool registered_##kernel = register_row<F>(kernel, Types{})
