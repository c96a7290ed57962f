// cp.async: copies into shared memory that happen when a thread waits for them and not before. What
// lies at the destination meanwhile is NaN, so that a kernel which reads too early, or has its
// copies begin before others have read what was there, gives wrong results.
#pragma once

namespace cuda_on_cpu {

// 16 bytes to `to`, the first `bytes` of them from `from`, zeros after them.
void copy_async(void* to, const void* from, int bytes);
void commit_copies();             // those begun since the last one become a group
void wait_copies(int groups);     // until at most the `groups` last ones are under way
void forget_copies(int threads);  // a block of so many threads begins

}  // namespace cuda_on_cpu
