// Conversion between any two dtypes, strided: the copy behind contiguous(), to(dtype) and copy_.
#include "kernels/map/map_loop.h"

namespace flambeau::FLAM_TARGET {

struct Identity {
  using Copies = void;
  template <class V> FLAM_FN V operator()(V x) const { return x; }
};

// A source dtype's cell switches on the destination, so that the table stays two-dimensional.
template <class From> void cast_entry(void* stream, const void* p) {
  with_dtype(static_cast<const MapArgs*>(p)->out_dtype,
             [&](auto to) { map_entry<Identity, typename decltype(to)::type, From>(stream, p); });
}

template <class... T> bool register_cast(TypeList<T...>) {
  (kCast.add(kColumn, FLAM_ISA_RANK, dtype_of<T>, &cast_entry<T>), ...);
  return true;
}

[[maybe_unused]] static const bool registered_cast = register_cast(AllTypes{});

}  // namespace flambeau::FLAM_TARGET
