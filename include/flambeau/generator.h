/* Generators of random numbers: a seed and how many draws were made from it.
 * namespace: capi
 */
#ifndef FLAMBEAU_GENERATOR_H
#define FLAMBEAU_GENERATOR_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A generator of its own, seeded with 0.
 *
 * - `device`: whose tensors it fills; default: the cpu.
 * - returns: the generator.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where there is no such device, `FLAM_ERROR_NO_GPU` where
 *   there is no GPU.
 */
FLAM_API flam_generator *flam_generator_new(flam_device device FLAM_DEFAULT(0));

/** The generator that ops use on a device where none is given.
 *
 * - `device`: the device; default: the cpu.
 * - returns: the generator.
 * - errors: `FLAM_ERROR_INVALID_ARGUMENT` where there is no such device, `FLAM_ERROR_NO_GPU` where
 *   there is no GPU.
 */
FLAM_API flam_generator *flam_generator_default(flam_device device FLAM_DEFAULT(0));

/** Starts a generator anew from a seed.
 *
 * - `generator`: the generator.
 * - `seed`: any number.
 * - returns: `FLAM_OK`.
 * - errors: none but those of a failed operand.
 */
FLAM_API flam_status flam_generator_manual_seed(flam_generator *generator, uint64_t seed);

/** Starts a generator anew from a seed that the system draws.
 *
 * - `generator`: the generator.
 * - returns: the seed.
 */
FLAM_API uint64_t flam_generator_seed(flam_generator *generator);

/** The seed a generator was started from.
 *
 * - `generator`: the generator.
 * - returns: the seed.
 */
FLAM_API uint64_t flam_generator_initial_seed(const flam_generator *generator);

/** How many draws were made: with the seed, all there is to a generator's state.
 *
 * - `generator`: the generator.
 * - returns: the offset.
 */
FLAM_API uint64_t flam_generator_offset(const flam_generator *generator);

/** Sets a generator's state.
 *
 * - `generator`: the generator.
 * - `seed`: from `flam_generator_initial_seed`.
 * - `offset`: from `flam_generator_offset`.
 * - returns: `FLAM_OK`.
 * - errors: none but those of a failed operand.
 */
FLAM_API flam_status
flam_generator_set_state(flam_generator *generator, uint64_t seed, uint64_t offset);

/** The device whose tensors a generator fills.
 *
 * - `generator`: the generator.
 * - returns: the device.
 */
FLAM_API flam_device flam_generator_device(const flam_generator *generator);

/** Drops a reference to a generator.
 *
 * - `generator`: the generator, or `NULL`.
 */
FLAM_API void flam_generator_release(FLAM_NULLABLE flam_generator *generator);

/** Seeds the default generators of all devices, also of those not used yet.
 *
 * - `seed`: any number.
 * - returns: `FLAM_OK`.
 * - errors: none.
 */
FLAM_API flam_status flam_manual_seed(uint64_t seed);

#ifdef __cplusplus
}
#endif
#endif
