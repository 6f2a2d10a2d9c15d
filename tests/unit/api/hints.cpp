#include "hints.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdlib>

using sluice::api::Hints;

TEST_CASE("hints in the environment are separated by semicolons, and invalid ones are ignored") {
  const auto hints = sluice::api::parse_hints(" nc_var_align_size = 64;other=5 ;bad;;=x;y=; last=a=b");
  CHECK(hints == Hints{{"nc_var_align_size", "64"}, {"other", "5"}, {"last", "a=b"}});
  CHECK(sluice::api::parse_hints("").empty());
}

TEST_CASE("a hint of the environment wins over that of the info object") {
  sluice::api::InfoHandle info;
  info.set("both", "info");
  info.set("mine", "x");
  setenv("PNETCDF_HINTS", "both=environment", 1);
  const auto hints = sluice::api::collect_hints(info.get());
  unsetenv("PNETCDF_HINTS");
  CHECK(hints == Hints{{"both", "environment"}, {"mine", "x"}});
}

TEST_CASE("the alignments that hints ask for: the environment's before the info object's") {
  sluice::api::InfoHandle info;
  info.set("nc_header_align_size", "28");
  info.set("nc_var_align_size", "44");
  info.set("nc_record_align_size", "52");
  const auto alignments = [&](const char* environment) {
    setenv("PNETCDF_HINTS", environment, 1);
    const auto hints = sluice::api::collect_hints(info.get());
    unsetenv("PNETCDF_HINTS");
    const auto found = sluice::api::alignment_hints_of(hints);
    return std::array{found.data, found.record};
  };
  using Numbers = std::array<std::int64_t, 2>;
  CHECK(alignments("") == Numbers{44, 52});
  CHECK(alignments("nc_header_align_size=68") == Numbers{68, 52});
  CHECK(alignments("nc_header_align_size=68;nc_var_align_size=76") == Numbers{76, 52});
  CHECK(alignments("nc_var_align_size=76;nc_record_align_size=92") == Numbers{76, 92});
  CHECK(alignments("nc_record_align_size=92") == Numbers{44, 92});
  CHECK(alignments("nc_var_align_size=76;nc_record_align_size=0") == Numbers{76, 0});
}

TEST_CASE("a hint that is no number of bytes is as if it were not there") {
  const Hints hints{{"good", "42"}, {"negative", "-5"}, {"text", "x"}, {"huge", "99999999999999999999"}};
  CHECK(sluice::api::byte_hint(hints, "good") == 42);
  CHECK(sluice::api::byte_hint(hints, "negative") == 0);
  CHECK(sluice::api::byte_hint(hints, "text") == 0);
  CHECK(sluice::api::byte_hint(hints, "huge") == 0);
  CHECK(sluice::api::byte_hint(hints, "absent") == 0);
}

TEST_CASE("subfiling is shown as it was asked for, and the number of subfiles as it is") {
  const auto shown = sluice::api::hints_in_force({{"pnetcdf_subfiling", "Enable"}}, {}, {});
  CHECK(shown.at("pnetcdf_subfiling") == "enable");
  CHECK(shown.at("nc_num_subfiles") == "0");
  CHECK(sluice::api::hints_in_force({}, {}, {}).at("pnetcdf_subfiling") == "disable");
  CHECK(sluice::api::hints_in_force({{"pnetcdf_subfiling", "disable"}}, {}, {}).at("pnetcdf_subfiling") ==
        "disable");
}

TEST_CASE("the hints in force show the layout in force, and keep unknown hints") {
  sluice::formats::LayoutOptions layout;
  layout.data_align_bytes = 512;
  const auto shown =
      sluice::api::hints_in_force({{"unknown", "x"}, {"cb_nodes", "1"}}, {{"cb_nodes", "2"}}, layout);
  CHECK(shown.at("nc_var_align_size") == "512");
  CHECK(shown.at("unknown") == "x");
  CHECK(shown.at("cb_nodes") == "1");
  CHECK(shown.at("nc_ibuf_size") == "16777216");
  CHECK(sluice::api::hints_in_force({{"nc_in_place_swap", "Disable"}}, {}, {}).at("nc_in_place_swap") ==
        "disable");
  CHECK(sluice::api::hints_in_force({{"nc_in_place_swap", "maybe"}}, {}, {}).at("nc_in_place_swap") ==
        "auto");
}
