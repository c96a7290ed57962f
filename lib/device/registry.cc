// Which devices there are, which one is current on this thread, and how a provider's failure reads
// as an Error.
#include <atomic>

#include "base/error.h"
#include "base/thread_local.h"
#include "device/call.h"
#include "device/sim_config.h"

namespace flambeau {
namespace {

FLAM_THREAD_LOCAL int16_t t_current[2] = {0, 0};  // cuda, sim

int16_t& current_index(DeviceType type) { return t_current[type == DeviceType::cuda ? 0 : 1]; }

struct Meaning {
  Code code;
  const char* problem;
  const char* fix;
};

Meaning meaning(hal::Status status) {
  using hal::Status;
  switch (status) {
    case Status::out_of_memory:
      return {Code::out_of_device_memory, "out of memory", ""};
    case Status::device_lost:
      return {Code::device_lost, "the device is lost: an earlier kernel or the hardware failed",
              "every later call on it fails too; restart the process. The failing kernel is found "
              "by running with CUDA_LAUNCH_BLOCKING=1, or on FLAMBEAU_SIM with schedule=eager"};
    case Status::invalid:
      return {Code::invalid_argument, "invalid argument", ""};
    case Status::unsupported:
      return {Code::unsupported, "not supported by this device", ""};
    case Status::no_kernel_image:
      return {Code::no_kernel_image, "the library has no code for this GPU's architecture",
              "build it with this GPU's architecture, or use a newer release"};
    case Status::driver_too_old:
      return {Code::driver_too_old, "the NVIDIA driver is too old", "update the driver"};
    case Status::no_gpu:
      return {Code::no_gpu, "no GPU", ""};
    case Status::forked:
      return {
          Code::unsupported, "Cannot re-initialize CUDA in forked subprocess",
          "to use CUDA with multiprocessing, start processes by 'spawn' or 'forkserver', or let "
          "the parent use no GPU before it forks; asking whether there is one is no use"};
    case Status::capture:
      return {Code::graph_capture, "not possible while a graph is being captured", ""};
    case Status::race:
      return {Code::invalid_argument, "two streams use the same memory without order", ""};
    default:
      return {Code::internal, "the device reported an error", ""};
  }
}

}  // namespace

namespace hal {

const Table* provider(DeviceType type) {
  if (type == DeviceType::cpu) return &cpu_table();
  if (type == DeviceType::meta) return &meta_table();
  if (sim::config().devices > 0 && type == sim::config().answers_to) return &sim_table();
  if (type == DeviceType::cuda && cuda_table) return &cuda_table();
  return type == DeviceType::sim ? &sim_table() : nullptr;
}

const Table& table_of(Device d) {
  if (d.is_cpu()) return cpu_table();
  const Table* table = provider(d.type);
  if (!table) [[unlikely]]  // every launch comes here: no text is made for nothing
    fail(Code::no_gpu, to_string(d), " does not exist: this build has no CUDA");
  return *table;
}

void raise(Device d, const char* what, Status status) {
  const Meaning m = meaning(status);
  throw Error(m.code, cat_text(what, " on ", to_string(d), ": ", m.problem),
              status == Status::forked ? std::string() : table_of(d).error_text(d.index), m.fix);
}

}  // namespace hal

int device_count(DeviceType type) {
  const hal::Table* table = hal::provider(type);
  return table == nullptr ? 0 : table->device_count();
}

bool is_available(DeviceType type) { return device_count(type) > 0; }

Device current_device(DeviceType type) {
  if (type == DeviceType::cpu) return kCpu;
  return type == DeviceType::meta ? kMeta : Device{type, current_index(type)};
}

void set_current_device(Device d) {
  d = resolve(d);
  if (d.is_accelerator()) current_index(d.type) = d.index;
}

Device resolve(Device d) {
  if (d.is_cpu() || d.is_meta()) {
    if (d.index > 0) [[unlikely]]
      fail(Code::invalid_argument, to_string(d), ":", d.index, " does not exist: there is one");
    return d.is_cpu() ? kCpu : kMeta;
  }
  check(d.is_accelerator(), Code::invalid_argument, "no device is given, or of no known type");
  const int count = device_count(d.type);
  if (count == 0) {
    std::string reason = unavailable_reason(d.type);
    const hal::Table* table = hal::provider(d.type);
    std::string unused;
    const bool old = table && table->availability(&unused) == hal::Status::driver_too_old;
    throw Error(old ? Code::driver_too_old : Code::no_gpu,
                cat_text(to_string(d), " is not available: ", reason), {},
                "use \"cpu\", or FLAMBEAU_SIM=\"devices=1,as=cuda\" for a simulated GPU");
  }
  if (d.index < 0) return current_device(d.type);
  if (d.index >= count) [[unlikely]]
    fail(Code::invalid_argument, to_string(d), " does not exist: there ",
         count == 1 ? "is one device" : cat_text("are ", count, " devices"),
         " of that type, numbered from 0");
  return d;
}

std::string unavailable_reason(DeviceType type) {
  const hal::Table* table = hal::provider(type);
  if (!sim::config().problem.empty()) return sim::config().problem;  // it was to be a simulated one
  if (table == nullptr) return "this build of flambeau has no CUDA";
  std::string reason;
  table->availability(&reason);
  return reason;
}

KernelColumn kernel_column(Device d) {
  return d.is_cpu() ? KernelColumn::host : hal::table_of(d).kernel_column(d.index);
}

DeviceProperties device_properties(Device d) {
  d = resolve(d);
  DeviceProperties properties;
  hal::call<&hal::Table::properties>(d, "device properties", &properties);
  return properties;
}

MemoryInfo memory_info(Device d) {
  d = resolve(d);
  MemoryInfo info;
  hal::call<&hal::Table::memory_info>(d, "memory info", &info.free, &info.total);
  return info;
}

}  // namespace flambeau
