// Devices as values, which ones exist, the current one, and streams and events over them.
#include <thread>

#include "device/devices.h"
#include "simulated.h"

namespace flambeau {
namespace {

using Devices = Simulated;

TEST_F(Devices, TextAndBack) {
  for (const char* text : {"cpu", "cuda", "cuda:1", "sim", "sim:0"})
    EXPECT_EQ(to_string(parse_device(text)), text);
  EXPECT_EQ(parse_device("cpu:0"), kCpu);
  EXPECT_EQ(Device::from_code(parse_device("cuda:3").code()), (Device{DeviceType::cuda, 3}));
  for (const char* bad :
       {"", "gpu", "cuda:", "cuda:-1", "cuda:x", "cuda:1x", "cpu:1", "cuda:99999", "Cuda", " cpu"})
    EXPECT_EQ(code_of([&] { parse_device(bad); }), Code::invalid_argument) << bad;
}

TEST_F(Devices, ResolveSaysWhatThereIs) {
  EXPECT_EQ(resolve({DeviceType::sim, -1}), kSim0);
  set_current_device(kSim1);
  EXPECT_EQ(resolve({DeviceType::sim, -1}), kSim1);
  std::thread([] { EXPECT_EQ(current_device(DeviceType::sim), kSim0); }).join();  // per thread
  const std::string text = message_of([] { resolve({DeviceType::sim, 2}); });
  EXPECT_NE(text.find("sim:2 does not exist: there are 2 devices"), text.npos) << text;
  EXPECT_EQ(code_of([] { resolve({}); }), Code::invalid_argument);
}

TEST_F(Devices, MissingCudaGivesItsReason) {
  if (is_available(DeviceType::cuda)) GTEST_SKIP() << "this machine has a GPU";
  EXPECT_FALSE(unavailable_reason(DeviceType::cuda).empty());
  const std::string text = message_of([] { allocate({DeviceType::cuda, 0}, 64); });
  EXPECT_NE(text.find(unavailable_reason(DeviceType::cuda)), text.npos) << text;
}

TEST_F(Devices, PropertiesAndMemory) {
  EXPECT_EQ(device_properties(kSim0).total_memory, size_t(64) << 20);
  EXPECT_GT(device_properties(kCpu).total_memory, size_t(64) << 20);
  const size_t free_before = memory_info(kSim0).free;
  Buffer x(kSim0, 1024);
  EXPECT_EQ(free_before - memory_info(kSim0).free, size_t(2) << 20);
}

TEST_F(Devices, StreamPoolGoesRound) {
  const Stream first = create_stream(kSim0), second = create_stream(kSim0);
  EXPECT_NE(first.id, second.id);
  for (int i = 0; i < 31; ++i) EXPECT_NE(create_stream(kSim0).id, 0u);
  EXPECT_EQ(create_stream(kSim0), second);
  EXPECT_EQ(stream_priority(create_stream(kSim0, -1)), -1);
  EXPECT_EQ(stream_priority(first), 0);
  EXPECT_EQ(create_stream(kCpu), default_stream(kCpu));
  EXPECT_EQ(external_stream(kSim0, native_stream(second)), second);
}

TEST_F(Devices, CurrentStreamIsPerThreadAndDevice) {
  const Stream side = create_stream(kSim0);
  {
    StreamScope scope(side);
    EXPECT_EQ(current_stream(kSim0), side);
    EXPECT_EQ(current_stream(kSim1), default_stream(kSim1));
    std::thread([] { EXPECT_EQ(current_stream(kSim0), default_stream(kSim0)); }).join();
  }
  EXPECT_EQ(current_stream(kSim0), default_stream(kSim0));
}

TEST_F(Devices, EventsRefuseMisuse) {
  Event plain(kSim0), timed(kSim0, true);
  EXPECT_TRUE(plain.query());  // never recorded
  EXPECT_EQ(code_of([&] { plain.record(default_stream(kSim1)); }), Code::device_mismatch);
  EXPECT_EQ(code_of([&] { plain.elapsed_ms(timed); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { timed.elapsed_ms(timed); }), Code::invalid_argument);
}

TEST_F(Devices, HostFunctionsRunInOrder) {
  sim::set_schedule(sim::Schedule::lazy);
  Buffer pinned(4096), x(kSim0, 4096);
  const Stream s = current_stream(kSim0);
  host_function(s, [](void* p) { static_cast<float*>(p)[0] = 41; }, pinned.data());
  copy_bytes(x.data(), kSim0, pinned.data(), kCpu, 4096, true);
  add_one(s, x.data(), 1);
  EXPECT_EQ(download(x.data(), 1, kSim0)[0], 42);
}

}  // namespace
}  // namespace flambeau
