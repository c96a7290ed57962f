// Parsing of FLAMBEAU_SIM. A malformed value gives no devices and says why: it must not pass for
// another set-up.
#include "device/sim_config.h"

#include <charconv>
#include <cstdlib>
#include <mutex>
#include <optional>

#include "base/error.h"
#include "device/bytes.h"
#include "device/limits.h"

namespace flambeau::sim {
namespace {

template <class T>
struct Choice {
  std::string_view text;
  T value;
};
constexpr Choice<Schedule> kSchedules[] = {{"eager", Schedule::eager},
                                           {"lazy", Schedule::lazy},
                                           {"random", Schedule::random},
                                           {"threads", Schedule::threads}};
constexpr Choice<DeviceType> kNames[] = {{"cuda", DeviceType::cuda}, {"sim", DeviceType::sim}};
constexpr Choice<bool> kKernels[] = {{"emu", true}, {"host", false}};
constexpr Choice<Races> kRaces[] = {
    {"error", Races::error}, {"report", Races::report}, {"off", Races::off}};
constexpr Choice<Protection> kProtections[] = {{"key", Protection::key},
                                               {"mapping", Protection::mapping}};

template <class T, size_t N>
bool choose(const Choice<T> (&choices)[N], std::string_view text, T& out) {
  for (const Choice<T>& c : choices)
    if (c.text == text) return out = c.value, true;
  return false;
}

template <class T>
bool number(std::string_view text, T low, T high, T& out) {
  T value{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size() || value < low || value > high)
    return false;
  return out = value, true;
}

bool schedule(std::string_view text, Config& c) {
  const size_t open = text.find('(');  // random(7) is short for schedule=random,seed=7
  if (open == text.npos) return choose(kSchedules, text, c.schedule);
  if (text.back() != ')') return false;
  return choose(kSchedules, text.substr(0, open), c.schedule) &&
         number<uint64_t>(text.substr(open + 1, text.size() - open - 2), 0, UINT64_MAX, c.seed);
}

bool set(std::string_view key, std::string_view value, Config& c) {
  if (key == "devices") return number(value, 0, kMaxDevices, c.devices);
  if (key == "as") return choose(kNames, value, c.answers_to);
  if (key == "schedule") return schedule(value, c);
  if (key == "seed") return number<uint64_t>(value, 0, UINT64_MAX, c.seed);
  if (key == "kernels") return choose(kKernels, value, c.emulated_kernels);
  if (key == "races") return choose(kRaces, value, c.races);
  if (key == "protection") return choose(kProtections, value, c.protection);
  if (key != "memory") return false;
  const std::optional<size_t> bytes = parse_bytes(value);
  return bytes && *bytes > 0 && *bytes <= size_t(1) << 40 && (c.memory = *bytes, true);
}

struct State {
  std::mutex mutex;
  std::optional<Config> config;
};
State& state() {
  static State& s = *new State;
  return s;
}

}  // namespace

Config parse_config(std::string_view text) {
  Config c;
  c.devices = !text.empty();  // who sets anything wants a device
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    text = comma == text.npos ? std::string_view() : text.substr(comma + 1);
    const size_t equals = item.find('=');
    if (equals != item.npos && set(item.substr(0, equals), item.substr(equals + 1), c)) continue;
    c = {};
    c.problem =
        cat_text("FLAMBEAU_SIM has \"", item, "\"; accepted are devices=0..", kMaxDevices,
                 ", memory=SIZE, as=cuda|sim, schedule=eager|lazy|random(SEED)|threads, seed=N, "
                 "kernels=host|emu, races=error|report|off, protection=key|mapping, separated by "
                 "commas");
    return c;
  }
  return c;
}

const Config& config() {
  static const Config& settled = [&]() -> const Config& {
    std::lock_guard lock(state().mutex);
    if (!state().config) {
      const char* text = std::getenv("FLAMBEAU_SIM");
      state().config = text ? parse_config(text) : Config{};
    }
    return *state().config;
  }();
  return settled;
}

bool configure(std::string_view text) {
  std::lock_guard lock(state().mutex);
  if (state().config) return false;
  state().config = parse_config(text);
  return true;
}

}  // namespace flambeau::sim
