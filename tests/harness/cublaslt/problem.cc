// See problem.h. Sizes are those of columns: op(a) [m, k] by op(b) [k, n] gives d [m, n].
#include "problem.h"

#include <algorithm>
#include <iterator>

#include "base/error.h"

using namespace flambeau::cuda::lt;
using flambeau::cat_text;

namespace cublaslt {
namespace {

std::string size_of(const LayoutTag& l) { return cat_text('[', l.rows, ", ", l.cols, ']'); }

// One after the other, or each within what a column of the whole spans.
bool overlap_in_batch(const LayoutTag& d) {
  const int64_t rows = int64_t(d.rows), one = int64_t(d.cols - 1) * d.ld + rows;
  const bool nested = d.step >= rows && (d.batches - 1) * d.step + rows <= d.ld;
  return d.batches > 1 && d.step < one && !nested;
}

// cublasLtEpilogue_t, as far as it is known here: others are no sums of its bits.
bool exists(uint32_t epilogue) {
  constexpr uint32_t all[] = {kPlain,     kRelu,    kBias,      kRelu | kBias,
                              kGeluSlope, kRowSums, kColumnSums};
  return std::ranges::find(all, epilogue) != std::end(all);
}

// What goes into a GELU lies as the result does, columns apart by multiples of 8.
std::string misfit_of_epilogue(const Problem& p) {
  const DescTag& desc = p.desc;
  if (!exists(desc.epilogue)) return cat_text("an epilogue ", desc.epilogue, " that is not known");
  if (bool(desc.epilogue & (kBias | kRowSums | kColumnSums)) != bool(desc.bias))
    return desc.bias ? "a bias that the epilogue does not add" : "no bias for the epilogue";
  if ((desc.epilogue == kGeluSlope) != bool(desc.aux))
    return desc.aux ? "an aux that the epilogue does not use" : "no aux for the epilogue";
  if (!desc.aux) return {};
  if (p.d.batches > 1) return "an aux for a batch";
  const bool fits = desc.aux_ld % 8 == 0 && desc.aux_ld >= int64_t(p.d.rows);
  return fits ? "" : cat_text("an aux in columns of ", desc.aux_ld, " for d ", size_of(p.d));
}

std::string misfit_of_types(const Problem& p) {
  const int type = p.d.type, compute = p.desc.compute;
  if (p.a.type != type || p.b.type != type || p.c.type != type) return "operands of several types";
  if (compute == kComputeTf32 && type != kReal32) return "TF32 for other operands than f32";
  const bool wide = type == kReal64;
  if (wide != (compute == kCompute64) || p.desc.scale != (wide ? kReal64 : kReal32))
    return cat_text("type ", type, " computed in ", compute, " and scaled in ", p.desc.scale);
  return {};
}

}  // namespace

std::string misfit(const Problem& p) {
  const bool ta = p.desc.trans_a, tb = p.desc.trans_b;
  if ((ta ? p.a.cols : p.a.rows) != p.d.rows || (tb ? p.b.rows : p.b.cols) != p.d.cols ||
      (ta ? p.a.rows : p.a.cols) != (tb ? p.b.cols : p.b.rows))
    return cat_text("a ", size_of(p.a), ta ? " transposed" : "", " by b ", size_of(p.b),
                    tb ? " transposed" : "", " gives no d ", size_of(p.d));
  if (p.c.rows != p.d.rows || p.c.cols != p.d.cols)
    return cat_text("c ", size_of(p.c), " for d ", size_of(p.d));
  for (const LayoutTag* l : {&p.a, &p.b, &p.c})
    if (l->batches != p.d.batches)
      return cat_text("batches of ", l->batches, " and of ", p.d.batches);
  if (overlap_in_batch(p.d)) return "results of a batch that overlap";
  const std::string of_epilogue = misfit_of_epilogue(p);
  return of_epilogue.empty() ? misfit_of_types(p) : of_epilogue;
}

uint64_t fingerprint(const Problem& p) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, a number at a time
  const auto mix = [&](auto... numbers) {
    ((hash = (hash ^ uint64_t(numbers)) * 0x100000001b3), ...);
  };
  mix(p.device, p.desc.compute, p.desc.scale, p.desc.trans_a, p.desc.trans_b, p.desc.epilogue,
      p.desc.aux_ld);
  for (const LayoutTag* l : {&p.a, &p.b, &p.c, &p.d})
    mix(l->type, l->rows, l->cols, l->ld, l->batches, l->step);
  return hash;
}

bool sums(const Problem& p) { return p.desc.epilogue & (kRowSums | kColumnSums); }

size_t bytes_of_vector(const Problem& p) {
  const uint64_t n = p.desc.epilogue & kColumnSums ? p.d.cols : p.d.rows;
  return p.desc.bias ? n * bytes_of(p.d.type) : 0;
}

size_t bytes_of_aux(const Problem& p) {
  const int64_t last = int64_t(p.d.cols - 1) * p.desc.aux_ld + int64_t(p.d.rows);
  return p.desc.aux ? size_t(last) * bytes_of(p.d.type) : 0;
}

size_t bytes_of(int type) { return type == kReal64 ? 8 : type == kReal32 ? 4 : 2; }

size_t bytes_of(const LayoutTag& l) {
  const int64_t last = (l.batches - 1) * l.step + int64_t(l.cols - 1) * l.ld + int64_t(l.rows);
  return size_t(last) * bytes_of(l.type);
}

}  // namespace cublaslt
