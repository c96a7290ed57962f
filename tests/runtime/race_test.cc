// The happens-before checker: a missing wait or record_stream is found under every schedule, and
// correct programs are left alone.
#include "simulated.h"

namespace flambeau {
namespace {

using sim::Schedule;

constexpr size_t kN = 256;

class Race : public Simulated, public testing::WithParamInterface<Schedule> {
 protected:
  void SetUp() override {
    Simulated::SetUp();
    sim::set_schedule(GetParam(), 3);
  }
};

// The one race there is, from the next synchronisation's error.
std::string reported() {
  EXPECT_EQ(sim::races().size(), 1u);
  return message_of([] { synchronize(kFirst); });
}

TEST_P(Race, MissingWaitIsNamed) {
  NEEDS_SIM(kRacesEndIt);
  Buffer x(kFirst, kN * 4);
  const Stream main = current_stream(kFirst), side = create_stream(kFirst);
  fill_bytes(x.data(), kFirst, 0, x.bytes);
  add_one(side, x.data(), kN);
  const std::string message = reported();
  EXPECT_NE(message.find("\"add_one\" on"), message.npos) << message;
  EXPECT_NE(message.find("missing wait_stream or event"), message.npos) << message;
  EXPECT_EQ(code_of([&] { synchronize(main); }), Code::ok);  // said once
}

TEST_P(Race, MissingRecordStreamIsNamed) {
  NEEDS_SIM(kRacesEndIt);
  Buffer x(kFirst, kN * 4);
  const Stream main = current_stream(kFirst), side = create_stream(kFirst);
  fill_bytes(x.data(), kFirst, 0, x.bytes);
  wait_stream(side, main);
  add_one(side, x.data(), kN);
  x.drop();
  EXPECT_NE(reported().find("missing record_stream"), std::string::npos);
}

TEST_P(Race, RecordStreamIsEnough) {
  const Stream main = current_stream(kFirst), side = create_stream(kFirst);
  for (int i = 0; i < 8; ++i) {
    Buffer x(kFirst, kN * 4);
    fill_bytes(x.data(), kFirst, 0, x.bytes);
    wait_stream(side, main);
    add_one(side, x.data(), kN);
    record_stream(x.memory.block, side);
  }
  synchronize(kFirst);
  EXPECT_TRUE(sim::races().empty()) << sim::races()[0];
}

TEST_P(Race, HostSynchronisationOrders) {
  Buffer x(kFirst, kN * 4);
  const Stream side = create_stream(kFirst);
  fill_bytes(x.data(), kFirst, 0, x.bytes);
  synchronize(current_stream(kFirst));
  add_one(side, x.data(), kN);
  synchronize(side);
  x.drop();
  EXPECT_TRUE(sim::races().empty()) << sim::races()[0];
}

TEST_P(Race, EventCoversOnlyWhatCameBeforeIt) {
  NEEDS_SIM(kRacesEndIt);
  Buffer x(kFirst, kN * 4);
  const Stream main = current_stream(kFirst), side = create_stream(kFirst);
  Event early(kFirst);
  early.record(main);
  fill_bytes(x.data(), kFirst, 0, x.bytes);
  early.wait(side);
  add_one(side, x.data(), kN);
  EXPECT_NE(reported().find("nothing orders the two"), std::string::npos);
}

TEST_P(Race, ReadsDoNotRace) {
  Buffer x(kFirst, kN * 4);
  const Stream main = current_stream(kFirst), side = create_stream(kFirst);
  fill_bytes(x.data(), kFirst, 0, x.bytes);
  wait_stream(side, main);
  const Access read{x.data(), x.bytes, false};
  for (Stream s : {main, side})
    launch_kernel(s, "reader", [](void*, const void*) {}, nullptr, 0, {&read, 1});
  synchronize(kFirst);
  EXPECT_TRUE(sim::races().empty()) << sim::races()[0];
}

TEST_P(Race, UseAfterFreeIsNamed) {
  NEEDS_SIM(kRacesEndIt);
  Buffer x(kFirst, kN * 4);
  float* const stale = x.data();
  x.drop();
  add_one(current_stream(kFirst), stale, kN);
  EXPECT_NE(reported().find("after they were freed"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Schedules, Race,
                         testing::Values(Schedule::eager, Schedule::lazy, Schedule::random,
                                         Schedule::threads));

}  // namespace
}  // namespace flambeau
