// The file of a FileStore: a log of changes in the wire's words, which every process replays into a
// table of its own. Whoever reads or writes holds its lock; what a process that was killed left
// half written is cut off by the next. A last will is kept by a lock on a byte of its own, far
// beyond the file's end, which the system lets go with the process: whoever finds it free executes
// the will. The locks are of open files (OFD), which no other descriptor of the process lets go.
#pragma once
#include <sys/types.h>

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "dist/own_descriptor.h"
#include "dist/table.h"
#include "dist/tcp_wire.h"

namespace flambeau::dist {

class FileLog {
 public:
  // Joins those that use the file, or makes it. The last of `world_size` to leave removes it.
  FileLog(std::string path, int64_t world_size, Millis timeout);
  ~FileLog();
  FileLog(const FileLog&) = delete;
  FileLog& operator=(const FileLog&) = delete;

  // While it lives this thread has the file, and the table is what the file says.
  class Session {
   public:
    Session(FileLog& log, Clock::time_point deadline);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    const Table& table() const { return log_.table_; }
    int64_t size() const { return log_.whole_; }  // of the file
    void write(const Message& change);            // and makes it
    void add_will(const std::string& key, const std::string& value);
    void withdraw();

   private:
    std::unique_lock<std::mutex> lock_;
    FileLog& log_;
  };

  const std::string& path() const { return path_; }
  // Whether the file has not the size that was seen, or it is time to look for the dead.
  bool changed(int64_t seen) const;
  void check_process() const;

 private:
  void open_file();
  bool same_file() const;
  void lock(Clock::time_point deadline);
  void unlock() noexcept;
  void replay();
  void apply(const Message& m);
  void write(const Message& m);
  void execute_wills();
  [[noreturn]] void fail_with(const char* what, int error) const;

  std::string path_;
  int64_t world_size_;
  pid_t process_;
  mutable std::mutex mutex_;
  std::unique_ptr<OwnDescriptor> file_;
  Table table_;
  int64_t whole_ = 0;  // bytes of the log that are in the table
  int64_t left_ = 0;   // processes that have
  int64_t last_will_ = 0;
  std::map<int64_t, std::pair<std::string, std::string>> wills_;  // that are not withdrawn
  std::set<int64_t> own_wills_;
  Clock::time_point look_at_{};  // for the dead
};

}  // namespace flambeau::dist
