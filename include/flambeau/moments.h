/* Pairs of statistics in one call, and those that leave NaN out.
 * namespace: ops
 */
#ifndef FLAMBEAU_MOMENTS_H
#define FLAMBEAU_MOMENTS_H

#include "flambeau/common.h"
#include "flambeau/reduce.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Variance and mean of elements.
 *
 * - `input`: any shape; floating point.
 * - `out_var`: the variance, `input`'s shape without the reduced dimensions.
 * - `out_mean`: the mean, of the same shape.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INDEX` for a dimension out of range or named twice; `FLAM_ERROR_DTYPE`
 *   where `input` is not floating point.
 */
FLAM_TORCH("torch")
FLAM_API flam_status flam_var_mean(
    const flam_tensor *input, flam_tensor **out_var, flam_tensor **out_mean,
    const flam_var_options *options);

/** Standard deviation and mean of elements.
 *
 * - `input`: any shape; floating point.
 * - `out_std`: the deviation, `input`'s shape without the reduced dimensions.
 * - `out_mean`: the mean, of the same shape.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INDEX` for a dimension out of range or named twice; `FLAM_ERROR_DTYPE`
 *   where `input` is not floating point.
 */
FLAM_TORCH("torch")
FLAM_API flam_status flam_std_mean(
    const flam_tensor *input, flam_tensor **out_std, flam_tensor **out_mean,
    const flam_var_options *options);

/** Mean of the elements that are numbers; NaN of none.
 *
 * - `input`: any shape; floating point.
 * - returns: `input`'s shape without the reduced dimensions.
 * - errors: `FLAM_ERROR_INDEX` for a dimension out of range or named twice; `FLAM_ERROR_DTYPE`
 *   where `input` is not floating point.
 */
FLAM_TORCH("torch Tensor")
FLAM_API FLAM_OUT flam_tensor *flam_nanmean(
    const flam_tensor *input, const flam_reduce_options *options);

/** Least and greatest elements.
 *
 * - `input`: any dtype; what is reduced is not empty.
 * - `dim`: the dimension to reduce; default: all.
 * - `out_min`: the least elements, dtype of `input`.
 * - `out_max`: the greatest.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INDEX` for `dim` out of range; `FLAM_ERROR_SHAPE` where there is nothing to
 *   reduce.
 */
FLAM_TORCH("torch Tensor")
FLAM_API flam_status flam_aminmax(
    const flam_tensor *input, flam_tensor **out_min, flam_tensor **out_max,
    const flam_dim_options *options FLAM_KEYWORD);

/** Covariances of variables, one per row, over observations, one per column.
 *
 * - `input`: [variables, observations], or [observations] of one variable.
 * - `correction`: subtracted from the number of observations; default 1.
 * - `fweights`: [observations], integers: how often each counts; default: once.
 * - `aweights`: [observations]: weights of observations; default: equal.
 * - returns: [variables, variables], 0-d for one variable.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DTYPE`; `FLAM_ERROR_INVALID_ARGUMENT`.
 */
FLAM_TORCH("torch Tensor")
FLAM_API flam_tensor *flam_cov(
    const flam_tensor *input, FLAM_KEYWORD int64_t correction FLAM_DEFAULT(1),
    FLAM_NULLABLE const flam_tensor *fweights FLAM_DEFAULT(NULL),
    FLAM_NULLABLE const flam_tensor *aweights FLAM_DEFAULT(NULL));

/** Correlation coefficients of variables, one per row.
 *
 * - `input`: [variables, observations], or [observations] of one variable.
 * - returns: [variables, variables], between -1 and 1; 0-d for one variable.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DTYPE` for bool.
 */
FLAM_TORCH("torch Tensor")
FLAM_API flam_tensor *flam_corrcoef(const flam_tensor *input);

#ifdef __cplusplus
}
#endif
#endif
