/* Attention.
 * namespace: ops
 */
#ifndef FLAMBEAU_ATTENTION_H
#define FLAMBEAU_ATTENTION_H

#include "flambeau/common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Options of `flam_scaled_dot_product_attention`. */
typedef struct flam_scaled_dot_product_attention_options {
  size_t struct_size; /**< sizeof(flam_scaled_dot_product_attention_options) */
  double dropout_p FLAM_DEFAULT(0); /**< probability of dropping a weight; default 0 */
  flam_bool is_causal FLAM_DEFAULT(0); /**< whether later keys count for nothing; default false */
  const double *scale FLAM_DEFAULT(NULL); /**< of the scores; default 1 / sqrt(e) */
  /** whether heads of `key` and `value` serve several of `query`; default false */
  flam_bool enable_gqa FLAM_DEFAULT(0);
  int32_t reserved; /**< 0 */
} flam_scaled_dot_product_attention_options;

/** `softmax(query key^T scale + mask) value`.
 *
 * - `query`: [..., heads, length, e], floating point.
 * - `key`: [..., heads, keys, e].
 * - `value`: [..., heads, keys, v].
 * - `attn_mask`: shape that broadcasts to [..., heads, length, keys]: bool, true where a key
 *   counts, or added to the scores; default none.
 * - returns: [..., heads, length, v].
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_INVALID_ARGUMENT`; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_DEVICE_MISMATCH`.
 * - source: Vaswani et al., 2017, arXiv 1706.03762.
 */
FLAM_AUTOCAST("lower")
FLAM_TORCH("F")
FLAM_API flam_tensor *flam_scaled_dot_product_attention(
    const flam_tensor *query, const flam_tensor *key, const flam_tensor *value,
    FLAM_NULLABLE const flam_tensor *attn_mask FLAM_DEFAULT(NULL),
    const flam_scaled_dot_product_attention_options *options);

/** Options of `flam_varlen_attn` and `flam_varlen_attn_lse`. */
typedef struct flam_varlen_attn_options {
  size_t struct_size; /**< sizeof(flam_varlen_attn_options) */
  const double *scale FLAM_DEFAULT(NULL); /**< of the scores, above 0; default 1 / sqrt(e) */
  /** how many keys before a query's own place it sees; default -1: all */
  int64_t window_left FLAM_DEFAULT(-1);
  /** how many keys after a query's own place it sees, 0 of causal attention; default -1: all */
  int64_t window_right FLAM_DEFAULT(-1);
  /** whether heads of `key` and `value` serve several of `query`; default false */
  flam_bool enable_gqa FLAM_DEFAULT(0);
  int32_t reserved; /**< 0 */
  /** [n], integers: how many keys of each sequence count, from 0 to all of them, without
   * gradients; default none: all */
  const flam_tensor *seqused_k FLAM_DEFAULT(NULL);
} flam_varlen_attn_options;

/** Attention of sequences of any lengths that lie one after the other: each query sees keys of its
 * own sequence alone. A query's place is counted from the end of the keys of its sequence, so that
 * the last query is at the last key. A query that sees no key has a result of 0, as have rows after
 * the last sequence. Places are read on the host, which waits for a device that has them; so a call
 * cannot be captured in a graph.
 *
 * - `query`: [queries, heads, e], floating point.
 * - `key`: [keys, heads, e].
 * - `value`: [keys, heads, v].
 * - `cu_seq_q`: [n + 1], int32 or int64: where each sequence of queries begins, and where the last
 *   ends: 0 first, at most `queries` last, none below the one before.
 * - `cu_seq_k`: [n + 1], the same of keys and values.
 * - returns: [queries, heads, v].
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_DTYPE`; `FLAM_ERROR_DEVICE_MISMATCH`;
 *   `FLAM_ERROR_INVALID_ARGUMENT` for a scale that is not above 0, for wrong places in `cu_seq_q`
 *   or `cu_seq_k`, for an entry of `seqused_k` below 0 or above its sequence's keys, and for
 *   `seqused_k` where a gradient is wanted; `FLAM_ERROR_GRAPH_CAPTURE` in a capture.
 * - source: Dao, 2023, arXiv 2307.08691.
 */
FLAM_API FLAM_BLOCKS flam_tensor *flam_varlen_attn(
    const flam_tensor *query, const flam_tensor *key, const flam_tensor *value,
    const flam_tensor *cu_seq_q, const flam_tensor *cu_seq_k,
    const flam_varlen_attn_options *options);

/** `flam_varlen_attn` and the logarithms of its sums.
 *
 * - `query`: [queries, heads, e], floating point.
 * - `key`: [keys, heads, e].
 * - `value`: [keys, heads, v].
 * - `cu_seq_q`: [n + 1], int32 or int64: where each sequence of queries begins, and the last ends.
 * - `cu_seq_k`: [n + 1], the same of keys and values.
 * - `out_output`: [queries, heads, v].
 * - `out_lse`: [heads, queries], f32: the logarithm of the sum of each query's exponentials of
 *   scores, infinity where it sees no key and in rows after the last sequence; it has no
 *   gradient.
 * - returns: `FLAM_OK`.
 * - errors: those of `flam_varlen_attn`.
 */
FLAM_API FLAM_BLOCKS flam_status flam_varlen_attn_lse(
    const flam_tensor *query, const flam_tensor *key, const flam_tensor *value,
    const flam_tensor *cu_seq_q, const flam_tensor *cu_seq_k, flam_tensor **out_output,
    flam_tensor **out_lse, const flam_varlen_attn_options *options);

/** Options of `flam_multihead_attention` and `flam_multihead_attention_weights`. */
typedef struct flam_multihead_attention_options {
  size_t struct_size; /**< sizeof(flam_multihead_attention_options) */
  /** [3 e, e], the three projections; default none: they are separate */
  const flam_tensor *in_proj_weight FLAM_DEFAULT(NULL);
  const flam_tensor *in_proj_bias FLAM_DEFAULT(NULL); /**< [3 e]; default none */
  const flam_tensor *q_proj_weight FLAM_DEFAULT(NULL); /**< [e, e]; default none */
  const flam_tensor *k_proj_weight FLAM_DEFAULT(NULL); /**< [e, e']; default none */
  const flam_tensor *v_proj_weight FLAM_DEFAULT(NULL); /**< [e, e'']; default none */
  const flam_tensor *bias_k FLAM_DEFAULT(NULL); /**< [1, 1, e], one more key; default none */
  const flam_tensor *bias_v FLAM_DEFAULT(NULL); /**< [1, 1, e], its value; default none */
  /** [e, e]; default none: no projection of the result */
  const flam_tensor *proj_weight FLAM_DEFAULT(NULL);
  const flam_tensor *proj_bias FLAM_DEFAULT(NULL); /**< [e]; default none */
  /** [n, keys] or [keys], keys that count for nothing (bool), or added to scores; default none */
  const flam_tensor *key_padding_mask FLAM_DEFAULT(NULL);
  /** [length, keys] or [n heads, length, keys], as above; default none */
  const flam_tensor *attn_mask FLAM_DEFAULT(NULL);
  double dropout FLAM_DEFAULT(0); /**< probability of dropping a weight; default 0 */
  flam_bool training FLAM_DEFAULT(0); /**< whether dropout drops; default false */
  /** whether a key and value of zeros is added; default false */
  flam_bool add_zero_attn FLAM_DEFAULT(0);
  /** that `attn_mask` hides later keys; without it, hides them itself; default false */
  flam_bool is_causal FLAM_DEFAULT(0);
  int32_t reserved; /**< 0 */
} flam_multihead_attention_options;

/** Attention of several heads, with the projections before and after.
 *
 * - `query`: [length, n, e] or [length, e], floating point.
 * - `key`: [keys, n, e'] or [keys, e'].
 * - `value`: [keys, n, e''] or [keys, e''].
 * - `num_heads`: divides e.
 * - returns: [length, n, e] or [length, e].
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_INVALID_ARGUMENT`; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_DEVICE_MISMATCH`.
 * - source: Vaswani et al., 2017, arXiv 1706.03762.
 */
FLAM_API flam_tensor *flam_multihead_attention(
    const flam_tensor *query, const flam_tensor *key, const flam_tensor *value, int64_t num_heads,
    const flam_multihead_attention_options *options);

/** Attention of several heads, and its weights.
 *
 * - `query`: [length, n, e] or [length, e], floating point.
 * - `key`: [keys, n, e'] or [keys, e'].
 * - `value`: [keys, n, e''] or [keys, e''].
 * - `num_heads`: divides e.
 * - `out_output`: [length, n, e] or [length, e].
 * - `out_weights`: [n, heads, length, keys] or [heads, length, keys].
 * - returns: `FLAM_OK`.
 * - errors: `FLAM_ERROR_SHAPE`; `FLAM_ERROR_INVALID_ARGUMENT`; `FLAM_ERROR_DTYPE`;
 *   `FLAM_ERROR_DEVICE_MISMATCH`.
 */
FLAM_API flam_status flam_multihead_attention_weights(
    const flam_tensor *query, const flam_tensor *key, const flam_tensor *value, int64_t num_heads,
    flam_tensor **out_output, flam_tensor **out_weights,
    const flam_multihead_attention_options *options);

#ifdef __cplusplus
}
#endif
#endif
