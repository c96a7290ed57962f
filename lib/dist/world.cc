// The thread that watches, and what it does with what it sees. See world.h. Of the keys: `event`
// holds lines that all read, in their order: "lost RANK WHO", "left RANK WHO" and "over GROUP
// TEXT"; `at/RANK` what a rank is doing; `call/GROUP/NUMBER` what the first rank to wait long there
// has called.
#include "dist/world.h"

#include <unistd.h>

#include <algorithm>
#include <sstream>
#include <thread>
#include <utility>

#include "dist/group.h"
#include "dist/report.h"

namespace flambeau::dist {
namespace {

constexpr Millis kTick{250};
constexpr double kLong = 0.75;            // seconds that a call waits before others are told
constexpr const char* kParting = "left";  // in place of a number before the last message

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

// A store may outlive a world, and a later one must not find its keys: each rank counts its own.
Ref<Store> part_of(Ref<Store> store, int rank) {
  const int64_t number = store->add(cat_text("joined/", rank), 1);
  return prefix_store(cat_text("world/", number), std::move(store));
}

// Of its own, so that nobody else's wait stands before it. What the world asks is answered at once
// or by a server that is stopped: then nobody who leaves waits long.
Ref<Store> impatient(const Ref<Store>& store) {
  Ref<Store> own = store->clone();
  own->set_timeout(std::chrono::seconds(2));
  return own;
}

std::string this_process() { return cat_text("process ", getpid(), " on ", host_name()); }

}  // namespace

World::World(Ref<Store> store, int rank, int size)
    : store_(part_of(std::move(store), rank)),
      own_(size > 1 ? impatient(store_) : nullptr),
      said_(size > 1 ? impatient(store_) : nullptr),
      rank_(rank),
      size_(size) {}

// The thread keeps the world for as long as it runs, so that nobody who leaves waits for it.
Ref<World> World::join(Ref<Store> store, int rank, int size) {
  auto world = Ref<World>::adopt(new World(std::move(store), rank, size));
  if (size == 1) return world;
  world->said_->will("event", cat_text("lost ", rank, ' ', this_process(), '\n'));
  std::thread([world] { world->watch(); }).detach();
  return world;
}

void World::leave() noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(left_, true)) return;
    if (!groups_.empty()) parting_ = own_message(kParting);
    changed_.notify_all();
    for (Group* group : groups_)
      group->end(
          Error(Code::invalid_argument, cat_text("the group \"", group->name(), "\" was left")),
          Group::When::now);
  }
  if (!own_) return;
  try {  // first what tells a good end from a death, should the store be slow
    said_->append("event", cat_text("left ", rank_, ' ', this_process(), '\n'));
    said_->withdraw();
    const std::lock_guard telling(telling_);
    said_->set(cat_text("at/", rank_), parting_);
  } catch (...) {  // the store is gone, and with it who would miss us
  }
}

void World::add(Group* group) {
  const std::lock_guard lock(mutex_);
  groups_.push_back(group);
  for (const Lost& lost : lost_) tell(*group, lost);
}

void World::tell(Group& group, const Lost& lost) {
  if (!std::ranges::count(group.world_ranks(), lost.rank)) return;
  if (lost.left)
    group.miss({lost.rank, lost.who});
  else
    group.end(lost_error(group, lost.rank, lost.who, lost.last), Group::When::soon);
}

void World::remove(Group* group) {
  {
    const std::lock_guard lock(mutex_);
    if (groups_.size() == 1 && groups_[0] == group) parting_ = own_message(kParting);
    std::erase(groups_, group);  // not there where it was not connected
    if (!groups_.empty()) return;
  }
  leave();
}

void World::watch() {
  for (;;) {
    try {
      look_for_events();
      ask_of_leavers();
      tell_where_i_am();
      compare_calls();
      compare_transfers();
    } catch (const Error& e) {
      if (e.code != Code::collective_timeout) {
        store_is_gone(e.problem);
        return hurry_groups();
      }
    }
    std::unique_lock lock(mutex_);
    if (left_) return;
    for (Group* group : groups_) group->hurry();
  }
}

// All that is left to do without a store.
void World::hurry_groups() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kTick, [this] { return left_; }))
    for (Group* group : groups_) group->hurry();
}

// The first event is waited for, so that it is known at once; after it one looks now and then.
void World::look_for_events() {
  if (events_.empty()) {
    try {
      own_->wait({"event"}, kTick);
    } catch (const Error& e) {
      if (e.code == Code::collective_timeout) return;
      throw;
    }
  } else {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kTick, [this] { return left_; });
  }
  const std::string all = own_->get("event", kTick);
  std::istringstream news(all.substr(events_.size()));
  events_ = all;
  for (std::string line; std::getline(news, line);) heed(line);
}

void World::heed(const std::string& line) {
  std::istringstream words(line);
  std::string kind;
  words >> kind;
  if (kind == "lost" || kind == "left") {
    int rank = -1;
    words >> rank >> std::ws;
    std::string who;
    std::getline(words, who);
    // Of one that has left only where it is told: at a good end all ranks would ask all others.
    const std::string last = kind == "lost" ? message_of(rank) : std::string();
    const std::lock_guard lock(mutex_);
    lost_.push_back({rank, kind == "left", who, last});
    for (Group* group : groups_) tell(*group, lost_.back());
  } else if (kind == "over") {
    std::string name, text;
    words >> name >> std::ws;
    std::getline(words, text);
    const std::lock_guard lock(mutex_);
    if (Group* group = group_of(name))
      group->end(Error(Code::collective_timeout, unfolded(text)), Group::When::now);
  }
}

// Every other time: who is asked twice by whereabouts() has beaten in between.
void World::tell_where_i_am() {
  const std::lock_guard telling(telling_);
  std::string message;
  {
    const std::lock_guard lock(mutex_);
    if (++beat_ % 2 || left_) return;
    message = own_message(std::to_string(beat_));
  }
  own_->set(cat_text("at/", rank_), message);
}

std::string World::own_message(const std::string& number) {
  std::vector<std::string> lines;
  for (const Group* group : groups_) lines.push_back(line_of(*group));
  return cat_text(number, '\n', joined(lines));
}

// Empty where it has said nothing, or the store does not answer.
std::string World::message_of(int rank) noexcept {
  try {
    const std::string key = cat_text("at/", rank);
    return said_->check({key}) ? said_->get(key, kTick) : std::string();
  } catch (...) {
    return {};
  }
}

// Who leaves says so first, and what it did last a little later.
std::string World::last_of(int rank) noexcept {
  for (int i = 0;; i++) {
    std::string message = message_of(rank);
    if (i == 4 || message.starts_with(kParting)) return message;
    std::this_thread::sleep_for(Millis(50));
  }
}

void World::ask_of_leavers() {
  std::vector<std::pair<std::string, int>> waiting;
  {
    const std::lock_guard lock(mutex_);
    for (const Group* group : groups_)
      if (const auto rank = group->unheard_leaver()) waiting.emplace_back(group->key(), *rank);
  }
  for (const auto& [key, rank] : waiting) {
    std::string last = last_of(rank);
    const std::lock_guard lock(mutex_);
    if (Group* group = group_of(key)) group->hear(rank, std::move(last));
  }
}

void World::compare_calls() {
  struct Waiting {
    std::string key, what, name;
  };
  std::vector<Waiting> waiting;
  {
    const std::lock_guard lock(mutex_);
    for (const Group* group : groups_) {
      const Group::Now now = group->now();
      if (now.under_way && now.tag && now.seconds > kLong)
        waiting.push_back({cat_text("call/", group->key(), '/', now.sequence),
                           cat_text(now.tag, ' ', now.what, " #", now.sequence, " on rank ", rank_,
                                    now.place.empty() ? "" : ", at ", now.place),
                           group->key()});
    }
  }
  for (const Waiting& w : waiting) {
    const std::string first = own_->compare_set(w.key, "", w.what);
    if (same_call(first, w.what)) continue;
    const std::lock_guard lock(mutex_);
    if (Group* group = group_of(w.name))
      end_for_all(*group, different_calls(*group, first, w.what));
  }
}

struct World::Transferring {
  std::string group;
  Transfer transfer;
  int32_t peer;  // in the world
};

std::vector<World::Transferring> World::transfers_that_wait() const {
  std::vector<Transferring> waiting;
  const std::lock_guard lock(mutex_);
  for (const Group* group : groups_)
    if (const auto own = group->now().transfer;
        own && own->peer >= 0 && own->seconds > kWaitsInVain)
      waiting.push_back({group->key(), *own, group->world_ranks()[size_t(own->peer)]});
  return waiting;
}

// Whom a transfer is with says in its message what it waits for. Two messages of one rank: a first
// one may be older than what is under way here.
void World::compare_transfers() {
  const auto crossed_before = std::exchange(crossed_, {});
  for (const Transferring& w : transfers_that_wait()) {
    const std::string key = cat_text("at/", w.peer);
    if (!own_->check({key})) continue;
    const std::string message = own_->get(key, kTick);
    const std::lock_guard lock(mutex_);
    Group* group = group_of(w.group);
    const auto both = group ? crossed(*group, w.transfer, w.transfer.peer, message) : std::nullopt;
    if (!both) continue;
    const auto before = crossed_before.find(w.group);
    if (before == crossed_before.end() || before->second == message)
      crossed_[w.group] = message;
    else
      end_for_all(*group, different_transfers(*group, *both));
  }
}

Group* World::group_of(const std::string& key) const {
  const auto found = std::ranges::find(groups_, key, &Group::key);
  return found == groups_.end() ? nullptr : *found;
}

void World::end_for_all(Group& group, const Error& error) {
  announce_over(group, error);
  group.end(error, Group::When::now);
}

void World::store_is_gone(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (left_) return;
  // Without a launcher it is the first rank that holds it: groups of others can go on.
  for (Group* group : groups_)
    if (std::ranges::count(group->world_ranks(), 0))
      group->end(store_error(*group, why), Group::When::soon);
}

void World::announce(const std::string& line) noexcept {
  if (!said_) return;  // nobody else is there
  try {
    said_->append("event", line);
  } catch (...) {  // who cannot be told finds out by its own deadline
  }
}

void World::announce_over(const Group& group, const Error& error) {
  announce(cat_text("over ", group.key(), ' ', folded(error.what()), '\n'));
}

std::string World::lost_among(const std::vector<int32_t>& ranks) const {
  const std::lock_guard lock(mutex_);
  std::string names;
  for (const Lost& lost : lost_)
    if (std::ranges::count(ranks, lost.rank))
      names += cat_text("\nrank ", lost.rank, lost.left ? " has left the job (" : " is gone (",
                        lost.who, ')');
  return names;
}

// Twice, with more than a beat between: who is silent did not beat.
std::vector<std::string> World::whereabouts(const Group& group) {
  if (!said_) return {};
  const auto read = [&] {
    std::vector<std::string> all;
    for (const int32_t r : group.world_ranks()) {
      const std::string key = cat_text("at/", r);
      all.push_back(said_->check({key}) ? said_->get(key, Millis(1000)) : std::string());
    }
    return all;
  };
  const std::vector<std::string> before = read();
  std::this_thread::sleep_for(5 * kTick);
  std::vector<std::string> after = read();
  std::vector<std::string> lines;
  for (size_t i = 0; i < after.size(); i++)
    lines.push_back(
        cat_text("rank ", group.world_ranks()[i], ": ", described(group, before[i], after[i])));
  return lines;
}

Error World::not_answered(const Group& group, const std::string& what, Millis after) {
  std::string where;
  try {
    where = joined(whereabouts(group));
  } catch (const Error& e) {
    where = cat_text("where the others are is not known: ", e.problem);
  }
  Error error = timeout_error(group, what, after, where + lost_among(group.world_ranks()));
  announce_over(group, error);
  return error;
}

Error World::connection_broke(const Group& group, const std::string& what, const std::string& why,
                              const std::vector<int32_t>& awaited) {
  // The store sees a death a little later.
  for (int i = 0; i < 8 && lost_among(awaited).empty(); i++) std::this_thread::sleep_for(kTick);
  const std::string lost = lost_among(group.world_ranks());
  const std::string failed = cat_text(what, " on group \"", group.name(), "\" failed");
  return lost.empty() ? Error(Code::peer_lost, cat_text(failed, ": ", why), "", kRestart)
                      : Error(Code::peer_lost, failed, lost.substr(1), kRestart);
}

}  // namespace flambeau::dist
