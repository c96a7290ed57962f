// Opening libraries on first use: what is found, what is rejected, and what the record says. libm
// stands in for a vendor's library: it is on every machine.
#include "device/library.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace flambeau {
namespace {

constexpr const char* kLibm[] = {"libm.so.6"};
constexpr const char* kNone[] = {"libflambeau-no-such.so.7"};
constexpr const char* kWheels[] = {"nvidia/none/lib"};

TEST(Library, OpensByNameAndFindsSymbols) {
  const Library lib = Library::open({"maths", kLibm, {}, "install libc"});
  const auto cosine = reinterpret_cast<double (*)(double)>(lib.symbol("cos"));
  EXPECT_EQ(cosine(0), 1);
  EXPECT_NE(library_report().find("maths: "), std::string::npos);
  try {
    lib.symbol("no_such_function");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code, Code::library_version);
    EXPECT_NE(e.problem.find("has no function no_such_function"), e.problem.npos) << e.problem;
  }
}

TEST(Library, KeepsTheWordsOfItsSpec) {
  std::string name(40, 'n'), fix(40, 'f');
  const Library lib = Library::open({name.c_str(), kLibm, {}, fix.c_str()});
  const std::string names = name, fixes = fix;
  name.assign(40, '-'), fix.assign(40, '-');
  try {
    lib.symbol("no_such_function");
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(e.problem.find(names), e.problem.npos) << e.problem;
    EXPECT_EQ(e.fix, fixes);
  }
}

TEST(Library, MissingOneNamesEveryPlace) {
  add_library_directory("/somewhere");
  try {
    Library::open({"nothing", kNone, kWheels, "install nothing"});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code, Code::library_missing);
    EXPECT_EQ(e.fix, "install nothing");
    for (const char* place :
         {"(already loaded): no", "(beside libflambeau): not there",
          "/somewhere/nvidia/none/lib/libflambeau-no-such.so.7", "(the system's search path)"})
      EXPECT_NE(e.facts.find(place), e.facts.npos) << place << "\n" << e.facts;
  }
}

TEST(Library, RejectedOneSaysWhy) {
  try {
    Library::open(
        {"picky", kLibm, {}, "", [](void*) { return std::string("version 1, needed is 2"); }});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code, Code::library_version);
    EXPECT_NE(e.facts.find("rejected: version 1, needed is 2"), e.facts.npos) << e.facts;
  }
  EXPECT_NE(library_report().find("rejected: version 1"), std::string::npos);
}

TEST(Library, EmptyDirectoryIsRefused) { EXPECT_THROW(add_library_directory(""), Error); }

}  // namespace
}  // namespace flambeau
