/* Losses of margins, similarities and distributions.
 * namespace: ops
 */
#ifndef FLAMBEAU_MARGIN_H
#define FLAMBEAU_MARGIN_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** `max(0, -target (input1 - input2) + margin)`.
 *
 * - `input1`: any shape; floating point.
 * - `input2`: shape that broadcasts with `input1`'s.
 * - `target`: 1 where `input1` should be the greater, -1 where `input2`.
 * - `margin`: the margin; default 0.
 * - `reduction`: none, mean or sum of the per-element losses; default mean.
 * - returns: 0-d, or the shape of the losses without a reduction.
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DTYPE`, `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_AUTOCAST("f32")
    FLAM_TORCH("F torch") flam_tensor *flam_margin_ranking_loss(
        const flam_tensor *input1, const flam_tensor *input2, const flam_tensor *target,
        double margin FLAM_DEFAULT(0), flam_reduction reduction FLAM_DEFAULT(FLAM_REDUCTION_MEAN));

/** `x` where the target is 1, `max(0, margin - x)` where it is -1.
 *
 * - `input`: any shape; floating point.
 * - `target`: 1 or -1, shape of `input`.
 * - `margin`: the margin; default 1.
 * - `reduction`: none, mean or sum of the per-element losses; default mean.
 * - returns: 0-d, or the shape of the losses without a reduction.
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DTYPE`, `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_AUTOCAST("f32")
    FLAM_TORCH("F torch") flam_tensor *flam_hinge_embedding_loss(
        const flam_tensor *input, const flam_tensor *target, double margin FLAM_DEFAULT(1),
        flam_reduction reduction FLAM_DEFAULT(FLAM_REDUCTION_MEAN));

/** `1 - cos(x1, x2)` where the target is 1, `max(0, cos(x1, x2) - margin)` where it is -1.
 *
 * - `input1`: [n, d] or [d], floating point.
 * - `input2`: shape of `input1`.
 * - `target`: 1 or -1, [n] or 0-d.
 * - `margin`: the margin; default 0.
 * - `reduction`: none, mean or sum of the per-element losses; default mean.
 * - returns: 0-d, or the shape of the losses without a reduction.
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DTYPE`, `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_AUTOCAST("f32")
    FLAM_TORCH("F torch") flam_tensor *flam_cosine_embedding_loss(
        const flam_tensor *input1, const flam_tensor *input2, const flam_tensor *target,
        double margin FLAM_DEFAULT(0), flam_reduction reduction FLAM_DEFAULT(FLAM_REDUCTION_MEAN));

/** `max(0, |anchor - positive|_p - |anchor - negative|_p + margin)`.
 *
 * - `anchor`: [n, d] or [d], floating point.
 * - `positive`: shape of `anchor`.
 * - `negative`: shape of `anchor`.
 * - `margin`: the margin, above 0; default 1.
 * - `p`: exponent of the norm; default 2.
 * - `eps`: added to the differences; default 1e-6.
 * - `swap`: whether the distance from positive to negative counts where it is the smaller; default
 *   false.
 * - `reduction`: none, mean or sum of the per-element losses; default mean.
 * - returns: 0-d, or the shape of the losses without a reduction.
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DTYPE`, `FLAM_ERROR_DEVICE_MISMATCH`.
 * - source: Balntas et al., 2016, BMVC.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_AUTOCAST("f32")
    FLAM_TORCH("F torch") flam_tensor *flam_triplet_margin_loss(
        const flam_tensor *anchor, const flam_tensor *positive, const flam_tensor *negative,
        double margin FLAM_DEFAULT(1), double p FLAM_DEFAULT(2), double eps FLAM_DEFAULT(1e-6),
        flam_bool swap FLAM_DEFAULT(0), flam_reduction reduction FLAM_DEFAULT(FLAM_REDUCTION_MEAN));

/** `log(1 + exp(-target x))`.
 *
 * - `input`: any shape; floating point.
 * - `target`: 1 or -1, shape of `input`.
 * - `reduction`: none, mean or sum of the per-element losses; default mean.
 * - returns: 0-d, or the shape of the losses without a reduction.
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DTYPE`, `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_AUTOCAST("f32") FLAM_TORCH("F")
    flam_tensor *flam_soft_margin_loss(const flam_tensor *input, const flam_tensor *target,
                                       flam_reduction reduction FLAM_DEFAULT(FLAM_REDUCTION_MEAN));

/** `sum over j != t of max(0, margin - x[t] + x[j])^p / C`, times the weight of class t.
 *
 * - `input`: [n, C] or [C], floating point.
 * - `target`: class indices, int64: [n] or 0-d.
 * - `p`: 1 or 2; default 1.
 * - `margin`: the margin; default 1.
 * - `weight`: [C], factor of each class; default none.
 * - `reduction`: none, mean or sum of the per-element losses; default mean.
 * - returns: 0-d, or the shape of the losses without a reduction.
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DTYPE`, `FLAM_ERROR_DEVICE_MISMATCH`.
 *   `FLAM_ERROR_INVALID_ARGUMENT` for another `p`.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_AUTOCAST("f32") FLAM_TORCH("F") flam_tensor *flam_multi_margin_loss(
    const flam_tensor *input, const flam_tensor *target, int64_t p FLAM_DEFAULT(1),
    double margin FLAM_DEFAULT(1), FLAM_NULLABLE const flam_tensor *weight FLAM_DEFAULT(NULL),
    flam_reduction reduction FLAM_DEFAULT(FLAM_REDUCTION_MEAN));

/** `sum over classes j that are none of the targets t of max(0, 1 - (x[t] - x[j])) / C`, summed
 * over targets.
 *
 * - `input`: [n, C] or [C], floating point.
 * - `target`: int64, shape of `input`: class indices, ended by the first -1.
 * - `reduction`: none, mean or sum of the per-element losses; default mean.
 * - returns: 0-d, or the shape of the losses without a reduction.
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DTYPE`, `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_AUTOCAST("f32")
    FLAM_TORCH("F") flam_tensor *flam_multilabel_margin_loss(
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
FLAM_API FLAM_SINCE(0, 1) FLAM_AUTOCAST("cuda=f32") FLAM_TORCH("F")
    flam_tensor *flam_multilabel_soft_margin_loss(
    const flam_tensor *input, const flam_tensor *target,
    FLAM_NULLABLE const flam_tensor *weight FLAM_DEFAULT(NULL),
    flam_reduction reduction FLAM_DEFAULT(FLAM_REDUCTION_MEAN));

/** `exp(x) - target x`, or `x - target log(x + eps)` of a rate.
 *
 * - `input`: any shape; floating point.
 * - `target`: counts, shape that broadcasts with `input`.
 * - `log_input`: whether `input` is the logarithm of the rate; default true (1).
 * - `full`: whether Stirling's term for targets above 1 is added; default false.
 * - `eps`: added to a rate; default 1e-8.
 * - `reduction`: none, mean or sum of the per-element losses; default mean.
 * - returns: 0-d, or the shape of the losses without a reduction.
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DTYPE`, `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_AUTOCAST("f32") FLAM_TORCH("F") flam_tensor *flam_poisson_nll_loss(
    const flam_tensor *input, const flam_tensor *target, flam_bool log_input FLAM_DEFAULT(1),
    flam_bool full FLAM_DEFAULT(0), double eps FLAM_DEFAULT(1e-8),
    flam_reduction reduction FLAM_DEFAULT(FLAM_REDUCTION_MEAN));

/** `(log var + (x - target)^2 / var) / 2`, var at least eps.
 *
 * - `input`: means; any shape; floating point.
 * - `target`: shape that broadcasts with `input`.
 * - `var`: variances, not negative: the shape of `input`, that with a last size of 1, or without
 *   it.
 * - `full`: whether the constant term is added; default false.
 * - `eps`: least variance; default 1e-6.
 * - `reduction`: none, mean or sum of the per-element losses; default mean.
 * - returns: 0-d, or the shape of the losses without a reduction.
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DTYPE`, `FLAM_ERROR_DEVICE_MISMATCH`.
 *   `FLAM_ERROR_INVALID_ARGUMENT` for a negative variance on the cpu.
 * - source: Nix and Weigend, 1994, ICNN.
 */
FLAM_API FLAM_SINCE(0, 1) FLAM_TORCH("F") flam_tensor *flam_gaussian_nll_loss(
    const flam_tensor *input, const flam_tensor *target, const flam_tensor *var,
    flam_bool full FLAM_DEFAULT(0), double eps FLAM_DEFAULT(1e-6),
    flam_reduction reduction FLAM_DEFAULT(FLAM_REDUCTION_MEAN));

#ifdef __cplusplus
}
#endif
#endif
