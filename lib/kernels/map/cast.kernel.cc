// Conversion between any two dtypes, strided: the copy behind contiguous(), to(dtype) and copy_.
#include "kernels/map/map_loop.h"
#if defined(FLAM_DEVICE_SOURCE)
#include "kernels/map/transpose_device.h"
#endif

namespace flambeau::FLAM_TARGET {

struct Identity {
  using Copies = void;
  template <class V> FLAM_FN V operator()(V x) const { return x; }
};

template <class To, class From> void convert(void* stream, const void* p) {
#if defined(FLAM_DEVICE_SOURCE)
  if constexpr (std::is_same_v<To, From>) {
    const MapArgs& a = *static_cast<const MapArgs*>(p);
    if (takes_tiles(a, sizeof(To))) return transpose_parts<WordOf<sizeof(To)>>(stream, a);
  }
#endif
  map_entry<Identity, To, From>(stream, p);
}

// A source dtype's cell switches on the destination, so that the table stays two-dimensional.
template <class From> void cast_entry(void* stream, const void* p) {
  with_dtype(static_cast<const MapArgs*>(p)->out_dtype,
             [&](auto to) { convert<typename decltype(to)::type, From>(stream, p); });
}

template <class... T> bool register_cast(TypeList<T...>) {
  (kCast.add(kColumn, FLAM_ISA_RANK, dtype_of<T>, &cast_entry<T>), ...);
  return true;
}

[[maybe_unused]] static const bool registered_cast = register_cast(AllTypes{});

}  // namespace flambeau::FLAM_TARGET
