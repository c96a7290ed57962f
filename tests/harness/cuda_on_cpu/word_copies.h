// cp.async of 4 bytes, which waits with the others of its thread (copies.h).
#pragma once

namespace cuda_on_cpu {

// 4 bytes to `to`, from `from` or zeros.
void copy_word_async(void* to, const void* from, bool copies);

}  // namespace cuda_on_cpu
