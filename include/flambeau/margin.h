/* Losses of margins, similarities and distributions.
 * namespace: ops
 */
#ifndef FLAMBEAU_MARGIN_H
#define FLAMBEAU_MARGIN_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Options of `flam_margin_ranking_loss` and `flam_cosine_embedding_loss`. */
typedef struct flam_margin_loss_options {
  size_t struct_size; /**< sizeof(flam_margin_loss_options) */
  double margin FLAM_DEFAULT(0); /**< the margin; default 0 */
  /** none, mean or sum of the per-element losses; default mean */
  flam_reduction reduction FLAM_DEFAULT(FLAM_REDUCTION_MEAN);
  int32_t reserved; /**< 0 */
} flam_margin_loss_options;

/** `max(0, -target (input1 - input2) + margin)`.
 *
 * - `input1`: any shape; floating point.
 * - `input2`: shape that broadcasts with `input1`'s.
 * - `target`: 1 where `input1` should be the greater, -1 where `input2`.
 * - returns: 0-d, or the shape of the losses without a reduction.
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DTYPE`, `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_AUTOCAST("f32")
FLAM_TORCH("F torch")
FLAM_LAYER("MarginRankingLoss()")
FLAM_API flam_tensor *flam_margin_ranking_loss(
    const flam_tensor *input1, const flam_tensor *input2, const flam_tensor *target,
    const flam_margin_loss_options *options);

/** Options of `flam_hinge_embedding_loss`. */
typedef struct flam_hinge_embedding_loss_options {
  size_t struct_size; /**< sizeof(flam_hinge_embedding_loss_options) */
  double margin FLAM_DEFAULT(1); /**< the margin; default 1 */
  /** none, mean or sum of the per-element losses; default mean */
  flam_reduction reduction FLAM_DEFAULT(FLAM_REDUCTION_MEAN);
  int32_t reserved; /**< 0 */
} flam_hinge_embedding_loss_options;

/** `x` where the target is 1, `max(0, margin - x)` where it is -1.
 *
 * - `input`: any shape; floating point.
 * - `target`: 1 or -1, shape of `input`.
 * - returns: 0-d, or the shape of the losses without a reduction.
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DTYPE`, `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_AUTOCAST("f32")
FLAM_TORCH("F torch")
FLAM_LAYER("HingeEmbeddingLoss()")
FLAM_API flam_tensor *flam_hinge_embedding_loss(
    const flam_tensor *input, const flam_tensor *target,
    const flam_hinge_embedding_loss_options *options);

/** `1 - cos(x1, x2)` where the target is 1, `max(0, cos(x1, x2) - margin)` where it is -1.
 *
 * - `input1`: [n, d] or [d], floating point.
 * - `input2`: shape of `input1`.
 * - `target`: 1 or -1, [n] or 0-d.
 * - returns: 0-d, or the shape of the losses without a reduction.
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DTYPE`, `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_AUTOCAST("f32")
FLAM_TORCH("F torch")
FLAM_LAYER("CosineEmbeddingLoss()")
FLAM_API flam_tensor *flam_cosine_embedding_loss(
    const flam_tensor *input1, const flam_tensor *input2, const flam_tensor *target,
    const flam_margin_loss_options *options);

/** Options of `flam_triplet_margin_loss`. */
typedef struct flam_triplet_margin_loss_options {
  size_t struct_size; /**< sizeof(flam_triplet_margin_loss_options) */
  double margin FLAM_DEFAULT(1); /**< the margin, above 0; default 1 */
  double p FLAM_DEFAULT(2); /**< exponent of the norm; default 2 */
  double eps FLAM_DEFAULT(1e-6); /**< added to the differences; default 1e-6 */
  /** whether the distance from positive to negative counts where it is the smaller; default
   *  false */
  flam_bool swap FLAM_DEFAULT(0);
  /** none, mean or sum of the per-element losses; default mean */
  flam_reduction reduction FLAM_DEFAULT(FLAM_REDUCTION_MEAN);
} flam_triplet_margin_loss_options;

/** `max(0, |anchor - positive|_p - |anchor - negative|_p + margin)`.
 *
 * - `anchor`: [n, d] or [d], floating point.
 * - `positive`: shape of `anchor`.
 * - `negative`: shape of `anchor`.
 * - returns: 0-d, or the shape of the losses without a reduction.
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DTYPE`, `FLAM_ERROR_DEVICE_MISMATCH`;
 *   `FLAM_ERROR_INVALID_ARGUMENT` where `margin` is not above 0.
 * - source: Balntas et al., 2016, BMVC.
 */
FLAM_AUTOCAST("f32")
FLAM_TORCH("F torch")
FLAM_LAYER("TripletMarginLoss()")
FLAM_API flam_tensor *flam_triplet_margin_loss(
    const flam_tensor *anchor, const flam_tensor *positive, const flam_tensor *negative,
    const flam_triplet_margin_loss_options *options);

/** `log(1 + exp(-target x))`.
 *
 * - `input`: any shape; floating point.
 * - `target`: 1 or -1, shape of `input`.
 * - `reduction`: none, mean or sum of the per-element losses; default mean.
 * - returns: 0-d, or the shape of the losses without a reduction.
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DTYPE`, `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_AUTOCAST("f32")
FLAM_TORCH("F")
FLAM_LAYER("SoftMarginLoss()")
FLAM_API flam_tensor *flam_soft_margin_loss(
    const flam_tensor *input, const flam_tensor *target,
    flam_reduction reduction FLAM_DEFAULT(FLAM_REDUCTION_MEAN));

/** Options of `flam_multi_margin_loss`. */
typedef struct flam_multi_margin_loss_options {
  size_t struct_size; /**< sizeof(flam_multi_margin_loss_options) */
  int64_t p FLAM_DEFAULT(1); /**< 1 or 2; default 1 */
  double margin FLAM_DEFAULT(1); /**< the margin; default 1 */
  /** none, mean or sum of the per-element losses; default mean */
  flam_reduction reduction FLAM_DEFAULT(FLAM_REDUCTION_MEAN);
  int32_t reserved; /**< 0 */
} flam_multi_margin_loss_options;

/** `sum over j != t of max(0, margin - x[t] + x[j])^p / C`, times the weight of class t.
 *
 * - `input`: [n, C] or [C], floating point.
 * - `target`: class indices, int64: [n] or 0-d.
 * - `weight`: [C], factor of each class; default none.
 * - returns: 0-d, or the shape of the losses without a reduction.
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DTYPE`, `FLAM_ERROR_DEVICE_MISMATCH`;
 *   `FLAM_ERROR_INVALID_ARGUMENT` for another `p`; `FLAM_ERROR_INDEX` for a target out of range.
 */
FLAM_AUTOCAST("f32")
FLAM_TORCH("F")
FLAM_LAYER("MultiMarginLoss()")
FLAM_API flam_tensor *flam_multi_margin_loss(
    const flam_tensor *input, const flam_tensor *target,
    FLAM_NULLABLE const flam_tensor *weight FLAM_AFTER(margin) FLAM_DEFAULT(NULL),
    const flam_multi_margin_loss_options *options);

/** `sum over classes j that are none of the targets t of max(0, 1 - (x[t] - x[j])) / C`, summed
 * over targets.
 *
 * - `input`: [n, C] or [C], floating point.
 * - `target`: int64, shape of `input`: class indices, ended by the first -1.
 * - `reduction`: none, mean or sum of the per-element losses; default mean.
 * - returns: 0-d, or the shape of the losses without a reduction.
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DTYPE`, `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_AUTOCAST("f32")
FLAM_TORCH("F")
FLAM_LAYER("MultiLabelMarginLoss()")
FLAM_API flam_tensor *flam_multilabel_margin_loss(
    const flam_tensor *input, const flam_tensor *target,
    flam_reduction reduction FLAM_DEFAULT(FLAM_REDUCTION_MEAN));

/** Mean over classes of the binary cross entropy of logits.
 *
 * - `input`: [..., C], floating point.
 * - `target`: 0 or 1, shape of `input`.
 * - `weight`: factor of each class; default none.
 * - `reduction`: none, mean or sum of the per-element losses; default mean.
 * - returns: 0-d, or the shape of the losses without a reduction.
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DTYPE`, `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_AUTOCAST("cuda=f32")
FLAM_TORCH("F")
FLAM_LAYER("MultiLabelSoftMarginLoss()")
FLAM_API flam_tensor *flam_multilabel_soft_margin_loss(
    const flam_tensor *input, const flam_tensor *target,
    FLAM_NULLABLE const flam_tensor *weight FLAM_DEFAULT(NULL),
    flam_reduction reduction FLAM_DEFAULT(FLAM_REDUCTION_MEAN));

/** Options of `flam_poisson_nll_loss`. */
typedef struct flam_poisson_nll_loss_options {
  size_t struct_size; /**< sizeof(flam_poisson_nll_loss_options) */
  /** whether `input` is the logarithm of the rate; default true (1) */
  flam_bool log_input FLAM_DEFAULT(1);
  /** whether Stirling's term for targets above 1 is added; default false */
  flam_bool full FLAM_DEFAULT(0);
  double eps FLAM_DEFAULT(1e-8); /**< added to a rate; default 1e-8 */
  /** none, mean or sum of the per-element losses; default mean */
  flam_reduction reduction FLAM_DEFAULT(FLAM_REDUCTION_MEAN);
  int32_t reserved; /**< 0 */
} flam_poisson_nll_loss_options;

/** `exp(x) - target x`, or `x - target log(x + eps)` of a rate.
 *
 * - `input`: any shape; floating point.
 * - `target`: counts, shape that broadcasts with `input`.
 * - returns: 0-d, or the shape of the losses without a reduction.
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DTYPE`, `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_AUTOCAST("f32")
FLAM_TORCH("F")
FLAM_LAYER("PoissonNLLLoss()")
FLAM_API flam_tensor *flam_poisson_nll_loss(
    const flam_tensor *input, const flam_tensor *target,
    const flam_poisson_nll_loss_options *options);

/** Options of `flam_gaussian_nll_loss`. */
typedef struct flam_gaussian_nll_loss_options {
  size_t struct_size; /**< sizeof(flam_gaussian_nll_loss_options) */
  flam_bool full FLAM_DEFAULT(0); /**< whether the constant term is added; default false */
  double eps FLAM_DEFAULT(1e-6); /**< least variance; default 1e-6 */
  /** none, mean or sum of the per-element losses; default mean */
  flam_reduction reduction FLAM_DEFAULT(FLAM_REDUCTION_MEAN);
  int32_t reserved; /**< 0 */
} flam_gaussian_nll_loss_options;

/** `(log var + (x - target)^2 / var) / 2`, var at least eps.
 *
 * - `input`: means; any shape; floating point.
 * - `target`: shape that broadcasts with `input`.
 * - `var`: variances, not negative: the shape of `input`, that with a last size of 1, or without
 *   it.
 * - returns: 0-d, or the shape of the losses without a reduction.
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DTYPE`, `FLAM_ERROR_DEVICE_MISMATCH`.
 *   `FLAM_ERROR_INVALID_ARGUMENT` for a negative variance on the cpu.
 * - source: Nix and Weigend, 1994, ICNN.
 */
FLAM_TORCH("F")
FLAM_LAYER("GaussianNLLLoss()")
FLAM_API flam_tensor *flam_gaussian_nll_loss(
    const flam_tensor *input, const flam_tensor *target, FLAM_OR_NUMBER const flam_tensor *var,
    const flam_gaussian_nll_loss_options *options);

#ifdef __cplusplus
}
#endif
#endif
