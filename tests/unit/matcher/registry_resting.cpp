#include <doctest/doctest.h>

#include "unit/matcher/registry_world.hpp"

using namespace sluice;
using namespace sluice::matcher;
using namespace sluice::matcher::test;

namespace {

/// Scripts, of which nobody knows how many processes they have. Looks find that they all sleep.
struct ScriptsWorld : World {
  explicit ScriptsWorld(std::vector<FileRule> rules)
      : World(std::move(rules), 64 * mib, 0, {{"a", 0}, {"b", 0}, {"c", 0}}) {
    are_components_idle = true;
  }
  std::uint32_t read_by(const std::string& component, std::uint32_t of_rule, const std::string& file) {
    rule = of_rule;
    return open(process(component), file, alone());
  }
  WrittenFile write_file(const std::string& component) {
    const WrittenFile file{0, 7};
    const ProcessId writer = process(component);
    rule = 0;
    create(writer, "a.dat", alone());
    registry.begin_file(writer, file);
    return file;
  }
  void look() {
    registry.look_again();
    answer_looks();
  }
};

}  // namespace

TEST_SUITE("registry: resting processes") {
  TEST_CASE("a script whose processes wait goes on when one of them does") {
    ScriptsWorld world({{"x", "a", {"b"}, true}, {"z", "b", {"c"}, true}, {"y", "c", {"b"}, true}});
    const auto x = world.read_by("b", 0, "x"), y = world.read_by("b", 2, "y"), z = world.read_by("c", 1, "z");
    world.look();
    CHECK(world.is_waiting(x));
    CHECK(world.is_waiting(y));
    CHECK(world.is_waiting(z));
    world.registry.component_exited("a", "exited with status 0");
    CHECK(world.refusal(x) == NC_ENOENT);
    CHECK(world.is_waiting(y));  // who waited for x may write z
  }

  TEST_CASE("nobody closes a file that resting processes have open; one that was closed is published") {
    for (const bool is_closed : {false, true}) {
      ScriptsWorld world({{"a.dat", "a", {"b"}, true}, {"b.dat", "b", {"a"}, true}});
      const WrittenFile file = world.write_file("a");
      world.registry.note_file(file, {{{0, "a.dat"}}, is_closed});
      const auto b = world.read_by("a", 1, "b.dat"), a = world.read_by("b", 0, "a.dat");
      world.look();
      CHECK(world.refusal(a) == (is_closed ? 0 : NC_ENOENT));
      CHECK(world.refusal(b) == (is_closed ? 0 : NC_ENOENT));
    }
  }
}
