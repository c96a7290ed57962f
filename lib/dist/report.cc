// See report.h.
#include "dist/report.h"

#include <iomanip>
#include <sstream>

namespace flambeau::dist {
namespace {

constexpr const char* kWaits = "waits in ";
constexpr const char* kWorks = "works; ";

std::string seconds(double s) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(1) << s << " s";
  return text.str();
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

struct Line {
  std::string key, name, where, transfer;
};

// Between tabs, of a line.
std::string flat(std::string text) {
  for (char& c : text)
    if (c == '\t' || c == '\n') c = ' ';
  return text;
}

// But the first, which is the message's number.
std::vector<Line> lines_of(const std::string& message) {
  std::vector<Line> found;
  std::istringstream all(message);
  for (std::string text; std::getline(all, text);) {
    std::istringstream parts(text);
    Line line;
    for (std::string* part : {&line.key, &line.name, &line.where, &line.transfer})
      std::getline(parts, *part, '\t');
    if (!line.where.empty()) found.push_back(std::move(line));
  }
  return found;
}

// What a message says of the group, and in which others its rank waits; empty: nothing.
std::string said_of(const Group& group, const std::string& message) {
  std::string own, others;
  for (const Line& line : lines_of(message)) {
    if (line.key == flat(group.key()))
      own = line.where;
    else if (line.where.starts_with(kWaits))
      others += cat_text("; in the group \"", line.name, "\" it ", line.where);
  }
  return own.empty() ? own : own + others;
}

std::string without_tag(const std::string& text) { return text.substr(text.find(' ') + 1); }

std::string own_call(const Group::Now& now) {
  return now.sequence ? cat_text(now.what, " #", now.sequence) : now.what;
}

// What a rank that is no more had said of the group, as a line of its own; empty: nothing.
std::string last_of(const Group& group, int rank, const std::string& message) {
  const std::string said = said_of(group, message);
  const size_t from = said.starts_with(kWorks) ? std::string(kWorks).size() : 0;
  return said.empty() ? said : cat_text("\nrank ", rank, ", when last heard: ", said.substr(from));
}

std::string named(const Group& group) {
  return cat_text("group \"", group.name(), "\" of ", group.size(), " ranks");
}

}  // namespace

std::string joined(const std::vector<std::string>& lines) {
  std::string all;
  for (const std::string& line : lines) all += (all.empty() ? "" : "\n") + line;
  return all;
}

std::string folded(const std::string& text) {
  std::string line;
  for (const char c : text) {
    if (c == '\n')
      line += "\\n";
    else if (c == '\\')
      line += "\\\\";
    else
      line += c;
  }
  return line;
}

std::string unfolded(const std::string& line) {
  std::string text;
  for (size_t i = 0; i < line.size(); i++) {
    const bool escaped = line[i] == '\\' && i + 1 < line.size();
    if (escaped) ++i;
    text += escaped && line[i] == 'n' ? '\n' : line[i];
  }
  return text;
}

std::string where_is(const Group::Now& now) {
  if (now.what.empty()) return "has called nothing yet";
  const std::string at = now.place.empty() ? "" : cat_text(", at ", now.place);
  const std::string call = own_call(now);
  return now.under_way ? cat_text(kWaits, call, " for ", seconds(now.seconds), at)
                       : cat_text(kWorks, "its last was ", call, ", ended ", seconds(now.seconds),
                                  " ago", at);
}

std::string line_of(const Group& group) {
  const std::optional<Transfer> transfer = group.now().transfer;
  return cat_text(flat(group.key()), '\t', flat(group.name()), '\t', flat(where_is(group.now())),
                  '\t', transfer ? transfer->text() : "");
}

std::string described(const Group& group, const std::string& before, const std::string& after) {
  const std::string line = said_of(group, after);
  if (after.empty()) return "has said nothing";
  const bool silent = first_line(before) == first_line(after);
  const std::string said = line.empty() ? "is not in the group any more" : line;
  return silent ? cat_text("is silent (stopped, or cut off); ", said) : said;
}

bool same_call(const std::string& a, const std::string& b) {
  const auto tag = [](const std::string& text) { return text.substr(0, text.find(' ')); };
  return tag(a) == tag(b);
}

Error lost_error(const Group& group, int rank, const std::string& who, const std::string& last) {
  const Group::Now now = group.now();
  const std::string during = now.under_way ? cat_text(" during ", own_call(now)) : std::string();
  return Error(Code::peer_lost, cat_text("rank ", rank, " of ", named(group), " is gone", during),
               cat_text(who, " ended without leaving the group\nrank ", group.rank(), ": ",
                        where_is(now), last_of(group, rank, last)),
               kRestart);
}

Error left_error(const Group& group, const Group::Leaver& leaver, const Group::Now& own) {
  const bool of_another =
      own.peer && *own.peer >= 0 && group.world_ranks()[size_t(*own.peer)] != leaver.rank;
  const bool waits = own.under_way && !of_another;
  const std::string asks = waits ? cat_text(", and ", own_call(own), " waits for it") : "";
  return Error(Code::peer_lost,
               cat_text("rank ", leaver.rank, " of ", named(group), " has left the job", asks),
               cat_text(leaver.who, " called destroy_process_group, or its program ended\nrank ",
                        group.rank(), ": ", where_is(own),
                        last_of(group, leaver.rank, leaver.last.value_or(""))),
               "call the same collectives on all ranks, as often, before any of them leaves");
}

Error store_error(const Group& group, const std::string& why) {
  return Error(Code::peer_lost, cat_text(named(group), " has lost the job's store: ", why),
               "the process that holds it ended: rank 0, or the launcher", kRestart);
}

Error timeout_error(const Group& group, const std::string& what, Millis after,
                    const std::string& where) {
  return Error(Code::collective_timeout,
               cat_text(what, " on ", named(group), " was not answered within ",
                        seconds(after.count() / 1000.0)),
               where,
               "see why the ranks differ; a longer timeout= of init_process_group waits longer");
}

Error different_calls(const Group& group, const std::string& first, const std::string& own) {
  return Error(Code::collective_timeout,
               cat_text("the ranks of ", named(group), " called different collectives"),
               cat_text(without_tag(first), '\n', without_tag(own)),
               "call the same ones in the same order on all ranks");
}

std::optional<std::string> crossed(const Group& group, const Transfer& own, int peer,
                                   const std::string& message) {
  for (const Line& line : lines_of(message)) {
    if (line.key != flat(group.key())) continue;
    const std::optional<Transfer> theirs = Transfer::parsed(line.transfer);
    if (theirs && theirs->seconds > kWaitsInVain && never_meet(own, group.rank(), *theirs, peer))
      return cat_text("rank ", group.rank(), ": ", where_is(group.now()), "\nrank ", peer, ": ",
                      line.where);
  }
  return {};
}

Error different_transfers(const Group& group, const std::string& both) {
  return Error(Code::collective_timeout,
               cat_text("two ranks of ", named(group), " send and receive different things"), both,
               "give send and recv the same dtype and as many elements");
}

}  // namespace flambeau::dist
