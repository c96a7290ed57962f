/* Losses.
 * namespace: ops
 */
#ifndef FLAMBEAU_LOSS_H
#define FLAMBEAU_LOSS_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Squared error, `(input - target)^2`.
 *
 * - `input`: any shape; floating point.
 * - `target`: shape that broadcasts with `input`'s.
 * - `reduction`: none, mean or sum of the per-element losses; default mean.
 * - returns: 0-d, or the shape of the losses without a reduction.
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DTYPE`, `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("F")
FLAM_AUTOCAST("f32")
FLAM_LAYER("MSELoss()")
FLAM_API flam_tensor *flam_mse_loss(
    const flam_tensor *input, const flam_tensor *target,
    flam_reduction reduction FLAM_DEFAULT(FLAM_REDUCTION_MEAN));

/** Absolute error, `|input - target|`.
 *
 * - `input`: any shape; floating point.
 * - `target`: shape that broadcasts with `input`'s.
 * - `reduction`: none, mean or sum of the per-element losses; default mean.
 * - returns: 0-d, or the shape of the losses without a reduction.
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DTYPE`, `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("F")
FLAM_AUTOCAST("f32")
FLAM_LAYER("L1Loss()")
FLAM_API flam_tensor *flam_l1_loss(
    const flam_tensor *input, const flam_tensor *target,
    flam_reduction reduction FLAM_DEFAULT(FLAM_REDUCTION_MEAN));

/** Options of `flam_smooth_l1_loss`. */
typedef struct flam_smooth_l1_loss_options {
  size_t struct_size; /**< sizeof(flam_smooth_l1_loss_options) */
  /** none, mean or sum of the per-element losses; default mean */
  flam_reduction reduction FLAM_DEFAULT(FLAM_REDUCTION_MEAN);
  double beta FLAM_DEFAULT(1); /**< where the quadratic part ends, at least 0; default 1 */
} flam_smooth_l1_loss_options;

/** `d^2 / (2 beta)` where `d = |input - target|` is below `beta`, else `d - beta / 2`.
 *
 * - `input`: any shape; floating point.
 * - `target`: shape that broadcasts with `input`'s.
 * - returns: 0-d, or the shape of the losses without a reduction.
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DTYPE`, `FLAM_ERROR_DEVICE_MISMATCH`,
 *   `FLAM_ERROR_INVALID_ARGUMENT` for a negative `beta`.
 * - source: Girshick, 2015, arXiv 1504.08083.
 */
FLAM_TORCH("F")
FLAM_AUTOCAST("f32")
FLAM_LAYER("SmoothL1Loss()")
FLAM_API flam_tensor *flam_smooth_l1_loss(
    const flam_tensor *input, const flam_tensor *target,
    const flam_smooth_l1_loss_options *options);

/** Options of `flam_huber_loss`. */
typedef struct flam_huber_loss_options {
  size_t struct_size; /**< sizeof(flam_huber_loss_options) */
  /** none, mean or sum of the per-element losses; default mean */
  flam_reduction reduction FLAM_DEFAULT(FLAM_REDUCTION_MEAN);
  double delta FLAM_DEFAULT(1); /**< where the quadratic part ends, above 0; default 1 */
} flam_huber_loss_options;

/** `d^2 / 2` where `d = |input - target|` is at most `delta`, else `delta * (d - delta / 2)`.
 *
 * - `input`: any shape; floating point.
 * - `target`: shape that broadcasts with `input`'s.
 * - returns: 0-d, or the shape of the losses without a reduction.
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DTYPE`, `FLAM_ERROR_DEVICE_MISMATCH`,
 *   `FLAM_ERROR_INVALID_ARGUMENT` where `delta` is not above 0.
 * - source: Huber, 1964, Annals of Mathematical Statistics 35.
 */
FLAM_TORCH("F")
FLAM_AUTOCAST("f32")
FLAM_LAYER("HuberLoss()")
FLAM_API flam_tensor *flam_huber_loss(
    const flam_tensor *input, const flam_tensor *target, const flam_huber_loss_options *options);

/** Options of `flam_cross_entropy`. */
typedef struct flam_cross_entropy_options {
  size_t struct_size; /**< sizeof(flam_cross_entropy_options) */
  /** targets of this value count for nothing; default -100 */
  int64_t ignore_index FLAM_DEFAULT(-100);
  /** none, mean or sum of the per-element losses; default mean (over the weights of the targets
   *  that count) */
  flam_reduction reduction FLAM_DEFAULT(FLAM_REDUCTION_MEAN);
  /** share of the probability that is spread over all classes, in [0, 1]; default 0 */
  double label_smoothing FLAM_DEFAULT(0);
} flam_cross_entropy_options;

/** Cross entropy between the softmax of `input` over classes and `target`.
 *
 * - `input`: [C], [N, C] or [N, C, d1, ...]: unnormalised logits; floating point.
 * - `target`: class indices, int64 or u8, shape of `input` without C; or probabilities, shape and
 *   dtype of `input`.
 * - `weight`: [C], factor of each class, or none; default none.
 * - returns: 0-d, or the shape of the losses without a reduction.
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DTYPE`, `FLAM_ERROR_DEVICE_MISMATCH`;
 *   `FLAM_ERROR_INDEX` for a class outside [0, C) on the cpu; `FLAM_ERROR_INVALID_ARGUMENT` for
 *   `label_smoothing` outside [0, 1].
 */
FLAM_TORCH("F")
FLAM_AUTOCAST("f32")
FLAM_LAYER("CrossEntropyLoss()")
FLAM_API flam_tensor *flam_cross_entropy(
    const flam_tensor *input, const flam_tensor *target,
    FLAM_NULLABLE const flam_tensor *weight FLAM_DEFAULT(NULL),
    const flam_cross_entropy_options *options);

/** Options of `flam_linear_cross_entropy`. */
typedef struct flam_linear_cross_entropy_options {
  size_t struct_size; /**< sizeof(flam_linear_cross_entropy_options) */
  /** classes of this value count for nothing; default: -100, and none may be said where the target
   *  holds probabilities */
  const int64_t *ignore_index FLAM_DEFAULT(NULL);
  /** share of the probability that is spread over all classes, in [0, 1]; default 0 */
  double label_smoothing FLAM_DEFAULT(0);
  /** how many rows of `input` have logits at a time, not negative; default 0: all of them, or as
   *  `chunk_divisor` says */
  int64_t chunk_rows FLAM_DEFAULT(0);
  /** without `chunk_rows`: above 0 as many rows as have logits of about `input`'s size, divided by
   *  this; default 0: all of them */
  int64_t chunk_divisor FLAM_DEFAULT(0);
  /** none, mean or sum of the per-element losses; default mean (over the weights of the targets
   *  that count) */
  flam_reduction reduction FLAM_DEFAULT(FLAM_REDUCTION_MEAN);
  int32_t reserved; /**< 0 */
} flam_linear_cross_entropy_options;

/** `flam_cross_entropy` of what `flam_linear` makes of the input. In chunks of rows (`chunk_rows`,
 * `chunk_divisor`) the logits, which with many classes are by far the greatest part of the memory
 * of a training step, exist for a chunk at a time, and are made again for the gradient.
 *
 * - `input`: [N, F] or [F]; floating point.
 * - `linear_weight`: [C, F], or [C, d1, ..., F], whose logits are [N, C, d1, ...]; dtype of
 *   `input`.
 * - `target`: class indices, int64 or u8, shape of the logits without C; or probabilities, shape
 *   of the logits. Where these want a gradient, all logits exist at once.
 * - `linear_bias`: shape of `linear_weight` without F, or none; default none.
 * - `weight`: [C], factor of each class, or none; default none.
 * - returns: 0-d, or the shape of the losses without a reduction.
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DTYPE`, `FLAM_ERROR_DEVICE_MISMATCH`;
 *   `FLAM_ERROR_INDEX` for a class outside [0, C) on the cpu; `FLAM_ERROR_INVALID_ARGUMENT` for an
 *   option out of range, and `ignore_index` beside probabilities.
 * - source: Wijmans et al., 2024, arXiv 2411.09009, whose kernels keep no logits at all.
 */
FLAM_API flam_tensor *flam_linear_cross_entropy(
    const flam_tensor *input, const flam_tensor *linear_weight, const flam_tensor *target,
    FLAM_NULLABLE const flam_tensor *linear_bias FLAM_DEFAULT(NULL),
    FLAM_NULLABLE const flam_tensor *weight FLAM_DEFAULT(NULL),
    const flam_linear_cross_entropy_options *options);

/** Options of `flam_nll_loss`. */
typedef struct flam_nll_loss_options {
  size_t struct_size; /**< sizeof(flam_nll_loss_options) */
  /** targets of this value count for nothing; default -100 */
  int64_t ignore_index FLAM_DEFAULT(-100);
  /** none, mean or sum of the per-element losses; default mean (over the weights of the targets
   *  that count) */
  flam_reduction reduction FLAM_DEFAULT(FLAM_REDUCTION_MEAN);
  int32_t reserved; /**< 0 */
} flam_nll_loss_options;

/** Negative log likelihood, `-weight[t] * input[t]` for target class t.
 *
 * - `input`: [C], [N, C] or [N, C, d1, ...]: log-probabilities; floating point.
 * - `target`: class indices, int64 or u8, shape of `input` without C.
 * - `weight`: [C], factor of each class, or none; default none.
 * - returns: 0-d, or the shape of the losses without a reduction.
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DTYPE`, `FLAM_ERROR_DEVICE_MISMATCH`;
 *   `FLAM_ERROR_INDEX` for a class outside [0, C) on the cpu.
 */
FLAM_TORCH("F")
FLAM_AUTOCAST("f32")
FLAM_LAYER("NLLLoss()")
FLAM_API flam_tensor *flam_nll_loss(
    const flam_tensor *input, const flam_tensor *target,
    FLAM_NULLABLE const flam_tensor *weight FLAM_DEFAULT(NULL),
    const flam_nll_loss_options *options);

/** `-(t log p + (1 - t) log(1 - p))`, logarithms limited to -100.
 *
 * - `input`: probabilities in [0, 1]; any shape; floating point.
 * - `target`: shape and dtype of `input`.
 * - `weight`: factor that broadcasts with `input`, or none; default none.
 * - `reduction`: none, mean or sum of the per-element losses; default mean.
 * - returns: 0-d, or the shape of the losses without a reduction.
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DTYPE`, `FLAM_ERROR_DEVICE_MISMATCH`;
 *   `FLAM_ERROR_INVALID_ARGUMENT` where `input`, on the cpu, leaves [0, 1].
 */
FLAM_TORCH("F")
FLAM_AUTOCAST("cpu=f32 cuda=banned")
FLAM_LAYER("BCELoss()")
FLAM_API flam_tensor *flam_binary_cross_entropy(
    const flam_tensor *input, const flam_tensor *target,
    FLAM_NULLABLE const flam_tensor *weight FLAM_DEFAULT(NULL),
    flam_reduction reduction FLAM_DEFAULT(FLAM_REDUCTION_MEAN));

/** Binary cross entropy of the sigmoid of `input`, computed without overflow.
 *
 * - `input`: logits; any shape; floating point.
 * - `target`: shape of `input`.
 * - `weight`: factor that broadcasts with `input`, or none; default none.
 * - `reduction`: none, mean or sum of the per-element losses; default mean.
 * - `pos_weight`: factor of the positive term that broadcasts with `input`, or none; default none.
 * - returns: 0-d, or the shape of the losses without a reduction.
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DTYPE`, `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("F")
FLAM_AUTOCAST("f32")
FLAM_LAYER("BCEWithLogitsLoss()")
FLAM_API flam_tensor *flam_binary_cross_entropy_with_logits(
    const flam_tensor *input, const flam_tensor *target,
    FLAM_NULLABLE const flam_tensor *weight FLAM_DEFAULT(NULL),
    flam_reduction reduction FLAM_DEFAULT(FLAM_REDUCTION_MEAN),
    FLAM_NULLABLE const flam_tensor *pos_weight FLAM_DEFAULT(NULL));

/** Options of `flam_kl_div`. */
typedef struct flam_kl_div_options {
  size_t struct_size; /**< sizeof(flam_kl_div_options) */
  /** none, mean, sum, or sum over the first size (batchmean); default mean */
  flam_reduction reduction FLAM_DEFAULT(FLAM_REDUCTION_MEAN);
  flam_bool log_target FLAM_DEFAULT(0); /**< whether `target` holds logarithms; default false */
} flam_kl_div_options;

/** Kullback-Leibler divergence, `t * (log t - input)`, 0 where `t` is 0.
 *
 * - `input`: log-probabilities; any shape; floating point.
 * - `target`: shape that broadcasts with `input`'s: probabilities, or their logarithms.
 * - returns: 0-d, or the shape of the losses without a reduction.
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DTYPE`, `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_TORCH("F")
FLAM_AUTOCAST("f32")
FLAM_LAYER("KLDivLoss()")
FLAM_API flam_tensor *flam_kl_div(
    const flam_tensor *input, const flam_tensor *target, const flam_kl_div_options *options);

/** Options of `flam_ctc_loss`. */
typedef struct flam_ctc_loss_options {
  size_t struct_size; /**< sizeof(flam_ctc_loss_options) */
  int64_t blank FLAM_DEFAULT(0); /**< the class that stands for no label; default 0 */
  /** none, mean or sum of the losses, [N]; the mean is over losses divided by the lengths of
   *  their targets; default mean */
  flam_reduction reduction FLAM_DEFAULT(FLAM_REDUCTION_MEAN);
  /** whether infinite losses, of targets that are too long, and their gradients count as 0;
   *  default false */
  flam_bool zero_infinity FLAM_DEFAULT(0);
} flam_ctc_loss_options;

/** Connectionist temporal classification: how unlikely sequences of labels are, whatever steps of
 * the inputs they belong to.
 *
 * - `log_probs`: [T, N, C] or [T, C]: log-probabilities of the classes, of a softmax over C;
 *   floating point.
 * - `targets`: classes, integers: [N, S], each row with its target at the start, or [sum of
 *   `target_lengths`], one target after the other.
 * - `input_lengths`: [N] or 0-d, integers: how many of the T steps each input has.
 * - `target_lengths`: [N] or 0-d, integers: how many classes each target has.
 * - returns: 0-d, or [N] without a reduction. The gradient takes `log_probs` for the result of a
 *   log-softmax, as in torch, and cannot be differentiated again.
 * - errors: `FLAM_ERROR_SHAPE`, `FLAM_ERROR_DTYPE`; `FLAM_ERROR_INVALID_ARGUMENT` for a length that
 *   is negative or over T, or a `blank` that is no class; `FLAM_ERROR_INDEX` for a target that is
 *   none.
 * - source: Graves, Fernandez, Gomez and Schmidhuber, 2006, doi 10.1145/1143844.1143891.
 */
FLAM_TORCH("F torch")
FLAM_AUTOCAST("cpu=f32")
FLAM_LAYER("CTCLoss()")
FLAM_API FLAM_BLOCKS flam_tensor *flam_ctc_loss(
    const flam_tensor *log_probs, const flam_tensor *targets, const flam_tensor *input_lengths,
    const flam_tensor *target_lengths, const flam_ctc_loss_options *options);

#ifdef __cplusplus
}
#endif
#endif
