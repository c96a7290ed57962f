// What a kernel reports of a bad index while the host looks on: nothing is read before all of it is
// there, whatever the host reads first, and a report is thrown once.
#include "kernels/report/report.h"
#include "simulated.h"

namespace flambeau {
namespace {

using Reports = Simulated;

TEST_F(Reports, AreReadWhenTheyArePublished) {
  Report* r = report_of(kFirst);
  ASSERT_EQ(r->state, Report::none);
  EXPECT_EQ(report_of(kCpu), nullptr);
  const Report whole{Report::published, 1, 7, 5, "gather"};
  for (int written = 0; written < 4; ++written) {  // a thread of the kernel, member by member
    r->state = Report::claimed;
    if (written > 0) r->dim = whole.dim;
    if (written > 1) r->index = whole.index, r->size = whole.size;
    if (written > 2) r->op = whole.op;
    EXPECT_NO_THROW(check_reports(kFirst)) << written;
    EXPECT_EQ(r->state, Report::claimed);
  }
  EXPECT_NO_THROW(check_reports(kSecond));
  r->state = whole.state;
  EXPECT_NE(message_of([] { check_reports(kFirst); }).find("gather: index 7 is out of bounds"),
            std::string::npos);
  EXPECT_EQ(r->state, Report::none);
  EXPECT_NO_THROW(check_reports(kFirst));
}

}  // namespace
}  // namespace flambeau
