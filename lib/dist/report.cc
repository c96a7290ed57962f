// See report.h.
#include "dist/report.h"

#include <iomanip>
#include <sstream>

namespace flambeau::dist {
namespace {

std::string seconds(double s) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(1) << s << " s";
  return text.str();
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// The line of a message that speaks of the group; empty where none does.
std::string line_about(const Group& group, const std::string& message) {
  std::istringstream lines(message);
  const std::string begin = group.key() + ' ';
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(begin)) return line.substr(begin.size());
  return {};
}

std::string without_tag(const std::string& text) { return text.substr(text.find(' ') + 1); }

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

std::string where_is(const Group& group) {
  const Group::Now now = group.now();
  if (now.what.empty()) return "has called nothing yet";
  const std::string at = now.place.empty() ? "" : cat_text(", at ", now.place);
  const std::string call = now.sequence ? cat_text(now.what, " #", now.sequence) : now.what;
  return now.under_way
             ? cat_text("waits in ", call, " for ", seconds(now.seconds), at)
             : cat_text("works; its last was ", call, ", ended ", seconds(now.seconds), " ago", at);
}

std::string line_of(const Group& group) { return cat_text(group.key(), ' ', where_is(group)); }

std::string described(const Group& group, const std::string& before, const std::string& after) {
  const std::string line = line_about(group, after);
  if (after.empty()) return "has said nothing";
  const bool silent = first_line(before) == first_line(after);
  const std::string said = line.empty() ? "is not in the group any more" : line;
  return silent ? cat_text("is silent (stopped, or cut off); ", said) : said;
}

bool same_call(const std::string& a, const std::string& b) {
  const auto tag = [](const std::string& text) { return text.substr(0, text.find(' ')); };
  return tag(a) == tag(b);
}

Error lost_error(const Group& group, int rank, const std::string& who) {
  const Group::Now now = group.now();
  const std::string during =
      now.under_way ? cat_text(" during ", now.what, " #", now.sequence) : std::string();
  return Error(
      Code::peer_lost, cat_text("rank ", rank, " of ", named(group), " is gone", during),
      cat_text(who, " ended without leaving the group\nrank ", group.rank(), ": ", where_is(group)),
      kRestart);
}

Error left_error(const Group& group, int rank, const std::string& who) {
  return Error(Code::peer_lost, cat_text("rank ", rank, " of ", named(group), " has left the job"),
               cat_text(who, " called destroy_process_group, or its program ended"),
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

}  // namespace flambeau::dist
