// The machine's own part: which processor, which of its instructions are used, how many threads and
// how much memory.
#include <sys/utsname.h>

#include <cstdlib>
#include <fstream>
#include <string_view>
#include <thread>

#include "base/error.h"
#include "base/setting.h"
#include "base/thread_pool.h"
#include "device/devices.h"
#include "kernels/kernel.h"
#include "observe/environment.h"

namespace flambeau::observe {
namespace {

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != line.npos) return line.substr(colon + 2);
  }
  return "unknown model";
}

void add_instruction_set(Facts& facts) {
  constexpr const char* names[] = {"SSE2", "AVX2", "AVX-512", "AVX-512 with bfloat16",
                                   "AVX-512 with bfloat16, AMX"};
  const char* cap = std::getenv("FLAMBEAU_ISA");
  const bool understood = setting_problems("FLAMBEAU_ISA").empty();
  std::string value = names[isa_rank()];
  if (cap) value += cat_text(understood ? ", capped" : ", uncapped", " by FLAMBEAU_ISA=", cap);
  facts.push_back({"processor", "instruction set", understood ? State::well : State::missing, value,
                   understood ? "" : "export FLAMBEAU_ISA=avx2"});
}

// What programs could take without swapping, as the system reckons it.
size_t available_memory() {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("MemAvailable:"))
      return std::strtoull(line.c_str() + 13, nullptr, 10) << 10;
  return 0;
}

std::string gigabytes(size_t bytes) {
  const auto tenths = int64_t(double(bytes) / (1 << 30) * 10 + 0.5);
  return cat_text(tenths / 10, '.', tenths % 10, " GiB");
}

}  // namespace

void add_host_facts(Facts& facts) {
  utsname system{};
  if (uname(&system) == 0)
    facts.push_back({"system",
                     "kernel",
                     State::neutral,
                     cat_text(system.sysname, ' ', system.release, ' ', system.machine),
                     {}});
  facts.push_back({"processor", "model", State::neutral, processor(), {}});
  facts.push_back(
      {"processor", "cores", State::neutral, cat_text(std::thread::hardware_concurrency()), {}});
  add_instruction_set(facts);
  facts.push_back({"processor",
                   "threads",
                   State::well,
                   cat_text(get_num_threads(), " (torch.set_num_threads, FLAMBEAU_NUM_THREADS)"),
                   {}});
  const size_t free = available_memory(), total = memory_info(kCpu).total;
  facts.push_back({"processor",
                   "memory",
                   State::neutral,
                   cat_text(gigabytes(free), " available of ", gigabytes(total)),
                   {}});
}

}  // namespace flambeau::observe
