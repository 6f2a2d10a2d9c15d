#include "sluice/formats/names.hpp"

#include <doctest/doctest.h>

#include "sluice/formats/status.hpp"

using namespace sluice;
using namespace sluice::formats;

TEST_CASE("names that netCDF allows are allowed") {
  for (const char* name :
       {"x", "_x", "1st", "a b", "a@b", "a+b", "a!", "größe", "水位", "a\u2009", "\u00a0a"}) {
    CAPTURE(name);
    CHECK(check_name(name) == NC_NOERR);
  }
}

TEST_CASE("names with illegal characters are refused") {
  for (const char* name : {"", " a", "a ", "+a", "-a", ".a", "@a", "(a", "\\a", "a/b", "a\tb",
                           "a\x7f"
                           "b"}) {
    CAPTURE(name);
    CHECK(check_name(name) == NC_EBADNAME);
  }
  CHECK(check_name(std::string_view("a\0b", 3)) == NC_EBADNAME);
}

TEST_CASE("names that are not UTF-8 are refused") {
  // A single byte, a truncated character, a surrogate, a code beyond U+10FFFF, an overlong form.
  for (const char* name : {"\xff\xfe", "a\xc3", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc0\x80"}) {
    CHECK(check_name(name) == NC_EBADNAME);
    CHECK(check_wanted_name(name) == NC_EBADNAME);
    CHECK(normalised_name(name) == name);
  }
}

TEST_CASE("the limit is 256 bytes, and is looked at first") {
  CHECK(check_name(std::string(256, 'a')) == NC_NOERR);
  CHECK(check_name(std::string(257, 'a')) == NC_EMAXNAME);
  CHECK(check_name(std::string(257, '/')) == NC_EMAXNAME);
}

TEST_CASE("more names can be looked up than defined") {
  for (const char* name : {"+a ", "a/b", "a\nb", "größe"}) CHECK(check_wanted_name(name) == NC_NOERR);
  CHECK(check_wanted_name("") == NC_EBADNAME);
  CHECK(check_wanted_name(std::string(257, 'a')) == NC_EMAXNAME);
}

TEST_CASE("a name in a file ends at its first zero byte") {
  CHECK(name_in_file("plain") == "plain");
  CHECK(name_in_file(std::string_view("padded\0\0", 8)) == "padded");
  CHECK(name_in_file(std::string_view("a\0b", 3)) == "a");
  CHECK(name_in_file(std::string_view("\0", 1)).empty());
}

TEST_CASE("names are stored in normal form C") {
  CHECK(normalised_name("plain") == "plain");
  CHECK(normalised_name("e\u0301te\u0301") == "été");
  CHECK(normalised_name("\u1112\u1161\u11ab") == "한");
  CHECK(normalised_name("\u212b") == "\u00c5");  // the Ångström sign is equivalent to the letter
  CHECK(normalised_name("a\u0328\u0301") == normalised_name("a\u0301\u0328"));
  CHECK(normalised_name("ﬁ") == "ﬁ");  // compatibility forms are kept
}
