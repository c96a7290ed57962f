// The job as one of its processes sees it: who the others are, whether they live, and what each of
// them is doing. A thread tells the store what this process waits for and reads there who is lost;
// groups ask it for the words of an error. Nothing of it stands in the way of a collective.
#pragma once
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "dist/store.h"

namespace flambeau::dist {

class Group;

class World final : public RefCounted {
 public:
  static Ref<World> join(Ref<Store> store, int rank, int size);

  Store& store() const { return *store_; }
  const Ref<Store>& store_ref() const { return store_; }
  int rank() const { return rank_; }
  int size() const { return size_; }

  void add(Group* group);
  void remove(Group* group);  // the last one leaves the job

  // The error for a call that was not answered in time: where every rank of the group is. Tells the
  // others, who wait for the same.
  Error not_answered(const Group& group, const std::string& what, Millis after);
  // The error for a connection that broke: names who is lost, or what is known. Of those whose end
  // broke it, the `awaited`, one hears a little later.
  Error connection_broke(const Group& group, const std::string& what, const std::string& why,
                         const std::vector<int32_t>& awaited);
  // A line for each of these ranks that is gone, after a line's end.
  std::string lost_among(const std::vector<int32_t>& ranks) const;
  // The last message of a rank that has left; empty where the store does not answer.
  std::string last_of(int rank) noexcept;
  // Says goodbye, and ends all groups: from now on this process may end without being missed.
  void leave() noexcept;

 private:
  struct Lost {
    int rank;
    bool left;              // and said so
    std::string who, last;  // its process; of one that died its last message
  };
  World(Ref<Store> store, int rank, int size);
  void watch();
  void hurry_groups();
  static void tell(Group& group, const Lost& lost);
  void look_for_events();
  void heed(const std::string& line);
  void tell_where_i_am();
  void ask_of_leavers();
  std::string own_message(const std::string& number);  // with the mutex held
  std::string message_of(int rank) noexcept;
  void compare_calls();
  void compare_transfers();
  struct Transferring;
  std::vector<Transferring> transfers_that_wait() const;
  Group* group_of(const std::string& key) const;       // with the mutex held
  void end_for_all(Group& group, const Error& error);  // with the mutex held
  void store_is_gone(const std::string& why);
  std::vector<std::string> whereabouts(const Group& group);
  void announce(const std::string& line) noexcept;
  void announce_over(const Group& group, const Error& error);

  const Ref<Store> store_, own_, said_;  // the groups', the thread's, and what is said to others
  const int rank_, size_;
  std::mutex telling_;  // taken first: no older message is set after the last one
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Group*> groups_;
  std::string events_;  // what has been read of them
  std::vector<Lost> lost_;
  std::map<std::string, std::string> crossed_;  // a peer's message, by group
  std::string parting_;                         // the last message, of groups that are destroyed
  uint64_t beat_ = 0;
  bool left_ = false;
};

}  // namespace flambeau::dist
