/* Tuning: of the algorithms that a library has for a product, the one that is fastest here.
 * namespace: capi
 *
 * A library chooses by a model of the GPU, which is wrong now and then. With tuning enabled the
 * first product of each kind (sizes, strides, dtypes, alignments) times the library's best guesses
 * on the device and keeps the fastest for all later ones; `flam_tuning_write_file` keeps it for
 * other processes. Nothing is timed while a graph is captured, nor chosen by time while algorithms
 * have to be deterministic (`flam_set_deterministic_enabled`).
 *
 * The environment says what holds at the start: `PYTORCH_TUNABLEOP_ENABLED` and
 * `PYTORCH_TUNABLEOP_TUNING` (0 or 1), `PYTORCH_TUNABLEOP_MAX_TUNING_DURATION_MS` and
 * `PYTORCH_TUNABLEOP_MAX_TUNING_ITERATIONS`.
 */
#ifndef FLAMBEAU_TUNING_H
#define FLAMBEAU_TUNING_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Whether products use what was measured of their kind, from the next one on.
 *
 * - `enabled`: whether to; off at the start unless the environment says otherwise.
 */
FLAM_API void flam_set_tuning_enabled(flam_bool enabled);

/** Whether products use what was measured of their kind.
 *
 * - returns: what `flam_set_tuning_enabled` set last.
 */
FLAM_API flam_bool flam_tuning_enabled(void);

/** Whether a kind of product of which nothing is known yet is measured, where tuning is enabled.
 *
 * - `enabled`: whether to; on at the start unless the environment says otherwise.
 */
FLAM_API void flam_set_tuning_measures_enabled(flam_bool enabled);

/** Whether a kind of product of which nothing is known yet is measured.
 *
 * - returns: what `flam_set_tuning_measures_enabled` set last.
 */
FLAM_API flam_bool flam_tuning_measures_enabled(void);

/** Sets how long each algorithm is measured at most; it always runs once.
 *
 * - `milliseconds`: of the device's time, 0 and more; 30 at the start.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where it is negative.
 */
FLAM_API flam_status flam_set_tuning_duration(int64_t milliseconds);

/** How long each algorithm is measured at most.
 *
 * - returns: milliseconds.
 */
FLAM_API int64_t flam_tuning_duration(void);

/** Sets how often each algorithm is measured at most; it always runs once.
 *
 * - `iterations`: 0 and more; 100 at the start.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where it is negative.
 */
FLAM_API flam_status flam_set_tuning_iterations(int64_t iterations);

/** How often each algorithm is measured at most.
 *
 * - returns: a count.
 */
FLAM_API int64_t flam_tuning_iterations(void);

/** What was measured or read from files so far.
 *
 * - returns: a line for each kind of product, "operation,parameters,algorithm,milliseconds"; valid
 *   until this thread's next call of this function.
 */
FLAM_BORROWED(thread)
FLAM_API const char *flam_tuning_results(void);

/** What measurements depend on: a file that was written with others is refused.
 *
 * - `out_text`: lines "name,value": the versions of this library, of cuBLASLt and of CUDA's
 *   runtime, and the GPUs' names; valid until this thread's next call of this function.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_NO_GPU`, `FLAM_ERROR_LIBRARY_MISSING`; `FLAM_ERROR_UNSUPPORTED` where the
 *   GPUs have no library of products.
 */
FLAM_API flam_status flam_tuning_validators(const char **out_text);

/** Writes what was measured, in torch's format: a line "Validator,name,value" for each of
 * `flam_tuning_validators`, then those of `flam_tuning_results`. A failure leaves what was there.
 *
 * - `path`: of the file.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_IO`, and those of `flam_tuning_validators`.
 */
FLAM_API FLAM_BLOCKS flam_status flam_tuning_write_file(const char *path);

/** Reads such a file; its results count from each kind's first product on, as if measured.
 *
 * - `path`: of the file.
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_IO`; `FLAM_ERROR_INVALID_ARGUMENT`, and nothing is taken, where a line is
 *   not as it is written, or a validator is missing or another than here;
 *   those of `flam_tuning_validators`.
 */
FLAM_API FLAM_BLOCKS flam_status flam_tuning_read_file(const char *path);

#ifdef __cplusplus
}
#endif

#endif
