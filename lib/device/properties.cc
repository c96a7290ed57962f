// The properties' numbers under the names that PyTorch gives them.
#include "device/devices.h"

namespace flambeau {

std::vector<NamedProperty> numbers_of(const DeviceProperties& p) {
  return {{"major", p.major},
          {"minor", p.minor},
          {"total_memory", int64_t(p.total_memory)},
          {"multi_processor_count", p.multiprocessors},
          {"warp_size", p.warp_size},
          {"max_threads_per_block", p.max_threads_per_block},
          {"max_threads_per_multi_processor", p.max_threads_per_multiprocessor},
          {"regs_per_multiprocessor", p.registers_per_multiprocessor},
          {"shared_memory_per_block", int64_t(p.shared_memory_per_block)},
          {"shared_memory_per_block_optin", int64_t(p.shared_memory_per_block_optin)},
          {"shared_memory_per_multiprocessor", int64_t(p.shared_memory_per_multiprocessor)},
          {"L2_cache_size", int64_t(p.l2_cache)},
          {"clock_rate", p.clock_rate},
          {"memory_clock_rate", p.memory_clock_rate},
          {"memory_bus_width", p.memory_bus_width},
          {"is_integrated", p.integrated},
          {"is_multi_gpu_board", p.multi_gpu_board}};
}

}  // namespace flambeau
