// Devices as values, which ones exist, the current one, and streams and events over them.
#include <optional>
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
  const DeviceType type = kFirst.type;
  EXPECT_EQ(resolve({type, -1}), kFirst);
  set_current_device(kSecond);
  EXPECT_EQ(resolve({type, -1}), kSecond);
  std::thread([&] { EXPECT_EQ(current_device(type), kFirst); }).join();  // per thread
  const std::string text = message_of([&] { resolve({type, 2}); });
  EXPECT_NE(text.find(":2 does not exist: there are 2 devices"), text.npos) << text;
  EXPECT_EQ(code_of([] { resolve({}); }), Code::invalid_argument);
}

TEST_F(Devices, MissingCudaGivesItsReason) {
  if (is_available(DeviceType::cuda)) GTEST_SKIP() << "this machine has a GPU";
  EXPECT_FALSE(unavailable_reason(DeviceType::cuda).empty());
  const std::string text = message_of([] { allocate({DeviceType::cuda, 0}, 64); });
  EXPECT_NE(text.find(unavailable_reason(DeviceType::cuda)), text.npos) << text;
}

TEST_F(Devices, PropertiesAndMemory) {
  EXPECT_EQ(device_properties(kFirst).total_memory, size_t(64) << 20);
  EXPECT_GT(device_properties(kCpu).total_memory, size_t(64) << 20);
  const size_t free_before = memory_info(kFirst).free;
  Buffer x(kFirst, 1024);
  EXPECT_EQ(free_before - memory_info(kFirst).free, size_t(2) << 20);
}

TEST_F(Devices, StreamPoolGoesRound) {
  const Stream first = create_stream(kFirst), second = create_stream(kFirst);
  EXPECT_NE(first.id, second.id);
  for (int i = 0; i < 31; ++i) EXPECT_NE(create_stream(kFirst).id, 0u);
  EXPECT_EQ(create_stream(kFirst), second);
  EXPECT_EQ(stream_priority(create_stream(kFirst, -1)), -1);
  EXPECT_EQ(stream_priority(first), 0);
  EXPECT_EQ(create_stream(kCpu), default_stream(kCpu));
  EXPECT_EQ(external_stream(kFirst, native_stream(second)), second);
}

TEST_F(Devices, CurrentStreamIsPerThreadAndDevice) {
  const Stream side = create_stream(kFirst);
  {
    StreamScope scope(side);
    EXPECT_EQ(current_stream(kFirst), side);
    EXPECT_EQ(current_stream(kSecond), default_stream(kSecond));
    std::thread([] { EXPECT_EQ(current_stream(kFirst), default_stream(kFirst)); }).join();
  }
  EXPECT_EQ(current_stream(kFirst), default_stream(kFirst));
}

// What a thread leaves to its end may have come before all that the device keeps for the thread,
// and then goes after it: what it does there still works, and what fails still says why.
TEST_F(Devices, WorkAtTheEndOfAThread) {
  static std::string text;
  struct Late {
    std::optional<Buffer> kept;
    ~Late() {
      for (int i = 0; i < 100; ++i) {
        add_one(current_stream(kFirst), kept->data(), 1024);
        const Buffer other(kFirst, 4096);
      }
      text = message_of([] { Buffer more(kFirst, size_t(1) << 40); });
      kept.reset();
    }
  };
  std::thread([] {
    thread_local Late late;
    late.kept.emplace(kFirst, 4096);
    fill_bytes(late.kept->data(), kFirst, 0, 4096);
    EXPECT_NE(code_of([] { Buffer more(kFirst, size_t(1) << 40); }), Code::ok);
  }).join();
  EXPECT_NE(text.find("out of memory"), text.npos) << text;
}

TEST_F(Devices, EventsRefuseMisuse) {
  Event plain(kFirst), timed(kFirst, true);
  EXPECT_TRUE(plain.query());  // never recorded
  EXPECT_EQ(code_of([&] { plain.record(default_stream(kSecond)); }), Code::device_mismatch);
  EXPECT_EQ(code_of([&] { plain.elapsed_ms(timed); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { timed.elapsed_ms(timed); }), Code::invalid_argument);
}

TEST_F(Devices, HostFunctionsRunInOrder) {
  sim::set_schedule(sim::Schedule::lazy);
  Buffer pinned(4096), x(kFirst, 4096);
  const Stream s = current_stream(kFirst);
  host_function(s, [](void* p) { static_cast<float*>(p)[0] = 41; }, pinned.data());
  copy_bytes(x.data(), kFirst, pinned.data(), kCpu, 4096, true);
  add_one(s, x.data(), 1);
  EXPECT_EQ(download(x.data(), 1, kFirst)[0], 42);
}

}  // namespace
}  // namespace flambeau
