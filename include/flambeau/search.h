/* Searching sorted values and counting: where values belong, which occur, and how often.
 * namespace: ops
 */
#ifndef FLAMBEAU_SEARCH_H
#define FLAMBEAU_SEARCH_H

#include "flambeau/common.h"
#include "flambeau/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** On which side of equal elements a value belongs. */
typedef int32_t flam_side;
enum { FLAM_SIDE_UNSPECIFIED = 0, FLAM_SIDE_LEFT = 1, FLAM_SIDE_RIGHT = 2 };

/** Options of `flam_searchsorted`. */
typedef struct flam_searchsorted_options {
  size_t struct_size; /**< sizeof(flam_searchsorted_options) */
  flam_bool out_int32 FLAM_DEFAULT(0); /**< whether positions are int32; default false */
  flam_bool right FLAM_DEFAULT(0); /**< whether to stand behind equal elements; default false */
  /** the same as a word; default: as `right` says */
  flam_side side FLAM_DEFAULT(FLAM_SIDE_UNSPECIFIED);
  int32_t reserved; /**< 0 */
} flam_searchsorted_options;

/** Where values belong in ascending sequences: the first position whose element is not less, or
 * with `right` greater. NaN is the greatest.
 *
 * - `sorted_sequence`: [..., n], each row ascending; any dtype but bool.
 * - `input`: the values, a number or [..., m] with the leading sizes of `sorted_sequence`; any
 *   shape where that is 1-d; its dtype.
 * - `sorter`: shape of `sorted_sequence`, int64: positions that put its rows in order; default:
 *   they are.
 * - returns: shape of `input`, int64 or int32.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DTYPE`; `FLAM_ERROR_INVALID_ARGUMENT` where `side` and
 *   `right` contradict; `FLAM_ERROR_INDEX` for a `sorter` out of range.
 */
FLAM_TORCH("torch")
FLAM_API FLAM_OUT_EXACT flam_tensor *flam_searchsorted(
    const flam_tensor *sorted_sequence, FLAM_OR_NUMBER const flam_tensor *input,
    FLAM_NULLABLE const flam_tensor *sorter FLAM_AFTER(side) FLAM_DEFAULT(NULL),
    const flam_searchsorted_options *options FLAM_KEYWORD);

/** Options of `flam_bucketize`. */
typedef struct flam_bucketize_options {
  size_t struct_size; /**< sizeof(flam_bucketize_options) */
  flam_bool out_int32 FLAM_DEFAULT(0); /**< whether positions are int32; default false */
  /** whether a value that equals a boundary belongs behind it; default false */
  flam_bool right FLAM_DEFAULT(0);
} flam_bucketize_options;

/** Which bucket each value falls into: the first boundary that is not less, or with `right`
 * greater.
 *
 * - `input`: the values, a number or any shape.
 * - `boundaries`: [n], ascending; dtype of `input`.
 * - returns: shape of `input`, int64 or int32; from 0 to n.
 * - errors: `FLAM_ERROR_SHAPE` where `boundaries` is not 1-d; `FLAM_ERROR_DTYPE`.
 */
FLAM_TORCH("torch")
FLAM_API FLAM_OUT_EXACT flam_tensor *flam_bucketize(
    FLAM_OR_NUMBER const flam_tensor *input, const flam_tensor *boundaries,
    const flam_bucketize_options *options FLAM_KEYWORD);

/** Options of `flam_isin`. */
typedef struct flam_isin_options {
  size_t struct_size; /**< sizeof(flam_isin_options) */
  flam_bool assume_unique FLAM_DEFAULT(0); /**< accepted; makes no difference */
  flam_bool invert FLAM_DEFAULT(0); /**< whether to tell which do not occur; default false */
} flam_isin_options;

/** Which elements occur in another tensor.
 *
 * - `elements`: a number or any shape.
 * - `test_elements`: a number or any shape.
 * - returns: shape of `elements`, bool.
 * - errors: `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("torch")
FLAM_API FLAM_OUT_EXACT flam_tensor *flam_isin(
    FLAM_OR_NUMBER const flam_tensor *elements, FLAM_OR_NUMBER const flam_tensor *test_elements,
    const flam_isin_options *options FLAM_KEYWORD);

/** How often each number occurs, or the sum of the weights of its places.
 *
 * - `input`: [n], integers, not negative.
 * - `weights`: [n]; default: 1 each.
 * - `minlength`: least size of the result; default 0.
 * - returns: one more than the greatest number; int64 without weights, f32 for f32 weights, else
 *   f64.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DTYPE`; `FLAM_ERROR_INVALID_ARGUMENT` for a negative
 *   number.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_BLOCKS flam_tensor *flam_bincount(
    const flam_tensor *input, FLAM_NULLABLE const flam_tensor *weights FLAM_DEFAULT(NULL),
    int64_t minlength FLAM_DEFAULT(0));

/** Options of `flam_histc`. */
typedef struct flam_histc_options {
  size_t struct_size; /**< sizeof(flam_histc_options) */
  int64_t bins FLAM_DEFAULT(100); /**< number of intervals; default 100 */
  double min FLAM_DEFAULT(0); /**< where they start; default 0 */
  /** where they end; default 0. Where both are equal, the elements' own range. */
  double max FLAM_DEFAULT(0);
} flam_histc_options;

/** How many elements fall into each of equal intervals; the last one is closed.
 *
 * - `input`: any shape; floating point.
 * - returns: [`bins`], dtype of `input`.
 * - errors: `FLAM_ERROR_DTYPE`; `FLAM_ERROR_INVALID_ARGUMENT` for `bins` below 1, `max` below
 *   `min`, or a range that is not finite.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_BLOCKS FLAM_OUT_EXACT flam_tensor *flam_histc(
    const flam_tensor *input, const flam_histc_options *options);

/** Options of `flam_histogram`. */
typedef struct flam_histogram_options {
  size_t struct_size; /**< sizeof(flam_histogram_options) */
  int64_t bins FLAM_DEFAULT(100); /**< number of intervals; default 100 */
  /** where they start and end; default: the elements' own range, or 0 and 1 where there are none;
   *  an interval of no width is widened by 0.5 to both sides */
  const double *range FLAM_KEYWORD FLAM_DEFAULT(NULL);
  size_t n_range;
  /** shape and dtype of `input`: what each element counts; default 1 */
  const flam_tensor *weight FLAM_DEFAULT(NULL);
  /** whether counts are divided by their sum and by the widths; default false */
  flam_bool density FLAM_DEFAULT(0);
  int32_t reserved; /**< 0 */
} flam_histogram_options;

/** How many elements, or how much of their weights, falls into each of equal intervals, the last of
 * which is closed; and the intervals' edges.
 *
 * - `input`: any shape; floating point.
 * - `out_hist`: [`bins`], dtype of `input`.
 * - `out_bin_edges`: [`bins` + 1], dtype of `input`.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_DTYPE`; `FLAM_ERROR_SHAPE`; `FLAM_ERROR_INVALID_ARGUMENT` for `bins` below
 *   1 or a range that falls or is not finite.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_BLOCKS flam_status flam_histogram(
    const flam_tensor *input, flam_tensor **out_hist, flam_tensor **out_bin_edges,
    const flam_histogram_options *options);

/** Options of `flam_histogram_between`. */
typedef struct flam_histogram_between_options {
  size_t struct_size; /**< sizeof(flam_histogram_between_options) */
  /** shape and dtype of `input`: what each element counts; default 1 */
  const flam_tensor *weight FLAM_KEYWORD FLAM_DEFAULT(NULL);
  /** whether counts are divided by their sum and by the widths; default false */
  flam_bool density FLAM_DEFAULT(0);
  int32_t reserved; /**< 0 */
} flam_histogram_between_options;

/** How many elements, or how much of their weights, falls between given edges.
 *
 * - `input`: any shape; floating point.
 * - `bins`: [edges], at least 2, rising; dtype of `input`. The last interval is closed.
 * - `out_hist`: [edges - 1], dtype of `input`.
 * - `out_bin_edges`: a copy of `bins`.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_DTYPE`; `FLAM_ERROR_SHAPE`.
 */
FLAM_TORCH("torch.histogram Tensor.histogram")
FLAM_API flam_status flam_histogram_between(
    const flam_tensor *input, const flam_tensor *bins, flam_tensor **out_hist,
    flam_tensor **out_bin_edges, const flam_histogram_between_options *options);

/** Options of `flam_histogramdd`. */
typedef struct flam_histogramdd_options {
  size_t struct_size; /**< sizeof(flam_histogramdd_options) */
  /** where the intervals start and end along each dimension, one after the other; default: the
   *  coordinates' own range, or 0 and 1 where there are none; an interval of no width is widened by
   *  0.5 to both sides */
  const double *range FLAM_DEFAULT(NULL);
  size_t n_range;
  /** shape of `input` without its last dimension, its dtype: what each point counts; default 1 */
  const flam_tensor *weight FLAM_DEFAULT(NULL);
  /** whether counts are divided by their sum and by the boxes' volumes; default false */
  flam_bool density FLAM_DEFAULT(0);
  int32_t reserved; /**< 0 */
} flam_histogramdd_options;

/** How many points, or how much of their weights, fall into each box of a grid of equal intervals
 * along each dimension, the last of which are closed; and the intervals' edges.
 *
 * - `input`: points, their D coordinates as the last dimension; at least 2-d; floating point.
 * - `bins`: number of intervals along each dimension, or one number for all; above 0.
 * - `out_hist`: `bins`, dtype of `input`.
 * - `out_bin_edges`: D tensors, [`bins` + 1] each, dtype of `input`.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_DTYPE`; `FLAM_ERROR_SHAPE`; `FLAM_ERROR_INVALID_ARGUMENT` for `bins` below
 *   1, and a range that falls, is not finite, or is not of D pairs.
 */
FLAM_TORCH("torch")
FLAM_API FLAM_BLOCKS flam_status flam_histogramdd(
    const flam_tensor *input, const int64_t *bins, size_t n_bins, flam_tensor **out_hist,
    flam_tensor_list **out_bin_edges, const flam_histogramdd_options *options);

/** Options of `flam_histogramdd_between`. */
typedef struct flam_histogramdd_between_options {
  size_t struct_size; /**< sizeof(flam_histogramdd_between_options) */
  /** shape of `input` without its last dimension, its dtype: what each point counts; default 1 */
  const flam_tensor *weight FLAM_KEYWORD FLAM_DEFAULT(NULL);
  /** whether counts are divided by their sum and by the boxes' volumes; default false */
  flam_bool density FLAM_DEFAULT(0);
  int32_t reserved; /**< 0 */
} flam_histogramdd_between_options;

/** How many points, or how much of their weights, fall into each box of a grid of given edges.
 *
 * - `input`: points, their D coordinates as the last dimension; at least 2-d; floating point.
 * - `bins`: edges along each of the D dimensions: 1-d, at least 2, rising; dtype of `input`. The
 *   last interval is closed.
 * - `out_hist`: [edges - 1] for each dimension, dtype of `input`.
 * - `out_bin_edges`: `bins`, in the same memory.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_DTYPE`; `FLAM_ERROR_SHAPE`; `FLAM_ERROR_INVALID_ARGUMENT`.
 */
FLAM_TORCH("torch.histogramdd")
FLAM_API flam_status flam_histogramdd_between(
    const flam_tensor *input, flam_tensor *const *bins, size_t n_bins, flam_tensor **out_hist,
    flam_tensor_list **out_bin_edges, const flam_histogramdd_between_options *options);

#ifdef __cplusplus
}
#endif
#endif
